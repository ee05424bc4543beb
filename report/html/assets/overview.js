// Overview: figures, speed of light, roofline, stalls, occupancy.

function machinePeaks(run) {
  const r = run.run, m = r.machine.resolved || {}, mhz = r.clock_mhz;
  const num = (...path) => path.reduce((o, k) => (o && o[k] !== undefined ? o[k] : undefined), m);
  const l2 = (num("chip", "xcds") || 0) * (num("l2", "channels") || 0) * (num("l2", "read_bytes_per_cycle") || 0) * mhz * 1e6;
  return [
    { name: "L2", carried: r.l2.bandwidth_tbs * 1e12, peak: l2 },
    { name: "LLC", carried: r.llc.bandwidth_tbs * 1e12, peak: (num("llc", "gbs") || 0) * 1e9 },
    { name: "HBM", carried: r.hbm.bandwidth_tbs * 1e12, peak: (num("hbm", "gbs") || 0) * 1e9 },
  ];
}

function overviewPage(root, meta) {
  const run = meta.runs[0], r = run.run;
  const figures = [["cycles", fmt(r.cycles)], ["time, launch included", r.time_us.toFixed(2) + " us"], ...(r.flops ? [["TFLOPS", r.tflops.toFixed(r.tflops < 10 ? 2 : 0)], ["of the peak at this clock", pct(r.peak_share)]] :
      [["from and to HBM", r.hbm.bandwidth_tbs.toPrecision(3) + " TB/s"], ["from and to LLC", r.llc.bandwidth_tbs.toPrecision(3) + " TB/s"]]), ["clock", fmt(r.clock_mhz) + " MHz"], ["workgroups", fmt(r.launch.workgroups)], ["wave instructions", fmt(r.wave_instructions)]];
  root.append(el("ul", { class: "figures" }, figures.map(([k, v]) => el("li", {}, el("b", {}, v), el("span", {}, k)))));
  const sol = [["matrix pipe", r.matrix_utilization], ...(r.loop_matrix_utilization ? [["… in the main loop", r.loop_matrix_utilization]] : []), ["VALU", r.valu_utilization], ["LDS banks", r.lds.bank_utilization], ["vector L1", r.tcp.utilization],
    ["L2", r.l2.utilization], ["LLC", r.llc.utilization], ["HBM", r.hbm.utilization], ["issue", r.issue_utilization]];
  const left = el("div", {}, el("h2", {}, "Speed of light"), el("div", { id: "sol" }, sol.map(([n, v]) => bar(n, v, pct(v)))));
  const right = el("div", {}, el("h2", {}, "Roofline"), el("div", { id: "roofline" }));
  const stalls = el("div", {}, el("h2", {}, "Where wave-cycles went"), stallBars(meta, r));
  const occ = el("div", {}, el("h2", {}, "Occupancy"), occupancyText(r), el("div", { id: "occupancy" }));
  root.append(el("div", { class: "grid2" }, el("div", {}, left, stalls), el("div", {}, right, occ)));
  if (r.notes && r.notes.length) root.append(el("h2", {}, "Notes"), el("ul", {}, r.notes.map(n => el("li", {}, n))));
  return { draw() { drawRoofline(document.getElementById("roofline"), run); drawOccupancy(document.getElementById("occupancy"), run); } };
}

function stallBars(meta, r) {
  const total = Math.max(1, r.wave_cycles), box = el("div", { id: "stalls" });
  const list = meta.styles.map(s => ({ s, v: (s.stall ? r.stalls : r.issued)[s.name] || 0 })).filter(e => e.v > 0);
  const order = l => l.sort((a, b) => b.v - a.v);
  for (const e of [...order(list.filter(e => !e.s.stall)), ...order(list.filter(e => e.s.stall))]) {
    box.append(bar((e.s.stall ? "" : "issue ") + e.s.name, e.v / total, pct(e.v / total) + "  " + compact(e.v), background(e.s), e.s.doc));
  }
  return box;
}

function compact(v) {
  for (const [d, u] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) if (v >= d) return (v / d).toFixed(1) + u;
  return String(v);
}

function occupancyText(r) {
  const o = r.occupancy;
  const by = { wave_slots: "wave slots", vgpr: "vector registers", sgpr: "scalar registers", lds: "LDS" }[o.limiter] || o.limiter;
  return el("p", {}, o.waves_per_simd + " waves a SIMD and " + o.workgroups_per_cu + " workgroups a CU fit, limited by ", el("b", {}, by), "; " + o.mean_waves_per_simd.toFixed(2) +
    " waves a SIMD on average. A wave takes " + o.vgprs + " VGPRs, " + o.agprs + " AGPRs and " + o.sgprs + " SGPRs; a workgroup " + fmt(o.lds_bytes) + " bytes of LDS.");
}

function drawRoofline(root, run) {
  if (root.firstChild || !root.clientWidth) return;
  const r = run.run, peak = r.peak_tflops_at_clock, levels = machinePeaks(run).filter(l => l.peak > 0);
  const flops = r.flops / Math.max(1e-9, r.time_us) / 1e6;
  if (!peak || !flops) { root.append(el("p", { class: "dim" }, "This kernel counts no floating-point operations of the matrix pipe, so there is no roof to hold it against.")); return; }
  const points = levels.filter(l => l.carried > 0).map(l => ({ ...l, ai: r.flops / (r.kernel_time_us * 1e-6) / l.carried }));
  const lo = Math.pow(10, Math.floor(Math.log10(Math.min(1, ...points.map(p => p.ai))))), hi = Math.pow(10, Math.ceil(Math.log10(Math.max(1000, ...points.map(p => p.ai)))));
  const xs = [];
  for (let x = lo; x <= hi * 1.0001; x *= Math.pow(10, 1 / 16)) xs.push(x);
  for (const p of points) xs.push(p.ai);
  for (const l of levels) xs.push(peak * 1e12 / l.peak); // the ridge
  xs.sort((a, b) => a - b);
  const dash = [[], [8, 4], [2, 4]], colours = ["#1fa37c", "#c8500a", "#8c2d72"];
  const series = [{ label: "flop/byte", value: (u, v) => v === null ? "" : v.toPrecision(3) }], data = [xs];
  const roof = (v => v === null || v === undefined ? "" : v.toPrecision(3) + " TFLOPS");
  levels.forEach((l, i) => { data.push(xs.map(x => Math.min(peak, x * l.peak / 1e12))); series.push({ label: l.name + " roof", stroke: colours[i], width: 2, dash: dash[i], value: (u, v) => roof(v) }); });
  points.forEach(p => {
    const i = levels.findIndex(l => l.name === p.name);
    data.push(xs.map(x => x === p.ai ? flops : null));
    series.push({ label: "run by " + p.name + " bytes", stroke: colours[i], width: 0, points: { show: true, size: 13, fill: ["#ffffff", colours[i], "#f0a830"][i], width: 3 }, value: (u, v) => roof(v) });
  });
  const w = Math.min(root.clientWidth, 640);
  const log = (u, vals) => vals.map(v => v === null ? "" : v >= 1000 ? v / 1000 + "k" : v < 0.01 ? v.toExponential(0) : String(+v.toPrecision(3)));
  new uPlot({ width: w, height: Math.min(340, Math.max(240, w * 0.6)), scales: { x: { time: false, distr: 3 }, y: { distr: 3 } }, series,
    axes: [{ label: "floating-point operations per byte", values: log, grid: { stroke: "#eceef1" } }, { label: "TFLOPS", values: log, size: 60, grid: { stroke: "#eceef1" } }], legend: { live: false } }, data, root);
  root.append(el("p", { class: "dim" }, "Matrix peak " + peak.toFixed(peak < 10 ? 2 : 0) + " TFLOPS at " + fmt(r.clock_mhz) + " MHz; " +
    levels.map(l => l.name + " " + (l.peak / 1e12).toPrecision(3) + " TB/s").join(", ") + ". The run reaches " + flops.toPrecision(3) + " TFLOPS, launch included."));
}

function drawOccupancy(root, run) {
  if (root.firstChild || !root.clientWidth) return;
  const steps = new Map();
  for (const cu of run.cus) for (const lane of cu.lanes) for (const w of lane.waves) {
    steps.set(w.Start, (steps.get(w.Start) || 0) + 1);
    if (w.End) steps.set(w.End, (steps.get(w.End) || 0) - 1);
  }
  const at = [...steps.keys()].sort((a, b) => a - b);
  if (!at.length) return;
  const xs = [], ys = [];
  let n = 0;
  for (const t of at) { xs.push(t, t); ys.push(n); n += steps.get(t); ys.push(n); }
  for (let i = 1; i < xs.length; i++) if (xs[i] <= xs[i - 1]) xs[i] = xs[i - 1] + 0.01;
  const w = Math.min(root.clientWidth, 640);
  new uPlot({ width: w, height: 170, scales: { x: { time: false } }, legend: { live: false },
    series: [{ label: "cycle" }, { label: "waves resident on " + (run.cus.length > 1 ? run.cus.length + " recorded CUs" : "CU " + run.cus[0].name), stroke: "#12307a", fill: "rgba(18,48,122,0.15)", width: 2 }],
    axes: [{ label: "cycle", values: (u, v) => v.map(compact), grid: { stroke: "#eceef1" } }, { size: 44, grid: { stroke: "#eceef1" } }] }, [xs, ys], root);
}
