// Compare: two runs, their lanes aligned and their stalls side by side; with one
// run, its two wave groups.

function comparePage(root, meta, app) {
  const body = el("div");
  const file = el("input", { type: "file", accept: ".html", "aria-label": "Page of another run", onchange: async e => {
    const f = e.target.files[0];
    if (!f) return;
    try { const other = await readPage(await f.text()); show([meta.runs[0], other.runs[0]]); }
    catch (err) { note.textContent = f.name + " is not a page that whisker wrote: " + err.message; }
  } });
  const note = el("p", { class: "dim" }, meta.runs.length > 1 ? "" : "One run is in this page: its wave groups are compared. Choose the page of another run to compare with, or write one page of both: whisker view A.whisker B.whisker.");
  root.append(el("div", { class: "controls" }, el("label", {}, "Compare with ", file)), note, body);
  let tl = null;

  function show(runs) {
    note.textContent = "";
    body.replaceChildren();
    const [a, b] = runs.map(r => ({ run: r, name: r.run.kernel + " on " + r.run.arch + optionText(r.run) }));
    body.append(el("p", {}, el("b", {}, "A"), " " + a.name + ", ", el("b", {}, fmt(a.run.run.cycles)), " cycles; ", el("b", {}, "B"), " " + b.name + ", ", el("b", {}, fmt(b.run.run.cycles)), " cycles (" + signed((b.run.run.cycles / a.run.run.cycles - 1) * 100) + " %)"));
    body.append(el("div", { class: "grid2" }, el("div", {}, el("h2", {}, "Stalls, share of wave-cycles"), stallDiff(meta, a.run.run, b.run.run)), el("div", {}, el("h2", {}, "Instructions that differ most"), instDiff(a.run, b.run))));
    const wrap = el("div", { id: "cmp-wrap" });
    body.append(el("h2", {}, "Lanes, aligned at the first wave"), wrap);
    tl = new Timeline(wrap, meta, { id: "cmp-canvas" });
    const start = r => Math.min(...r.cus[0].lanes.flatMap(l => l.waves.map(w => Math.max(w.Start, r.from))));
    if (!a.run.cus.length || !b.run.cus.length) return;
    const s = runs.map(start), rows = [];
    rows.push(...timelineRows(tl, a.run, a.run.cus[0], -s[0], "A: "), ...timelineRows(tl, b.run, b.run.cus[0], -s[1], "B: "));
    tl.setRows(rows, 0, Math.max(a.run.to - s[0], b.run.to - s[1]));
  }

  function groups(run) {
    const sum = [{}, {}], total = [0, 0];
    for (const cu of run.cus) ready(run, cu).lanes.forEach((lane, li) => {
      for (let i = 0; i < lane.n; i++) {
        const k = Math.min(1, waveGroup(run, cu, li, lane.from[i])), name = meta.styles[lane.style[i]].name, d = lane.to[i] - lane.from[i];
        sum[k][name] = (sum[k][name] || 0) + d; total[k] += d;
      }
    });
    const fake = k => ({ issued: sum[k], stalls: sum[k], wave_cycles: total[k] });
    body.replaceChildren(el("p", {}, el("b", {}, "A"), " wave group 0, ", el("b", {}, "B"), " wave group 1 (waves of the same workgroup that share SIMDs), recorded window"), stallDiff(meta, fake(0), fake(1)));
    if (!run.cus.length || !total[1]) return;
    const wrap = el("div", { id: "cmp-wrap" });
    body.append(el("h2", {}, "Lanes, group by group"), wrap);
    tl = new Timeline(wrap, meta, { id: "cmp-canvas" });
    const rows = timelineRows(tl, run, run.cus[0], 0, ""), of = k => rows.filter(r => r.kind === "wave" && Math.min(1, waveGroup(run, r.cu, r.li, r.lane.from[0])) === k);
    tl.setRows([{ kind: "head", h: 20, label: "A: group 0" }, ...of(0), { kind: "head", h: 20, label: "B: group 1" }, ...of(1), { kind: "head", h: 20, label: "both" }, ...rows.filter(r => r.kind === "pipe")], run.from, run.to);
    const l = mainLoop(run, run.cus[0]);
    if (l) tl.setView(l[0], l[1] - l[0]);
  }

  if (meta.runs.length > 1) show(meta.runs); else groups(meta.runs[0]);
  return { draw() { if (tl) tl.resize(); }, get timeline() { return tl; } };
}

const signed = x => Math.abs(x) < 0.05 ? "0.0" : (x > 0 ? "+" : "−") + Math.abs(x).toFixed(1);

// optionText names the kernel's options: a GEMM's sizes in short, others as they are.
function optionText(r) {
  const { m, n, k, ...o } = r.options || {};
  const list = m ? [m + "x" + n + "x" + k] : [];
  for (const key in o) if (o[key] !== "" && o[key] !== null && typeof o[key] !== "object" && !(m && (key === "window" || key === "chunk") && !o[key])) list.push(key === "dtype" || key === "schedule" || key === "mfma" ? o[key] : key + " " + o[key]);
  return list.length ? " (" + list.join(", ") + ")" : "";
}

function stallDiff(meta, a, b) {
  const t = el("table", { id: "stall-diff" }, el("thead", {}, el("tr", {}, ["", "", "A", "B", "B − A"].map(h => el("th", {}, h)))));
  const body = el("tbody");
  const rows = meta.styles.map(s => { const of = r => ((s.stall ? r.stalls : r.issued)[s.name] || 0) / Math.max(1, r.wave_cycles); return { s, a: of(a), b: of(b) }; }).filter(r => r.a || r.b);
  rows.sort((x, y) => Math.abs(y.b - y.a) - Math.abs(x.b - x.a));
  for (const r of rows) {
    const d = r.b - r.a, box = el("div");
    box.style.cssText = "position:relative;width:170px;height:14px;background:linear-gradient(#999,#999) center/1px 100% no-repeat var(--soft)";
    const f = el("div"), w = Math.min(85, Math.abs(d) * 85 / 0.5);
    f.style.cssText = "position:absolute;top:0;height:14px;width:" + w + "px;" + (d < 0 ? "right:85px" : "left:85px") + ";background:" + background(r.s);
    box.append(f);
    body.append(el("tr", { title: r.s.doc }, el("td", { class: "text" }, (r.s.stall ? "" : "issue ") + r.s.name), el("td", {}, box), el("td", {}, pct(r.a)), el("td", {}, pct(r.b)), el("td", {}, signed(d * 100) + " %")));
  }
  t.append(body);
  return el("div", { class: "scroller" }, t);
}

// instDiff aligns two programs by their text and order, and lists what costs
// differently, per workgroup.
function instDiff(a, b) {
  const cost = r => { const m = new Map(); for (const i of r.run.instructions || []) m.set(i.text, (m.get(i.text) || 0) + (i.issue_cycles + i.stall_cycles) / Math.max(1, r.run.sample ? r.run.sample.workgroups : r.run.launch.workgroups)); return m; };
  const x = cost(a), y = cost(b), rows = [];
  for (const k of new Set([...x.keys(), ...y.keys()])) rows.push([k, x.get(k) || 0, y.get(k) || 0]);
  rows.sort((p, q) => Math.abs(q[2] - q[1]) - Math.abs(p[2] - p[1]));
  return el("div", { class: "scroller" }, el("table", {}, el("thead", {}, el("tr", {}, ["instruction", "A", "B", "B − A"].map((h, i) => el("th", { class: i ? "" : "text" }, h)))),
    el("tbody", {}, rows.slice(0, 16).map(r => el("tr", {}, el("td", { class: "text" }, r[0]), el("td", {}, fmt(r[1])), el("td", {}, fmt(r[2])), el("td", {}, (r[2] >= r[1] ? "+" : "−") + fmt(Math.abs(r[2] - r[1])))))),
    el("caption", { class: "dim" }, "wave-cycles a workgroup, issue and stall together")));
}

// readPage finds the data in the text of another page.
async function readPage(text) {
  const mark = '<script type="text/plain" id="data">', at = text.indexOf(mark);
  if (at < 0) throw new Error("it holds no run");
  return unpack(text.slice(at + mark.length, text.indexOf("</" + "script>", at)));
}
