// Main: pages, tabs, keys.

const PAGES = [["overview", "Overview"], ["timeline", "Timeline"], ["code", "Code"], ["lds", "LDS"], ["chiplets", "Chiplets"], ["compare", "Compare"]];

async function main() {
  const began = performance.now();
  const meta = await unpack(document.getElementById("data").textContent);
  document.getElementById("data").remove();
  const run = meta.runs[0], r = run.run;
  document.getElementById("subtitle").textContent = "Whisker " + r.version + optionText(r) + "; " + fmt(run.events) + " events of CU " + run.window + ", cycles " + fmt(run.from) + " to " + fmt(run.to) + "; machine file " + r.machine.hash.slice(0, 12);
  const made = {}, tabs = document.getElementById("tabs");
  const app = {
    meta, current: "",
    show(name, keep) {
      for (const [p] of PAGES) {
        document.getElementById(p).hidden = p !== name;
        const t = document.getElementById("tab-" + p);
        t.setAttribute("aria-selected", p === name); t.tabIndex = p === name ? 0 : -1;
      }
      app.current = name;
      page(name);
      if (made[name] && made[name].draw) made[name].draw();
      if (!keep) history.replaceState(null, "", "#" + name);
    },
    showTimeline(inst) { app.show("timeline"); const ok = made.timeline.showInst(inst); made.timeline.canvas.focus({ preventScroll: true }); made.timeline.canvas.scrollIntoView({ block: "nearest" }); return ok; },
    showCode(of, inst) { app.show("code"); made.code.show(inst); },
    get timeline() { return page("timeline"); },
    made, remap,
  };
  const make = { overview: overviewPage, timeline: timelinePage, code: codePage, lds: ldsPage, chiplets: chipletsPage, compare: comparePage };
  function page(name) {
    if (!(name in made)) made[name] = make[name](document.getElementById(name), meta, app) || {};
    return made[name];
  }
  PAGES.forEach(([p, label], i) => {
    tabs.append(el("button", { id: "tab-" + p, role: "tab", "aria-controls": p, title: "key " + (i + 1), onclick: () => app.show(p), onkeydown: e => {
      const d = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (d) { const q = PAGES[(i + d + PAGES.length) % PAGES.length][0]; app.show(q); document.getElementById("tab-" + q).focus(); e.preventDefault(); }
    } }, label));
    document.getElementById(p).setAttribute("aria-labelledby", "tab-" + p);
  });
  document.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    if (e.key >= "1" && e.key <= "6") { app.show(PAGES[+e.key - 1][0]); e.preventDefault(); }
    else if (app.current === "timeline" && e.target !== made.timeline.canvas && e.target.tagName !== "BUTTON" && made.timeline.key(e.key)) e.preventDefault();
  });
  addEventListener("resize", () => { const m = made[app.current]; if (m && m.draw) m.draw(); });
  const wanted = location.hash.slice(1);
  app.show(PAGES.some(([p]) => p === wanted) ? wanted : meta.runs.length > 1 ? "compare" : "overview", true);
  app.opened = performance.now() - began;
  window.whisker = app;
}

main().catch(err => {
  document.getElementById("subtitle").textContent = "This page's data cannot be read: " + err.message + ". A browser of 2023 or later is needed.";
  console.error(err);
});
