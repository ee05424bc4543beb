// Timeline: lanes of waves, matrix pipes, LDS banks and vector memory on a
// canvas. A pixel column that holds many segments shows their shares of time,
// stacked; one that lies within a segment shows it whole. So the picture is true
// at every zoom, and the work of a frame is bounded by its pixels.

const TILE = 264; // a common multiple of the patterns' periods but for "columns", whose seam does not matter
const GUTTER = 150, RULER = 22, MAP = 30;
const BUCKETS = 4096, FINE = 20000; // more visible segments than this are drawn from buckets

class Timeline {
  // rows come from timelineRows; o: {onInst(run, inst)}.
  constructor(root, meta, o) {
    this.meta = meta; this.o = o || {};
    this.styles = meta.styles;
    this.rows = []; this.selected = null; this.hover = null; this.highlight = -1; this.arrows = "auto";
    this.lo = 0; this.hi = 1; this.t0 = 0; this.span = 1;
    this.canvas = el("canvas", { id: o.id || "tl-canvas", tabIndex: 0, "aria-label": "Timeline: arrow keys pan and choose lanes, plus and minus zoom, 0 shows the whole run, [ and ] step through a lane" });
    this.canvas.style.touchAction = "none";
    root.append(this.canvas);
    this.listen();
    new ResizeObserver(() => this.resize()).observe(root);
  }

  setRows(rows, lo, hi) {
    this.rows = rows; this.lo = lo; this.hi = Math.max(hi, lo + 16);
    let y = MAP + RULER;
    for (const r of rows) { r.y = y; y += r.h; }
    this.height = y + 4;
    this.map = null;
    this.t0 = this.lo; this.span = this.hi - this.lo;
    this.selected = null;
    this.resize();
  }

  resize() {
    const w = this.canvas.parentElement.clientWidth;
    if (!w || !this.rows.length) return;
    this.gutter = w < 600 ? 84 : GUTTER;
    this.width = w;
    this.dpr = Math.min(window.devicePixelRatio || 1, 2);
    this.canvas.width = Math.round(w * this.dpr); this.canvas.height = Math.round(this.height * this.dpr);
    this.canvas.style.width = w + "px"; this.canvas.style.height = this.height + "px";
    this.tiles = this.styles.map(s => this.tile(painter(s)));
    this.groupTiles = this.meta.groupColours.map(c => this.tile({ fill: pixel(c), ink: pixel(c), on: patterns.solid }));
    this.draw();
  }

  tile(p) {
    const h = Math.ceil(40 * this.dpr), t = new Uint32Array(TILE * h);
    for (let y = 0; y < h; y++) for (let x = 0; x < TILE; x++) t[y * TILE + x] = p.on(Math.floor(x / this.dpr), Math.floor(y / this.dpr)) ? p.ink : p.fill;
    return t;
  }

  // --- view

  get plot() { return this.width - this.gutter; }
  x(t) { return this.gutter + (t - this.t0) / this.span * this.plot; }
  t(x) { return this.t0 + (x - this.gutter) / this.plot * this.span; }

  setView(t0, span) {
    span = Math.max(24, Math.min(span, this.hi - this.lo));
    this.t0 = Math.max(this.lo, Math.min(t0, this.hi - span));
    this.span = span;
    this.draw();
  }
  zoom(f, at) {
    if (at === undefined) at = this.t0 + this.span / 2;
    const span = Math.max(24, Math.min(this.span * f, this.hi - this.lo));
    this.setView(at - (at - this.t0) * span / this.span, span);
  }
  whole() { this.setView(this.lo, this.hi - this.lo); }
  center(t, span) { this.setView(t - span / 2, span); }

  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.paint(); });
  }

  // --- painting

  paint() {
    if (!this.width || !this.canvas.isConnected) return;
    const began = performance.now();
    const g = this.canvas.getContext("2d"), d = this.dpr;
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.fillStyle = "#fff"; g.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const W = Math.round(this.plot * d);
    if (W < 8) return;
    for (const row of this.rows) {
      if (row.kind === "head") continue;
      const h = Math.round((row.h - 3) * d);
      const img = g.createImageData(W, h), px = new Uint32Array(img.data.buffer);
      this.paintRow(row, px, W, h);
      g.putImageData(img, Math.round(this.gutter * d), Math.round(row.y * d));
    }
    g.setTransform(d, 0, 0, d, 0, 0);
    this.paintLabels(g);
    this.paintMap(g);
    this.paintRuler(g);
    for (const row of this.rows) if (row.kind === "wave" || row.kind === "pipe") this.paintText(g, row);
    this.paintMarks(g);
    this.frame = performance.now() - began;
  }

  paintRow(row, px, W, h) {
    px.fill(0xffffffff);
    if (row.kind === "vmem") return this.paintDepth(row, px, W, h);
    const s = row.series, K = row.tiles.length, cpp = this.span / W, off = row.offset || 0;
    const start = this.t0 - off;
    let i = upper(s.to, s.n, start);
    const last = upper(s.from, s.n, start + this.span);
    const buckets = last - i > FINE ? this.buckets(row) : null;
    const acc = new Float64Array(K), lineEvery = cpp * this.dpr < 0.9;
    for (let x = 0; x < W; x++) {
      const a = start + x * cpp, b = a + cpp;
      acc.fill(0);
      let begins = false;
      if (buckets && cpp > buckets.size) {
        const p = Math.max(0, Math.floor((a - buckets.lo) / buckets.size)), q = Math.min(BUCKETS, Math.ceil((b - buckets.lo) / buckets.size));
        const f = cpp / Math.max(1, q - p) / buckets.size;
        for (let k = p; k < q; k++) for (let j = 0; j < K; j++) acc[j] += buckets.share[k * K + j] * f;
      } else {
        while (i < s.n && s.to[i] <= a) i++;
        for (let j = i; j < s.n && s.from[j] < b; j++) {
          acc[row.styleOf(j)] += Math.min(b, s.to[j]) - Math.max(a, s.from[j]);
          if (s.from[j] >= a) begins = true;
        }
      }
      let y = h, filled = 0;
      for (let k = 0; k < K && y > 0; k++) {
        if (!acc[k]) continue;
        filled += acc[k];
        const to = h - Math.round(Math.min(1, filled / cpp) * h), tile = row.tiles[k], tx = x % TILE;
        for (let yy = to; yy < y; yy++) px[yy * W + x] = tile[yy * TILE + tx];
        y = Math.min(y, to);
      }
      if (begins && lineEvery) for (let yy = 0; yy < h; yy++) px[yy * W + x] = 0xffffffff;
    }
  }

  // buckets hold the time of each style in equal parts of the run.
  buckets(row) {
    const s = row.series, K = row.tiles.length;
    if (row.cache) return row.cache;
    const lo = this.lo - (row.offset || 0), size = (this.hi - this.lo) / BUCKETS, share = new Float32Array(BUCKETS * K);
    for (let i = 0; i < s.n; i++) {
      const k = row.styleOf(i);
      let a = s.from[i];
      for (let b = Math.max(0, Math.floor((a - lo) / size)); b < BUCKETS && a < s.to[i]; b++) {
        const e = Math.min(s.to[i], lo + (b + 1) * size);
        if (e > a) share[b * K + k] += e - a;
        a = Math.max(a, e);
      }
    }
    return row.cache = { lo, size, share };
  }

  paintDepth(row, px, W, h) {
    const s = row.series, cpp = this.span / W, start = this.t0 - (row.offset || 0), tile = this.tiles[this.styles.findIndex(s => s.name === "vmem")];
    let i = Math.max(0, upper(s.at, s.n, start) - 1);
    for (let x = 0; x < W; x++) {
      const a = start + x * cpp, b = a + cpp;
      while (i + 1 < s.n && s.at[i + 1] <= a) i++;
      let most = s.n && s.at[i] < b ? s.depth[i] : 0;
      for (let j = i + 1; j < s.n && s.at[j] < b; j++) most = Math.max(most, s.depth[j]);
      const to = h - Math.round(most / Math.max(1, s.peak) * h);
      for (let y = to; y < h; y++) px[y * W + x] = tile[y * TILE + x % TILE];
    }
  }

  paintLabels(g) {
    g.font = "12px system-ui, sans-serif"; g.textBaseline = "middle";
    const mid = this.t0 + this.span / 2, narrow = this.gutter < 100;
    for (const row of this.rows) {
      if (row.kind === "head") {
        g.fillStyle = "#1b1f27"; g.font = "bold 12px system-ui, sans-serif";
        g.fillText(row.label, 6, row.y + row.h / 2);
        g.font = "12px system-ui, sans-serif";
        continue;
      }
      if (row.kind === "wave") {
        const w = waveAt(row.lane, mid - (row.offset || 0)), grp = waveGroup(row.run, row.cu, row.li, mid - (row.offset || 0));
        g.fillStyle = this.meta.groupColours[grp]; g.fillRect(4, row.y, 7, row.h - 3);
        g.fillStyle = "#1b1f27";
        const who = w ? (narrow ? "w" + w.Number : "wave " + w.Number + (row.run.run.launch.workgroups > 1 ? " of wg " + w.Group : "")) : "";
        g.fillText(narrow ? "S" + row.lane.simd + " " + who : "S" + row.lane.simd + "." + row.lane.slot + "  " + who, 15, row.y + row.h / 2 - 1, this.gutter - 18);
      } else {
        g.fillStyle = "#1b1f27";
        g.fillText(row.label, 15, row.y + row.h / 2 - 1, this.gutter - 18);
      }
      if (this.selected && this.selected.row === row) { g.strokeStyle = "#12307a"; g.lineWidth = 2; g.strokeRect(1, row.y - 1, this.gutter - 3, row.h - 1); }
    }
  }

  // The strip on top shows how busy the matrix pipes are over the whole run (the
  // waves' issues where there is no matrix work), and where the view is.
  paintMap(g) {
    if (!this.map) {
      const n = 600, m = new Float64Array(n), pipes = this.rows.filter(r => r.kind === "pipe" && r.series.n);
      const size = (this.hi - this.lo) / n;
      for (const row of pipes.length ? pipes : this.rows.filter(r => r.kind === "wave")) {
        const s = row.series;
        for (let i = 0; i < s.n; i++) {
          if (row.kind === "wave" && this.styles[s.style[i]].stall) continue;
          const a = s.from[i] + (row.offset || 0) - this.lo, b = s.to[i] + (row.offset || 0) - this.lo;
          for (let k = Math.max(0, Math.floor(a / size)); k < n && k * size < b; k++) m[k] += (Math.min(b, (k + 1) * size) - Math.max(a, k * size)) / size;
        }
      }
      this.mapLabel = pipes.length ? "matrix pipes" : "issue";
      const top = Math.max(pipes.length, 1e-9, ...m);
      this.map = m.map(v => v / top);
    }
    const w = this.plot, h = MAP - 8, n = this.map.length;
    g.fillStyle = "#f4f5f7"; g.fillRect(this.gutter, 2, w, h);
    g.fillStyle = "#12307a";
    for (let i = 0; i < n; i++) g.fillRect(this.gutter + i * w / n, 2 + h - this.map[i] * h, w / n + 0.5, this.map[i] * h);
    const a = this.gutter + (this.t0 - this.lo) / (this.hi - this.lo) * w, b = Math.max(3, this.span / (this.hi - this.lo) * w);
    g.fillStyle = "rgba(200,80,10,0.22)"; g.fillRect(a, 0, b, h + 4);
    g.strokeStyle = "#c8500a"; g.lineWidth = 1.5; g.strokeRect(a, 1, b, h + 3);
    g.fillStyle = "#5a6270"; g.font = "11px system-ui, sans-serif"; g.textBaseline = "middle";
    g.fillText(this.mapLabel, 15, 2 + h / 2, this.gutter - 18);
  }

  paintRuler(g) {
    const step = niceStep(this.span / Math.max(2, this.plot / 110));
    g.strokeStyle = "#e3e5e9"; g.fillStyle = "#5a6270"; g.lineWidth = 1; g.font = "11px system-ui, sans-serif"; g.textBaseline = "middle";
    g.fillText("cycle", 15, MAP + RULER / 2);
    for (let t = Math.ceil(this.t0 / step) * step; t <= this.t0 + this.span; t += step) {
      const x = this.x(t);
      g.strokeStyle = "#9aa1ad"; g.beginPath(); g.moveTo(x, MAP + RULER - 6); g.lineTo(x, MAP + RULER - 1); g.stroke();
      if (x < this.width - 30) g.fillText(fmt(t), x + 3, MAP + RULER / 2 - 2);
    }
  }

  // Names go into boxes that are wide enough.
  paintText(g, row) {
    const s = row.series, off = row.offset || 0, perCycle = this.plot / this.span;
    if (perCycle * 4 < 26) { if (perCycle * 200 < 26) return; }
    g.font = "11px ui-monospace, monospace"; g.textBaseline = "middle";
    let i = upper(s.to, s.n, this.t0 - off), drawn = 0;
    for (; i < s.n && s.from[i] + off < this.t0 + this.span && drawn < 600; i++) {
      const a = Math.max(this.x(s.from[i] + off), this.gutter), b = Math.min(this.x(s.to[i] + off), this.width);
      if (b - a < 26) continue;
      const style = row.kind === "wave" ? this.styles[s.style[i]] : null;
      const text = style && style.stall ? style.name.replace("waitcnt_", "") : mnemonic(row.run.insts[s.inst[i]].Text);
      const room = Math.floor((b - a - 6) / 6.7);
      if (room < 3) continue;
      drawn++;
      const shown = text.slice(0, room);
      const fill = style ? style.fill : this.meta.groupColours[row.groupOf(i)];
      if (style && style.pattern !== "solid") { g.fillStyle = fill; g.fillRect(a + 2, row.y + 2, shown.length * 6.7 + 3, row.h - 7); }
      g.fillStyle = textOn(fill);
      g.fillText(shown, a + 4, row.y + row.h / 2 - 1);
    }
  }

  paintMarks(g) {
    g.save();
    g.beginPath(); g.rect(this.gutter, MAP, this.plot, this.height - MAP); g.clip();
    if (this.highlight >= 0) this.paintHighlight(g);
    const chosen = this.hover || this.selected;
    const cost = this.rows.reduce((n, r) => r.kind === "wave" ? n + this.visibleFlows(r) : n, 0);
    if (this.arrows !== "off") {
      if (this.arrows === "on" || cost < 160) for (const row of this.rows) if (row.kind === "wave") this.paintFlows(g, row, null, 0.45);
      if (this.arrows === "on" || this.span < 6000) this.paintReleases(g, null, 0.4);
    }
    if (chosen && chosen.row.kind === "wave") {
      this.paintFlows(g, chosen.row, chosen, 1);
      this.paintReleases(g, chosen, 1);
    }
    if (this.selected) {
      const { row, i } = this.selected, s = row.series, off = row.offset || 0;
      const a = this.x(s.from[i] + off), b = this.x(s.to[i] + off);
      g.strokeStyle = "#c8500a"; g.lineWidth = 2.5; g.strokeRect(a - 1, row.y - 1, Math.max(3, b - a + 1), row.h - 1);
    }
    g.restore();
  }

  paintHighlight(g) {
    for (const row of this.rows) {
      if (row.kind !== "wave" || row.run !== this.highlightRun) continue;
      const s = row.series, off = row.offset || 0;
      let i = upper(s.to, s.n, this.t0 - off), n = 0, lastX = -9;
      g.strokeStyle = "#c8500a"; g.lineWidth = 1.5;
      for (; i < s.n && s.from[i] + off < this.t0 + this.span && n < 3000; i++) {
        if (s.inst[i] !== this.highlight || this.styles[s.style[i]].stall) continue;
        const a = this.x(s.from[i] + off);
        if (a - lastX < 2) continue;
        lastX = a; n++;
        g.strokeRect(a, row.y - 1, Math.max(2, this.x(s.to[i] + off) - a), row.h - 1);
      }
    }
  }

  visibleFlows(row) {
    const f = row.lane.flows, off = row.offset || 0;
    return upper(f.at, f.n, this.t0 + this.span - off) - upper(f.at, f.n, this.t0 - off);
  }

  // Arrows from a load to the wait that it satisfied, inside its lane. With a
  // choice, only those that begin or end there.
  paintFlows(g, row, choice, alpha) {
    const f = row.lane.flows, off = row.offset || 0, s = row.series;
    const from = choice ? s.from[choice.i] : 0;
    const lo = choice ? 0 : upper(f.at, f.n, this.t0 - off - 4000), hi = choice ? f.n : upper(f.at, f.n, this.t0 + this.span - off);
    for (let k = lo; k < hi; k++) {
      if (!f.wait[k]) continue;
      if (choice && f.at[k] !== from && !(f.wait[k] >= from && f.wait[k] <= s.to[choice.i] && row.run.insts[s.inst[choice.i]].WaitVM >= 0)) continue;
      const a = this.x(f.at[k] + off), b = this.x(f.wait[k] + off);
      if (b < this.gutter || a > this.width) continue;
      arrow(g, a + 2, row.y + 2, b + 1, row.y + 2, -Math.min(14, 4 + (b - a) / 12), f.lgkm[k] ? "#12795a" : "#8c2d72", alpha);
    }
  }

  // Arrows from a barrier's last arriver to those it released.
  paintReleases(g, choice, alpha) {
    const byCU = new Map();
    for (const row of this.rows) if (row.kind === "wave") {
      if (!byCU.has(row.cu)) byCU.set(row.cu, { off: row.offset || 0, run: row.run, rows: new Map() });
      byCU.get(row.cu).rows.set(row.lane.simd * row.run.slots + row.lane.slot, row);
    }
    for (const [cu, c] of byCU) {
      if (choice && choice.row.cu !== cu) continue;
      for (const r of cu.releases) {
        const a = this.x(r.arrived + c.off), b = this.x(r.released + c.off);
        if (b < this.gutter || a > this.width) continue;
        const x = c.rows.get(r.last), y = c.rows.get(r.woken);
        if (!x || !y || x === y) continue;
        if (choice && !(choice.row === y && choice.row.series.from[choice.i] <= r.arrived && r.arrived <= choice.row.series.to[choice.i]) &&
          !(choice.row === x && choice.row.series.from[choice.i] === r.arrived)) continue;
        arrow(g, a, x.y + x.h / 2, b, y.y + y.h / 2, 0, "#333333", alpha);
      }
    }
  }

  // --- input

  rowAt(y) { return this.rows.find(r => y >= r.y && y < r.y + r.h); }

  segmentAt(x, y) {
    const row = this.rowAt(y);
    if (!row || row.kind === "head" || row.kind === "vmem" || x < this.gutter) return null;
    const s = row.series, t = this.t(x) - (row.offset || 0);
    const i = upper(s.to, s.n, t);
    if (i >= s.n || s.from[i] > t + this.span / this.plot) return null;
    return { row, i };
  }

  listen() {
    const c = this.canvas, pointers = new Map();
    let moved = 0, pinch = 0;
    const local = e => { const r = c.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
    c.addEventListener("pointerdown", e => {
      c.setPointerCapture(e.pointerId); pointers.set(e.pointerId, local(e)); moved = 0; pinch = 0; c.focus({ preventScroll: true });
      const [x, y] = local(e);
      this.onMap = y < MAP && x > this.gutter;
      if (this.onMap) this.center(this.lo + (x - this.gutter) / this.plot * (this.hi - this.lo), this.span);
      c.classList.add("dragging");
    });
    c.addEventListener("pointermove", e => {
      const [x, y] = local(e), p = pointers.get(e.pointerId);
      if (!p) return this.pointAt(x, y, e.clientX, e.clientY);
      if (this.onMap) { this.center(this.lo + (x - this.gutter) / this.plot * (this.hi - this.lo), this.span); return; }
      if (pointers.size === 2) {
        pointers.set(e.pointerId, [x, y]);
        const [a, b] = [...pointers.values()], dist = Math.max(10, Math.abs(a[0] - b[0]));
        if (pinch) this.zoom(pinch / dist, this.t((a[0] + b[0]) / 2));
        pinch = dist; moved = 99;
        return;
      }
      moved += Math.abs(x - p[0]) + Math.abs(y - p[1]);
      this.setView(this.t0 - (x - p[0]) / this.plot * this.span, this.span);
      if (e.pointerType === "touch") window.scrollBy(0, p[1] - y);
      pointers.set(e.pointerId, [x, y]);
    });
    const up = e => {
      const [x, y] = local(e);
      if (pointers.delete(e.pointerId) && moved < 5 && e.type === "pointerup" && !this.onMap) this.choose(this.segmentAt(x, y));
      c.classList.remove("dragging");
    };
    c.addEventListener("pointerup", up); c.addEventListener("pointercancel", up);
    c.addEventListener("pointerleave", () => { tip.hide(); if (this.hover) { this.hover = null; this.draw(); } });
    c.addEventListener("dblclick", e => { const [x] = local(e); this.zoom(0.25, this.t(x)); });
    c.addEventListener("wheel", e => {
      e.preventDefault();
      const [x] = local(e);
      if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.setView(this.t0 + (e.deltaX || e.deltaY) / this.plot * this.span, this.span);
      else this.zoom(Math.exp(e.deltaY * 0.0022), this.t(Math.max(x, this.gutter)));
    }, { passive: false });
    c.addEventListener("keydown", e => { if (this.key(e.key)) e.preventDefault(); });
  }

  key(k) {
    switch (k) {
      case "ArrowLeft": this.setView(this.t0 - this.span * 0.2, this.span); return true;
      case "ArrowRight": this.setView(this.t0 + this.span * 0.2, this.span); return true;
      case "PageUp": this.setView(this.t0 - this.span, this.span); return true;
      case "PageDown": this.setView(this.t0 + this.span, this.span); return true;
      case "Home": this.setView(this.lo, this.span); return true;
      case "End": this.setView(this.hi, this.span); return true;
      case "+": case "=": this.zoom(0.5, this.anchor()); return true;
      case "-": case "_": this.zoom(2, this.anchor()); return true;
      case "0": this.whole(); return true;
      case "[": this.step(-1); return true;
      case "]": this.step(1); return true;
      case "ArrowUp": this.lane(-1); return true;
      case "ArrowDown": this.lane(1); return true;
      case "Enter": if (this.selected) this.o.onInst && this.o.onInst(this.selected.row.run, this.selected.row.series.inst[this.selected.i]); return true;
      case "Escape": this.choose(null); return true;
    }
    return false;
  }

  anchor() {
    if (!this.selected) return undefined;
    const s = this.selected.row.series, t = s.from[this.selected.i] + (this.selected.row.offset || 0);
    return t >= this.t0 && t <= this.t0 + this.span ? t : undefined;
  }

  step(d) {
    if (!this.selected) return this.lane(1);
    const { row, i } = this.selected, j = Math.max(0, Math.min(row.series.n - 1, i + d));
    this.choose({ row, i: j }); this.reveal();
  }

  lane(d) {
    const rows = this.rows.filter(r => r.series && r.kind !== "vmem" && r.series.n);
    if (!rows.length) return;
    let k = this.selected ? rows.indexOf(this.selected.row) + d : 0;
    k = Math.max(0, Math.min(rows.length - 1, k));
    const row = rows[k], off = row.offset || 0;
    const t = this.selected ? this.selected.row.series.from[this.selected.i] + (this.selected.row.offset || 0) : this.t0 + this.span / 2;
    this.choose({ row, i: Math.min(row.series.n - 1, upper(row.series.to, row.series.n, t - off)) }); this.reveal();
  }

  reveal() {
    const s = this.selected.row.series, i = this.selected.i, off = this.selected.row.offset || 0;
    if (s.from[i] + off < this.t0 || s.to[i] + off > this.t0 + this.span) this.center((s.from[i] + s.to[i]) / 2 + off, this.span);
  }

  pointAt(x, y, cx, cy) {
    const row = this.rowAt(y);
    const at = this.segmentAt(x, y);
    const same = at && this.hover && at.row === this.hover.row && at.i === this.hover.i;
    this.hover = at;
    if (!same) this.draw();
    if (at) tip.show(cx, cy, this.describe(at));
    else if (row && row.kind === "vmem" && x > this.gutter) {
      const s = row.series, i = upper(s.at, s.n, this.t(x) - (row.offset || 0)) - 1;
      tip.show(cx, cy, (i >= 0 ? s.depth[i] : 0) + " vector-memory operations in flight, at most " + s.peak);
    } else tip.hide();
  }

  choose(at) { this.selected = at; this.draw(); if (this.o.onSelect) this.o.onSelect(at); }

  // describe says what a segment is, in words.
  describe({ row, i }) {
    const s = row.series, inst = row.run.insts[s.inst[i]], when = "cycles " + fmt(s.from[i]) + " to " + fmt(s.to[i]) + " (" + fmt(s.to[i] - s.from[i]) + ")";
    const what = inst ? inst.Text + " at pc " + pcText(inst.PC) : "an instruction from before the window";
    if (row.kind === "pipe") return "matrix pipe of SIMD " + row.simd + ": " + what + ", wave " + ((waveAt(row.cu.lanes[s.lane[i]], s.from[i]) || {}).Number ?? "?") + ", " + when;
    if (row.kind === "banks") return (s.fill[i] ? "LDS banks take direct-to-LDS data of " : "LDS banks serve ") + what + ", slot " + s.slot[i] + ", " + when;
    const style = this.styles[s.style[i]], w = waveAt(row.lane, s.from[i]);
    const who = w ? "wave " + w.Number + " of workgroup " + w.Group : "wave";
    if (style.stall) return who + " waits: " + style.name + " (" + style.doc + ") before " + what + ", " + when;
    let more = "";
    const f = row.lane.flows;
    for (let k = upper(f.at, f.n, s.from[i] - 1); k < f.n && f.at[k] === s.from[i]; k++) {
      more += ", " + (f.lgkm[k] ? "lgkmcnt" : "vmcnt") + " done after " + (f.done[k] ? fmt(f.done[k] - f.at[k]) + " cycles" : "the end") + (f.wait[k] ? ", waited for at " + fmt(f.wait[k]) : "");
    }
    return who + " issues " + what + " (" + style.name + "), " + when + more;
  }
}

function mnemonic(text) { const i = text.indexOf(" "); return i < 0 ? text : text.slice(0, i); }

function niceStep(x) {
  const p = Math.pow(10, Math.floor(Math.log10(Math.max(1, x))));
  for (const f of [1, 2, 5, 10]) if (p * f >= x) return p * f;
  return p * 10;
}

function arrow(g, x1, y1, x2, y2, bend, colour, alpha) {
  g.globalAlpha = alpha; g.strokeStyle = colour; g.fillStyle = colour; g.lineWidth = alpha === 1 ? 2 : 1.2;
  g.beginPath(); g.moveTo(x1, y1); g.quadraticCurveTo((x1 + x2) / 2, (y1 + y2) / 2 + bend, x2, y2); g.stroke();
  const cx = (x1 + x2) / 2, cy = (y1 + y2) / 2 + bend, a = Math.atan2(y2 - cy, x2 - cx);
  g.beginPath(); g.moveTo(x2, y2);
  g.lineTo(x2 - 6 * Math.cos(a - 0.45), y2 - 6 * Math.sin(a - 0.45));
  g.lineTo(x2 - 6 * Math.cos(a + 0.45), y2 - 6 * Math.sin(a + 0.45));
  g.fill(); g.globalAlpha = 1;
}

// timelineRows lays out one CU: each SIMD's waves with its matrix pipe below,
// then what the SIMDs share.
function timelineRows(tl, run, cu, offset, prefix) {
  ready(run, cu);
  const rows = [{ kind: "head", h: 20, label: prefix + "CU " + cu.name }];
  for (let simd = 0; simd < run.simds; simd++) {
    cu.lanes.forEach((lane, li) => {
      if (lane.simd !== simd) return;
      rows.push({ kind: "wave", h: 21, run, cu, lane, li, offset, series: lane, get tiles() { return tl.tiles; }, styleOf: i => lane.style[i] });
    });
    const pipe = cu.pipes.find(p => p.simd === simd);
    if (pipe && pipe.n) {
      const groups = Uint8Array.from(pipe.lane, (li, i) => waveGroup(run, cu, li, pipe.from[i]));
      rows.push({ kind: "pipe", h: 25, run, cu, simd, offset, series: pipe, label: tl.gutter < 100 ? "matrix " + simd : "matrix pipe " + simd,
        get tiles() { return tl.groupTiles; }, styleOf: i => groups[i], groupOf: i => groups[i] });
    }
  }
  const lds = tl.styles.findIndex(s => s.name === "lds"), vmem = tl.styles.findIndex(s => s.name === "vmem");
  if (cu.banks.n) rows.push({ kind: "banks", h: 21, run, cu, offset, series: cu.banks, label: "LDS banks", get tiles() { return [tl.tiles[lds], tl.tiles[vmem]]; }, styleOf: i => cu.banks.fill[i] });
  if (cu.vmem.n) rows.push({ kind: "vmem", h: 27, run, cu, offset, series: cu.vmem, label: tl.gutter < 100 ? "VMEM" : "VMEM in flight" });
  return rows;
}

// mainLoop finds a few iterations in the middle of a CU's most frequent loop.
function mainLoop(run, cu) {
  const lane = ready(run, cu).lanes[0];
  if (!lane) return null;
  const count = new Map();
  for (let i = 0; i < lane.n; i++) {
    const ins = run.insts[lane.inst[i]];
    if (lane.style[i] < run.stallBase && ins.Class === "branch" && ins.Target >= 0 && ins.Target <= lane.inst[i]) count.set(lane.inst[i], (count.get(lane.inst[i]) || 0) + 1);
  }
  let best = -1;
  for (const [k, n] of count) if (best < 0 || n > count.get(best)) best = k;
  if (best < 0 || count.get(best) < 3) return null;
  const at = [];
  const w = lane.waves[Math.floor((lane.waves.length - 1) / 2)]; // one wave's iterations: between waves there is a gap
  for (let i = 0; i < lane.n; i++) {
    if (lane.inst[i] === best && lane.style[i] < run.stallBase && lane.from[i] >= w.Start && (!w.End || lane.from[i] < w.End)) at.push(lane.from[i]);
  }
  if (at.length < 3) return null;
  const m = Math.max(1, Math.floor(at.length / 2) - 1);
  return [at[m - 1], at[Math.min(at.length - 1, m + 1)]];
}

function timelinePage(root, meta, app) {
  const run = meta.runs[0];
  const cus = el("select", { "aria-label": "CU" }, run.cus.map((c, i) => el("option", { value: i }, "CU " + c.name)));
  if (run.cus.length > 1) cus.append(el("option", { value: "all" }, "first " + Math.min(8, run.cus.length) + " CUs"));
  const wrap = el("div", { id: "tl-wrap" }), info = el("div", { id: "tl-info", "aria-live": "polite" }, "Choose a segment: click it, or press ↓ in the timeline.");
  const buttons = [["Whole run", () => tl.whole(), "0"], ["Main loop", () => loop(), ""], ["Zoom in", () => tl.zoom(0.5, tl.anchor()), "+"], ["Zoom out", () => tl.zoom(2, tl.anchor()), "-"], ["Cycles", () => tl.center(tl.anchor() ?? tl.t0 + tl.span / 2, 120), ""]];
  const arrows = el("select", { "aria-label": "Arrows", onchange: e => { tl.arrows = e.target.value; tl.draw(); } },
    [["auto", "arrows when close"], ["on", "all arrows"], ["off", "arrows of the choice"]].map(([v, t]) => el("option", { value: v }, t)));
  root.append(el("div", { class: "controls" }, cus, buttons.map(([t, f, k]) => el("button", { onclick: f, title: k ? "key " + k : "" }, t)), arrows,
    el("span", { class: "note" }, "wheel or pinch zooms, drag pans; keys ", ["← →", "↑ ↓", "[ ]", "+ −", "0"].map(k => [el("kbd", {}, k), " "]))), wrap, info);
  root.append(legend(meta.styles), el("div", { class: "legend" },
    el("span", {}, "matrix pipe, by wave group: "), meta.groupColours.slice(0, 2).map((c, i) => { const b = el("span", {}); const s = el("canvas", { width: 26, height: 14 }); s.style.background = c; b.append(s, "group " + i); return b; })));
  const tl = new Timeline(wrap, meta, {
    onSelect: at => { info.textContent = at ? tl.describe(at) : "Nothing chosen."; if (at) info.append(" ", el("button", { onclick: () => app.showCode(run, at.row.series.inst[at.i]) }, "Show in Code")); },
    onInst: (r, inst) => app.showCode(r, inst),
  });
  const fill = () => {
    const list = cus.value === "all" ? run.cus.slice(0, 8) : [run.cus[+cus.value]];
    tl.setRows(list.flatMap(c => timelineRows(tl, run, c, 0, "")), run.from, run.to);
  };
  const loop = () => {
    const c = run.cus[cus.value === "all" ? 0 : +cus.value], l = mainLoop(run, c);
    if (l) tl.setView(l[0], l[1] - l[0]); else tl.center((tl.lo + tl.hi) / 2, Math.min(4000, tl.hi - tl.lo));
  };
  cus.addEventListener("change", fill);
  if (run.cus.length) fill(); else wrap.append("No CU was recorded.");
  // show moves to an instruction's next execution after the view's middle, or its first.
  tl.showInst = inst => {
    tl.highlight = inst; tl.highlightRun = run;
    let best = null;
    const mid = tl.t0 + tl.span / 2;
    for (const row of tl.rows) {
      if (row.kind !== "wave") continue;
      const s = row.series;
      for (let i = 0; i < s.n; i++) {
        if (s.inst[i] !== inst || tl.styles[s.style[i]].stall) continue;
        const later = s.from[i] > mid;
        if (!best || later && !best.later || later === best.later && s.from[i] < best.t) best = { row, i, t: s.from[i], later };
        if (later) break;
      }
    }
    if (!best) { info.textContent = "This instruction did not issue within the recorded window."; return false; }
    tl.choose({ row: best.row, i: best.i });
    tl.center(best.t, Math.min(tl.span, 1200));
    return true;
  };
  return tl;
}
