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
  for (const cu of run.cus) {
    for (const lane of cu.lanes) {
      decodeLane(run, lane, blob, classes);
      decodeFlows(lane, blob);
      lane.name = "SIMD " + lane.simd + " slot " + lane.slot;
      run.events += lane.n;
    }
    decodeBanks(cu, blob);
    decodeReleases(cu, blob);
    deriveResources(run, cu);
    run.events += cu.banks.n + cu.releases.length;
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
    const parts = [];
    cu.lanes.forEach((lane, li) => {
      if (lane.simd !== s) return;
      for (let i = 0; i < lane.n; i++) if (lane.style[i] === run.mfma) parts.push([lane.from[i], lane.inst[i], li]);
    });
    if (!parts.length && !cu.lanes.some(l => l.simd === s)) continue;
    parts.sort((a, b) => a[0] - b[0]);
    const n = parts.length;
    const p = { simd: s, n, from: new Float64Array(n), to: new Float64Array(n), inst: new Int32Array(n), lane: new Int32Array(n) };
    parts.forEach((x, i) => { p.from[i] = x[0]; p.to[i] = x[0] + run.insts[x[1]].Busy; p.inst[i] = x[1]; p.lane[i] = x[2]; });
    cu.pipes.push(p);
  }
  const edges = [];
  for (const lane of cu.lanes) {
    const f = lane.flows;
    for (let i = 0; i < f.n; i++) if (!f.lgkm[i]) { edges.push([f.at[i], 1]); if (f.done[i]) edges.push([f.done[i], -1]); }
  }
  edges.sort((a, b) => a[0] - b[0]);
  const at = [], depth = [];
  let d = 0, peak = 0;
  for (const e of edges) {
    d += e[1]; peak = Math.max(peak, d);
    if (at.length && at[at.length - 1] === e[0]) depth[depth.length - 1] = d; else { at.push(e[0]); depth.push(d); }
  }
  cu.vmem = { n: at.length, at: Float64Array.from(at), depth: Int32Array.from(depth), peak };
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
