// Code: one row an instruction, over the whole launch.

function codePage(root, meta, app) {
  const run = meta.runs[0], stallNames = meta.styles.filter(s => s.stall).map(s => s.name);
  const byPC = new Map((run.run.instructions || []).map(i => [i.pc, i]));
  const rows = run.insts.map((ins, i) => {
    const d = byPC.get(ins.PC) || {};
    return { i, pc: ins.PC, text: ins.Text, cls: ins.Class, cluster: ins.Cluster, hits: d.hits || 0, issue: d.issue_cycles || 0, stall: d.stall_cycles || 0, stalls: d.stalls || {}, conflicts: d.bank_conflicts || 0 };
  });
  const most = Math.max(1, ...rows.map(r => r.stall + r.issue));
  const columns = [["pc", "pc"], ["cluster", "cluster"], ["text", "instruction"], ["hits", "hits"], ["issue", "issue cycles"], ["stall", "stall cycles"], ["bar", "by reason"], ["top", "most for"], ["conflicts", "conflicts"]];
  let sort = "pc", down = false, only = "";
  const body = el("tbody");
  const head = el("tr", {}, columns.map(([k, t]) => el("th", { class: k === "text" || k === "cluster" || k === "top" ? "text" : "", "data-key": k, "aria-sort": "none" },
    k === "bar" ? t : el("button", { onclick: () => order(k) }, t))));
  const filter = el("input", { type: "search", placeholder: "filter by text or class", "aria-label": "Filter", oninput: e => { only = e.target.value.toLowerCase(); fill(); } });
  const hot = el("button", { onclick: () => { sort = "stall"; down = true; fill(); } }, "Sort by stall");
  root.append(el("div", { class: "controls" }, hot, el("button", { onclick: () => { sort = "pc"; down = false; fill(); } }, "Sort by address"), filter,
    el("span", { class: "note" }, "wave-cycles of the whole launch; a click or ", el("kbd", {}, "Enter"), " shows the instruction on the timeline")));
  root.append(el("div", { id: "code-wrap", tabIndex: -1 }, el("table", { id: "code-table" }, el("thead", {}, head), body)), legend(meta.styles.filter(s => s.stall)));
  function order(k) { if (sort === k) down = !down; else { sort = k; down = k !== "pc" && k !== "text" && k !== "cluster"; } fill(); }
  function topOf(r) { let t = "", v = 0; for (const n of stallNames) if ((r.stalls[n] || 0) > v) { v = r.stalls[n]; t = n; } return t; }
  function stack(r) {
    const box = el("div", { title: Object.entries(r.stalls).map(([k, v]) => k + " " + fmt(v)).join(", ") });
    box.style.cssText = "display:flex;width:120px;height:13px";
    const add = (v, s) => { if (!v) return; const e = el("div"); e.style.cssText = "height:13px;width:" + (120 * v / most) + "px;background:" + background(s); box.append(e); };
    add(r.issue, meta.styles.find(s => s.name === r.cls));
    for (const s of meta.styles) if (s.stall) add(r.stalls[s.name] || 0, s);
    return box;
  }
  function fill() {
    const list = rows.filter(r => !only || r.text.toLowerCase().includes(only) || r.cls === only || (r.cluster || "").toLowerCase() === only);
    const key = { pc: r => r.pc, text: r => r.text, cluster: r => r.cluster || "", top: topOf }[sort] || (r => r[sort]);
    list.sort((a, b) => { const x = key(a), y = key(b); return (x < y ? -1 : x > y ? 1 : a.pc - b.pc) * (down ? -1 : 1); });
    for (const th of head.children) th.setAttribute("aria-sort", th.dataset.key === sort ? (down ? "descending" : "ascending") : "none");
    body.replaceChildren(...list.map(r => {
      const tr = el("tr", { tabIndex: 0, "data-inst": r.i, onclick: () => app.showTimeline(r.i), onkeydown: e => keys(e, r) },
        el("td", {}, pcText(r.pc)), el("td", { class: "text" }, r.cluster || ""), el("td", { class: "text" }, r.text), el("td", {}, fmt(r.hits)), el("td", {}, fmt(r.issue)),
        el("td", {}, fmt(r.stall)), el("td", {}, stack(r)), el("td", { class: "text" }, topOf(r)), el("td", { class: r.conflicts ? "bad" : "" }, fmt(r.conflicts)));
      return tr;
    }));
  }
  function keys(e, r) {
    const tr = e.currentTarget;
    if (e.key === "Enter") { app.showTimeline(r.i); e.preventDefault(); }
    if (e.key === "ArrowDown" && tr.nextSibling) { tr.nextSibling.focus(); e.preventDefault(); }
    if (e.key === "ArrowUp" && tr.previousSibling) { tr.previousSibling.focus(); e.preventDefault(); }
  }
  fill();
  return {
    show(inst) {
      only = ""; filter.value = ""; fill();
      for (const tr of body.children) tr.classList.toggle("on", +tr.dataset.inst === inst);
      const tr = body.querySelector("[data-inst='" + inst + "']");
      if (tr) { tr.scrollIntoView({ block: "center" }); tr.focus(); }
    },
  };
}
