// Chiplets: which XCD computes which tile, in order of dispatch.

// remap is HipKittens' Algorithm 1 (workloads.Remap): the tile of workgroup wg.
function remap(wg, numWG, nM, nN, win, chunk, xcds) {
  const round = xcds * chunk;
  if (chunk > 0 && wg < Math.floor(numWG / round) * round) {
    const x = wg % xcds, l = Math.floor(wg / xcds);
    wg = Math.floor(l / chunk) * round + x * chunk + l % chunk;
  }
  win = Math.max(win, 1);
  const first = Math.floor(wg / (win * nN)) * win, h = Math.min(nM - first, win), rem = wg % (win * nN);
  return [first + rem % h, Math.floor(rem / h)];
}

function chipletsPage(root, meta) {
  const run = meta.runs[0], g = run.groups, n = g.xcd ? g.xcd.length : 0, xcds = Math.max(1, run.run.machine.xcds);
  const colours = meta.xcdColours;
  const state = { rows: run.grid.Rows, cols: run.grid.Cols, at: n, tiles: [], playing: 0 };
  const asRun = () => Array.from({ length: n }, (_, i) => ({ row: g.row[i], col: g.col[i], xcd: g.xcd[i], start: g.start[i] }));
  const asOrder = (nM, nN, w, c) => Array.from({ length: nM * nN }, (_, i) => { const [row, col] = remap(i, nM * nN, nM, nN, w, c, xcds); return { row, col, xcd: i % xcds }; });
  const presets = [{ name: "this run" + (run.grid.Tiled ? " (W " + run.grid.Window + ", C " + run.grid.Chunk + ")" : ", by workgroup"), run: true }];
  if (run.grid.Tiled) for (const [w, c] of [[0, 0], [4, 0], [8, 64]]) presets.push({ name: "this grid, " + orderName(w, c), m: run.grid.Rows, n: run.grid.Cols, w, c });
  // The block orders of the paper's Table 4 and its figures of the first 256 tiles: 192x256 tiles.
  for (const [size, m, nn, list] of [[9216, 48, 36, [[0, 0], [7, 216], [5, 25]]], [14592, 76, 57, [[0, 0], [8, 542], [8, 64]]]]) {
    for (const [w, c] of list) presets.push({ name: "paper, " + size + ": " + orderName(w, c), m, n: nn, w, c, first: 256 });
  }
  const pick = el("select", { id: "chip-preset", "aria-label": "Block order" }, presets.map((p, i) => el("option", { value: i }, p.name)));
  const win = el("input", { type: "number", min: 0, max: 512, value: run.grid.Window || 0, "aria-label": "Window W" });
  const chunk = el("input", { type: "number", min: 0, max: 4096, value: run.grid.Chunk || 0, "aria-label": "Chunk C" });
  const slider = el("input", { type: "range", min: 0, max: n, value: n, "aria-label": "Tiles dispatched" });
  slider.style.flex = "1 1 220px";
  const count = el("span", { class: "note" }), canvas = el("canvas", { id: "chip-canvas", role: "img", "aria-label": "Output tiles coloured by XCD" });
  const play = el("button", { onclick: () => toggle() }, "Play"), note = el("p", { class: "dim", id: "chip-note" });
  const first = el("button", { onclick: () => { stop(); set(Math.min(256, state.tiles.length)); } }, "First 256 tiles");
  const all = el("button", { onclick: () => { stop(); set(state.tiles.length); } }, "All");

  function choose(p) {
    stop();
    if (p.run) { state.rows = run.grid.Rows; state.cols = run.grid.Cols; state.tiles = asRun(); }
    else { state.rows = p.m; state.cols = p.n; state.tiles = asOrder(p.m, p.n, p.w, p.c); win.value = p.w; chunk.value = p.c; }
    slider.max = state.tiles.length;
    set(p.first || state.tiles.length);
  }
  function custom() { choose({ m: state.rows, n: state.cols, w: Math.max(0, +win.value | 0), c: Math.max(0, +chunk.value | 0) }); }
  function set(k) { state.at = k; slider.value = k; draw(); }
  function toggle() { if (state.playing) stop(); else { if (state.at >= state.tiles.length) set(0); play.textContent = "Pause"; state.playing = setInterval(() => { if (state.at >= state.tiles.length) return stop(); set(Math.min(state.tiles.length, state.at + Math.max(1, Math.round(state.tiles.length / 240)))); }, 40); } }
  function stop() { clearInterval(state.playing); state.playing = 0; play.textContent = "Play"; }

  function draw() {
    const w = Math.min(root.clientWidth || 600, 820);
    if (!root.clientWidth || !state.rows) return;
    const cell = Math.max(3, Math.min(44, Math.floor((w - 4) / state.cols), Math.floor(640 / state.rows))), gr = fitCanvas(canvas, cell * state.cols + 2, cell * state.rows + 2);
    gr.fillStyle = "#f4f5f7"; gr.fillRect(0, 0, cell * state.cols + 2, cell * state.rows + 2);
    gr.textAlign = "center"; gr.textBaseline = "middle"; gr.font = Math.min(12, cell - 4) + "px system-ui";
    const seen = Array.from({ length: xcds }, () => [new Set(), new Set(), 0]);
    for (let i = 0; i < state.at; i++) {
      const t = state.tiles[i], c = colours[t.xcd % colours.length];
      gr.fillStyle = c; gr.fillRect(1 + t.col * cell, 1 + t.row * cell, cell - (cell > 5 ? 1 : 0), cell - (cell > 5 ? 1 : 0));
      if (cell >= 12) { gr.fillStyle = textOn(c); gr.fillText(t.xcd, 1 + t.col * cell + cell / 2, 1 + t.row * cell + cell / 2); }
      const s = seen[t.xcd]; s[0].add(t.row); s[1].add(t.col); s[2]++;
    }
    count.textContent = fmt(state.at) + " of " + fmt(state.tiles.length) + " tiles";
    const shared = seen.filter(s => s[2]).map(s => s[2] / (s[0].size + s[1].size));
    note.textContent = shared.length ? "An XCD's tiles so far: " + fmt(seen[0][2]) + " in " + seen[0][0].size + " rows and " + seen[0][1].size + " columns on XCD 0; tiles for each row or column of inputs, mean over XCDs: " +
      (shared.reduce((a, b) => a + b, 0) / shared.length).toFixed(2) + ". The more, the more its L2 is shared." : "";
  }

  pick.addEventListener("change", () => choose(presets[+pick.value]));
  win.addEventListener("change", custom); chunk.addEventListener("change", custom);
  slider.addEventListener("input", () => { stop(); set(+slider.value); });
  root.append(el("div", { class: "controls" }, pick, el("label", {}, "W ", win), el("label", {}, "C ", chunk)),
    el("div", { class: "controls" }, play, first, all, slider, count), el("div", { class: "scroller" }, canvas), note,
    el("div", { class: "legend" }, Array.from({ length: Math.min(xcds, 32) }, (_, i) => { const s = el("canvas", { width: 26, height: 14 }); s.style.background = colours[i % colours.length]; return el("span", {}, s, "XCD " + i); })),
    el("h2", {}, "Hit rates of this run"), hitRates(run, meta));
  choose(presets[0]);
  return { draw };
}

function orderName(w, c) { return w || c ? "W " + w + ", C " + c : "row-major"; }

function hitRates(run, meta) {
  const box = el("div", { id: "hit-rates", class: "grid2" });
  for (const [name, q, h] of [["L2", "L2Requests", "L2Hits"], ["LLC", "LLCRequests", "LLCHits"]]) {
    box.append(el("div", {}, el("b", {}, name), run.xcds.map((x, i) => bar("XCD " + i, x[q] ? x[h] / x[q] : 0, (x[q] ? pct(x[h] / x[q]) : "no request") + " of " + compact(x[q]), meta.xcdColours[i % meta.xcdColours.length]))));
  }
  return box;
}
