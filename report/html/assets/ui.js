// UI: elements, numbers, patterns, the tip.

const fmt = n => Math.round(n).toLocaleString("en-US");
const pct = (x, d = 1) => (100 * x).toFixed(d) + " %";

function el(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const k in props || {}) {
    if (k === "class") e.className = props[k];
    else if (k.startsWith("on")) e.addEventListener(k.slice(2), props[k]);
    else if (k in e && k !== "list" && k !== "style") e[k] = props[k];
    else e.setAttribute(k, props[k]);
  }
  for (const c of children.flat(Infinity)) if (c !== null && c !== undefined) e.append(c);
  return e;
}

function bar(label, share, text, paint, title) {
  const fill = el("div", { class: "fill" });
  fill.style.width = Math.max(0, Math.min(100, 100 * share)) + "%";
  if (paint) fill.style.background = paint;
  return el("div", { class: "bar", title: title || "" }, el("span", { class: "label" }, label), el("div", { class: "track" }, fill), el("span", { class: "value" }, text));
}

// Patterns: whether the pixel (x, y) of a style takes its ink.
const patterns = {
  "solid": () => false,
  "slash": (x, y) => (x + y) % 6 < 2,
  "slash-wide": (x, y) => (x + y) % 11 < 2,
  "backslash": (x, y) => ((x - y) % 6 + 6) % 6 < 2,
  "rows": (x, y) => y % 4 < 1,
  "columns": (x, y) => x % 5 < 2,
  "dots": (x, y) => x % 4 < 2 && y % 4 < 2,
  "cross": (x, y) => (x + y) % 8 < 2 || ((x - y) % 8 + 8) % 8 < 2,
  "checker": (x, y) => ((x >> 2) + (y >> 2)) % 2 === 0,
  "grid": (x, y) => x % 6 < 1 || y % 6 < 1,
};

// rgba of "#rrggbb" as the 32-bit pixel of an ImageData.
function pixel(hex) {
  const v = parseInt(hex.slice(1), 16);
  return (255 << 24 | (v & 255) << 16 | (v >> 8 & 255) << 8 | v >> 16) >>> 0;
}

// painters turn styles into pixels.
function painter(style) {
  return { fill: pixel(style.fill), ink: pixel(style.ink), on: patterns[style.pattern] || patterns.solid };
}

function swatch(style, w = 26, h = 14) {
  const c = el("canvas", { width: w, height: h });
  const g = c.getContext("2d"), img = g.createImageData(w, h), px = new Uint32Array(img.data.buffer), p = painter(style);
  for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) px[y * w + x] = p.on(x, y) ? p.ink : p.fill;
  g.putImageData(img, 0, 0);
  return c;
}

const swatchURLs = {};
// background is a CSS background that shows a style.
function background(style) {
  if (!swatchURLs[style.name]) swatchURLs[style.name] = "url(" + swatch(style, 48, 48).toDataURL() + ")";
  return swatchURLs[style.name];
}

function legend(styles) {
  return el("div", { class: "legend" }, styles.map(s => el("span", { title: s.doc }, swatch(s), s.name)));
}

const tip = {
  show(x, y, text) {
    const t = document.getElementById("tip");
    t.textContent = text; t.hidden = false;
    const r = t.getBoundingClientRect();
    t.style.left = Math.max(4, Math.min(x + 14, innerWidth - r.width - 6)) + "px";
    t.style.top = (y + 18 + r.height > innerHeight ? Math.max(4, y - r.height - 10) : y + 18) + "px";
  },
  hide() { document.getElementById("tip").hidden = true; },
};

// hex of a pc.
const pcText = pc => "0x" + pc.toString(16).padStart(4, "0");

// textOn is black or white, whichever reads on a colour.
function textOn(hex) {
  const v = parseInt(hex.slice(1), 16);
  return 0.299 * (v >> 16) + 0.587 * (v >> 8 & 255) + 0.114 * (v & 255) > 140 ? "#1b1f27" : "#ffffff";
}

// fitCanvas gives a canvas its CSS size in device pixels and returns its context.
function fitCanvas(c, w, h) {
  const d = window.devicePixelRatio || 1;
  c.width = Math.round(w * d); c.height = Math.round(h * d);
  c.style.width = w + "px"; c.style.height = h + "px";
  const g = c.getContext("2d");
  g.setTransform(d, 0, 0, d, 0, 0);
  return g;
}
