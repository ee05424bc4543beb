// LDS: the 64 lanes of an access, their phases and banks, and what collides.

const PHASE_COLOURS = ["#12307a", "#f0c050", "#8c2d72", "#7fd0b4", "#c8500a", "#9db7e8", "#1a6b52", "#f2c3de"];

// unitsOf lists, phase by phase and bank group by bank group, the distinct units
// that the lanes ask for: what the banks serve one after the other.
function unitsOf(a, addresses) {
  const groups = Math.max(1, a.Banks * 4 / a.Unit), phases = Math.max(...a.Phase) + 1;
  const t = Array.from({ length: phases }, () => Array.from({ length: groups }, () => new Map()));
  const active = BigInt(a.Lanes);
  for (let l = 0; l < 64; l++) {
    if (!(active >> BigInt(l) & 1n)) continue;
    const u = Math.floor(addresses[l] / a.Unit), m = t[a.Phase[l]][u % groups];
    if (!m.has(u)) m.set(u, []);
    m.get(u).push(l);
  }
  return t;
}

function costText(a) { return a.Service + " bank cycles, " + (a.Conflicts ? a.Conflicts + " conflicts" : "no conflict"); }

// laneGrid draws the 64 lanes: the phase by colour and number, the first bank.
function laneGrid(a, worst) {
  const w = 8, cell = 54, c = el("canvas", { role: "img", "aria-label": "Lanes with their phase and first bank" }), g = fitCanvas(c, w * cell + 1, 8 * 32 + 1);
  g.textBaseline = "middle"; g.textAlign = "center";
  for (let l = 0; l < 64; l++) {
    const x = l % w * cell, y = Math.floor(l / w) * 32, p = a.Phase[l] % 8;
    g.fillStyle = PHASE_COLOURS[p]; g.fillRect(x + 1, y + 1, cell - 2, 30);
    g.fillStyle = textOn(PHASE_COLOURS[p]);
    g.font = "bold 11px system-ui"; g.fillText("lane " + l, x + cell / 2, y + 10);
    g.font = "10.5px system-ui"; g.fillText("p" + a.Phase[l] + " b" + Math.floor(a.Addresses[l] / 4) % a.Banks, x + cell / 2, y + 22);
    if (worst.has(l)) { g.strokeStyle = "#a11"; g.lineWidth = 3; g.strokeRect(x + 2.5, y + 2.5, cell - 5, 27); }
  }
  return c;
}

// bankGrid draws phases by banks: how many distinct units each group serves.
function bankGrid(a, units) {
  const groups = units[0].length, cw = Math.max(9, Math.min(26, 640 / groups)), rh = 22, left = 58;
  const c = el("canvas", { role: "img", "aria-label": "Distinct requests by phase and bank" }), g = fitCanvas(c, left + groups * cw + 2, units.length * rh + 20);
  g.textBaseline = "middle"; g.font = "11px system-ui";
  const per = a.Unit / 4;
  for (let p = 0; p < units.length; p++) {
    g.fillStyle = "#1b1f27"; g.textAlign = "left"; g.fillText("phase " + p, 4, p * rh + rh / 2);
    for (let b = 0; b < groups; b++) {
      const n = units[p][b].size, x = left + b * cw, y = p * rh;
      g.fillStyle = n === 0 ? "#f4f5f7" : n === 1 ? "#9db7e8" : n === 2 ? "#c8500a" : "#7a1f00";
      g.fillRect(x + 0.5, y + 1, cw - 1, rh - 2);
      if (n > 0 && cw >= 9) { g.fillStyle = textOn(n === 1 ? "#9db7e8" : "#7a1f00"); g.textAlign = "center"; g.fillText(n, x + cw / 2, y + rh / 2); }
    }
  }
  g.fillStyle = "#5a6270"; g.textAlign = "left";
  g.fillText("bank 0", left, units.length * rh + 10);
  g.textAlign = "right"; g.fillText("bank " + (a.Banks - 1), left + groups * cw, units.length * rh + 10);
  c.title = "a bank group of " + per + " banks of 4 bytes serves one request a cycle";
  return c;
}

// tileGrid draws where the tile's rows lie in LDS: one cell a unit, with the
// lane that reads it, coloured by phase. It is the paper's Figure 4 for the 16x32
// bf16 tile.
function tileGrid(v, a) {
  const rowBytes = v.RowBytes, unit = a.Bytes, perRow = rowBytes / unit;
  const top = Math.max(...a.Addresses) + unit, rows = Math.min(64, Math.ceil(top / rowBytes));
  const cw = Math.max(26, Math.min(92, 420 / perRow)), rh = rows > 32 ? 14 : 20, left = 44;
  const c = el("canvas", { role: "img", "aria-label": "The tile in LDS: lane and bank of each piece" }), g = fitCanvas(c, left + perRow * cw + 2, rows * rh + 2);
  g.textBaseline = "middle"; g.font = (rh < 18 ? "10" : "11") + "px system-ui";
  for (let r = 0; r < rows; r++) {
    g.fillStyle = "#5a6270"; g.textAlign = "left"; g.fillText("row " + r, 2, r * rh + rh / 2);
    for (let k = 0; k < perRow; k++) { g.strokeStyle = "#e3e5e9"; g.strokeRect(left + k * cw + 0.5, r * rh + 0.5, cw, rh); }
  }
  for (let l = 0; l < 64; l++) {
    const at = a.Addresses[l], r = Math.floor(at / rowBytes), x = left + (at % rowBytes) / unit * cw;
    if (r >= rows) continue;
    const p = a.Phase[l] % 8;
    g.fillStyle = PHASE_COLOURS[p]; g.fillRect(x + 1, r * rh + 1, cw - 1, rh - 1);
    g.fillStyle = textOn(PHASE_COLOURS[p]); g.textAlign = "center";
    const bank = Math.floor(at / 4) % a.Banks;
    g.fillText(cw > 70 ? "lane " + l + "  b" + bank : cw > 40 ? l + " b" + bank : l, x + cw / 2, r * rh + rh / 2, cw - 2);
  }
  return c;
}

function worstLanes(units) {
  const out = new Set();
  for (const p of units) for (const m of p) if (m.size > 1) for (const lanes of m.values()) for (const l of lanes) out.add(l);
  return out;
}

function accessPanel(title, a, v) {
  if (!a) return el("div", {}, el("h2", {}, title), el("p", { class: "dim" }, "The swizzle tears a lane's bytes apart, so this access is not possible; use a narrower one."));
  const units = unitsOf(a, a.Addresses);
  const box = el("div", { class: "lds-panel" }, el("h2", {}, title), el("p", { class: a.Conflicts ? "bad" : "good" }, costText(a)));
  if (v) box.append(el("p", { class: "dim" }, "the tile in LDS: lane and first bank of each piece, coloured by phase"), el("div", { class: "scroller" }, tileGrid(v, a)));
  box.append(el("p", { class: "dim" }, "distinct requests of each phase in each bank group; more than one collide"), el("div", { class: "scroller" }, bankGrid(a, units)),
    el("p", { class: "dim" }, "lanes with phase (p) and first bank (b); those that collide are framed"), el("div", { class: "scroller" }, laneGrid(a, worstLanes(units))));
  if (a.Second && a.Second.length) {
    const second = { ...a, Addresses: a.Second };
    box.append(el("p", { class: "dim" }, "second address"), el("div", { class: "scroller" }, bankGrid(second, unitsOf(second, a.Second))));
  }
  return box;
}

function ldsPage(root, meta, app) {
  const run = meta.runs[0], views = run.layouts || [], accesses = run.lds || [];
  const byInst = new Map((run.run.instructions || []).map(i => [i.pc, i]));
  const pick = el("select", { id: "lds-inst", "aria-label": "Instruction" }, accesses.map((a, i) => el("option", { value: i }, pcText(run.insts[a.Inst].PC) + "  " + run.insts[a.Inst].Text + "  (" + costText(a) + ")")));
  const chosen = el("div", { id: "lds-chosen" });
  const showInst = () => {
    const a = accesses[+pick.value];
    if (!a) { chosen.replaceChildren(el("p", { class: "dim" }, "No LDS instruction ran within the recorded window.")); return; }
    const d = byInst.get(run.insts[a.Inst].PC);
    chosen.replaceChildren(accessPanel(run.insts[a.Inst].Text + ", first execution", a, null), el("p", {}, d ? "Over the launch it issued " + fmt(d.hits) + " times with " + fmt(d.bank_conflicts) + " conflicts. " : "",
      el("button", { onclick: () => app.showTimeline(a.Inst) }, "Show on the timeline")));
  };
  const layouts = [...new Set(views.map(v => v.Layout))];
  const lay = el("select", { id: "lds-layout", "aria-label": "Layout" }, layouts.map(l => el("option", { value: l }, l + (l === "st_16x32" ? " (Figure 4: 16x32 bf16)" : ""))));
  const op = el("select", { id: "lds-op", "aria-label": "Instruction of the layout" });
  const both = el("div", { class: "grid2", id: "lds-both" });
  const ops = () => {
    op.replaceChildren(...views.map((v, i) => [v, i]).filter(([v]) => v.Layout === lay.value).map(([v, i]) => el("option", { value: i }, v.Op + " access " + v.Access)));
    draw();
  };
  const draw = () => {
    const v = views[+op.value];
    if (!v) return;
    if (v.SwizzleText === "none") both.replaceChildren(accessPanel("no swizzle", v.Off, v));
    else both.replaceChildren(accessPanel("swizzle off", v.Off, v), accessPanel("swizzle on: " + v.SwizzleText, v.On, v));
  };
  lay.addEventListener("change", ops); op.addEventListener("change", draw); pick.addEventListener("change", showInst);
  root.append(el("h2", {}, "A tile with its swizzle off and on"), el("div", { class: "controls" }, lay, op), both,
    el("h2", {}, "An instruction of this run"), el("div", { class: "controls" }, pick), chosen);
  ops(); showInst();
}
