// Data: unpacks the page's data and decodes the event streams, whose bytes are
// described in report/timeline/encode.go and report/html/page.go.

const KIND_SEEK = 15, INST_BIAS = 8;

async function unpack(base64) {
  const raw = atob(base64.trim());
  const packed = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) packed[i] = raw.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const n = new DataView(bytes.buffer).getUint32(0, true);
  const meta = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + n)));
  const blob = bytes.subarray(4 + n);
  for (const run of meta.runs) decodeRun(run, meta, blob);
  return meta;
}

// Reader reads varints; numbers beyond 32 bits are rare but right.
class Reader {
  constructor(blob, span) { this.b = blob; this.p = span[0]; this.end = span[0] + span[1]; }
  more() { return this.p < this.end; }
  byte() { return this.b[this.p++]; }
  uvarint() {
    let c = this.b[this.p++];
    if (c < 128) return c;
    let x = c & 127, m = 128;
    do { c = this.b[this.p++]; x += (c & 127) * m; m *= 128; } while (c >= 128);
    return x;
  }
  varint() { const u = this.uvarint(); return u % 2 ? -(u + 1) / 2 : u / 2; }
}

function decodeRun(run, meta, blob) {
  const classes = meta.styles.filter(s => !s.stall).length;
  const classOf = {};
  meta.styles.forEach((s, i) => { if (!s.stall) classOf[s.name] = i; });
  run.instStyle = Uint8Array.from(run.insts, i => classOf[i.Class] ?? 0);
  run.stallBase = classes;
  run.mfma = classOf.mfma;
  run.events = 0;
  run.blob = blob;
  for (const cu of run.cus) {
    for (const lane of cu.lanes) run.events += lane.segments[2];
    run.events += cu.banks[2] + cu.barriers[2];
  }
}

// A lane becomes columns: start, end, style (issue class or stall), instruction.
function decodeLane(run, lane, blob, classes) {
  const n = lane.segments[2], r = new Reader(blob, lane.segments);
  const from = new Float64Array(n), to = new Float64Array(n), style = new Uint8Array(n), inst = new Int32Array(n);
  let at = 0, next = 0, i = 0;
  while (r.more()) {
    const tag = r.byte(), kind = tag & 15;
    if (kind === KIND_SEEK) { at += r.varint(); continue; }
    const d = tag >> 4 ? (tag >> 4) - INST_BIAS : r.varint();
    const ins = next + d;
    from[i] = at; inst[i] = ins;
    if (kind === 0) { at += run.interval; next = ins + 1; style[i] = run.instStyle[ins]; }
    else { at += r.uvarint(); style[i] = classes + kind - 1; }
    to[i] = at;
    i++;
  }
  Object.assign(lane, { n, from, to, style, inst });
}

function decodeFlows(lane, blob) {
  const n = lane.memory[2], r = new Reader(blob, lane.memory);
  const at = new Float64Array(n), done = new Float64Array(n), wait = new Float64Array(n), inst = new Int32Array(n), lgkm = new Uint8Array(n);
  let t = 0, ins = 0;
  for (let i = 0; i < n; i++) {
    const v = r.uvarint();
    t += Math.floor(v / 2); ins += r.varint();
    const d = r.uvarint(), w = r.uvarint();
    at[i] = t; inst[i] = ins; lgkm[i] = v % 2; done[i] = d ? t + d : 0; wait[i] = w ? t + w : 0;
  }
  lane.flows = { n, at, done, wait, inst, lgkm };
}

function decodeBanks(cu, blob) {
  const n = cu.banks[2], r = new Reader(blob, cu.banks);
  const from = new Float64Array(n), to = new Float64Array(n), slot = new Int32Array(n), fill = new Uint8Array(n), inst = new Int32Array(n);
  let t = 0, ins = 0;
  for (let i = 0; i < n; i++) {
    t += r.uvarint(); from[i] = t; to[i] = t + r.uvarint();
    const v = r.uvarint(); slot[i] = v >> 1; fill[i] = v & 1; ins += r.varint(); inst[i] = ins;
  }
  cu.banks = { n, from, to, slot, fill, inst };
}

function decodeReleases(cu, blob) {
  const r = new Reader(blob, cu.barriers);
  let t = 0;
  cu.releases = [];
  while (r.more()) {
    t += r.uvarint();
    cu.releases.push({ arrived: t, released: t + r.uvarint(), last: r.uvarint(), woken: r.uvarint() });
  }
}

// The matrix pipes follow from the issues of matrix instructions; the vector
// memory lane counts operations between issue and completion.
function deriveResources(run, cu) {
  cu.pipes = [];
  for (let s = 0; s < run.simds; s++) {
    const lanes = [];
    cu.lanes.forEach((lane, li) => { if (lane.simd === s) lanes.push(li); });
    if (lanes.length) cu.pipes.push(pipeOf(run, cu, s, lanes));
  }
  cu.vmem = depthOf(cu);
}

// pipeOf merges the matrix issues of a SIMD's waves in order of time.
function pipeOf(run, cu, simd, lanes) {
  const next = lanes.map(() => 0), mfma = run.mfma;
  const skip = k => { const l = cu.lanes[lanes[k]]; let i = next[k]; while (i < l.n && l.style[i] !== mfma) i++; next[k] = i; };
  let n = 0;
  lanes.forEach((li, k) => { const l = cu.lanes[li]; for (let i = 0; i < l.n; i++) if (l.style[i] === mfma) n++; skip(k); });
  const p = { simd, n, from: new Float64Array(n), to: new Float64Array(n), inst: new Int32Array(n), lane: new Int32Array(n) };
  for (let i = 0; i < n; i++) {
    let best = -1, at = Infinity;
    for (let k = 0; k < lanes.length; k++) {
      const l = cu.lanes[lanes[k]];
      if (next[k] < l.n && l.from[next[k]] < at) { at = l.from[next[k]]; best = k; }
    }
    const l = cu.lanes[lanes[best]], ins = l.inst[next[best]];
    p.from[i] = at; p.to[i] = at + run.insts[ins].Busy; p.inst[i] = ins; p.lane[i] = lanes[best];
    next[best]++; skip(best);
  }
  return p;
}

function depthOf(cu) {
  let n = 0, d = 0;
  for (const lane of cu.lanes) for (let i = 0; i < lane.flows.n; i++) if (!lane.flows.lgkm[i]) { n++; if (lane.flows.done[i]) d++; }
  const start = new Float64Array(n), end = new Float64Array(d);
  n = d = 0;
  for (const lane of cu.lanes) {
    const f = lane.flows;
    for (let i = 0; i < f.n; i++) if (!f.lgkm[i]) { start[n++] = f.at[i]; if (f.done[i]) end[d++] = f.done[i]; }
  }
  start.sort(); end.sort();
  const at = new Float64Array(n + d), depth = new Int32Array(n + d);
  let i = 0, j = 0, k = 0, peak = 0;
  while (i < n || j < d) {
    const t = Math.min(i < n ? start[i] : Infinity, j < d ? end[j] : Infinity);
    while (i < n && start[i] === t) i++;
    while (j < d && end[j] === t) j++;
    at[k] = t; depth[k++] = i - j; peak = Math.max(peak, i - j);
  }
  return { n: k, at: at.subarray(0, k), depth: depth.subarray(0, k), peak };
}

// ready decodes a CU's events the first time that they are looked at.
function ready(run, cu) {
  if (cu.pipes) return cu;
  for (const lane of cu.lanes) { decodeLane(run, lane, run.blob, run.stallBase); decodeFlows(lane, run.blob); }
  decodeBanks(cu, run.blob);
  decodeReleases(cu, run.blob);
  deriveResources(run, cu);
  return cu;
}

// groupOf is the half of its workgroup that a wave belongs to, or its place on
// its SIMD where workgroups are small: what alternates on a matrix pipe.
function waveGroup(run, cu, li, cycle) {
  const lane = cu.lanes[li];
  const per = run.run.launch.waves_per_workgroup;
  const w = waveAt(lane, cycle);
  if (per > run.simds && w) return Math.min(3, Math.floor(w.Number / run.simds));
  let k = 0;
  for (let i = 0; i < li; i++) if (cu.lanes[i].simd === lane.simd) k++;
  return k % 4;
}

function waveAt(lane, cycle) {
  let found = null;
  for (const w of lane.waves) { if (w.Start > cycle) break; found = w; }
  return found;
}

// first index whose value is greater than x.
function upper(a, n, x) {
  let lo = 0, hi = n;
  while (lo < hi) { const m = (lo + hi) >> 1; if (a[m] > x) hi = m; else lo = m + 1; }
  return lo;
}
