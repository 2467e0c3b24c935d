// bench/viewer_peer.mjs - PyTorch's own viewer on a snapshot, under node: the peer of bench_viewer's figures.
//
// For:            bench/bench_viewer.c. `node bench/viewer_peer.mjs MemoryViz.js SNAPSHOT`: lines of "name milliseconds".
// Must not know:  what the viewer does. Its file is given, not carried along: torch/utils/viz/MemoryViz.js of PyTorch's sources. Its imports of
//                 d3 are replaced by the stand-in below, the rest runs as it is.
// Invariant:      the stand-in calls every function that d3 would call with a datum, so that the texts and points are made; it makes no elements
//                 of a page and draws nothing: a browser does all of this and more.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

// ---- a page that keeps nothing but children, data and handlers ----

const handlers = {brush: [], body: {}};

class Element {
  constructor(tag) {
    this.tag = tag;
    this.children = [];
    this.handlers = {};
    this.value = '';
  }
  scrollIntoViewIfNeeded() {}
  get options() {
    return this.children;
  }
}

class Selection {
  constructor(elements, parents = []) {
    this.elements = elements;
    this.parents = parents;
  }
  node() {
    return this.elements[0];
  }
  datum() {
    return this.elements[0].datum;
  }
  append(tag) {
    const made = this.elements.map(parent => {
      const child = new Element(tag);
      child.datum = parent.datum;
      parent.children.push(child);
      return child;
    });
    return new Selection(made);
  }
  select() {
    return this;
  }
  selectAll(tag) {
    const found = this.elements.flatMap(e => e.children.filter(c => c.tag === tag));
    return new Selection(found, this.elements);
  }
  data(data) {
    this.bound = data;
    return this;
  }
  enter() {
    const entered = new Selection([]);
    const {bound, parents} = this;
    entered.append = tag => {
      const made = bound.map(datum => {
        const child = new Element(tag);
        child.datum = datum;
        return child;
      });
      for (const child of made) parents[0].children.push(child);
      return new Selection(made);
    };
    return entered;
  }
  each_value(f) {
    if (typeof f === 'function') this.elements.forEach((e, i) => f.call(e, e.datum, i));
    return this;
  }
  attr(_name, f) {
    return this.each_value(f);
  }
  text(f) {
    return this.each_value(f);
  }
  style(_name, f) {
    return this.each_value(f);
  }
  property(_name, f) {
    return this.each_value(f);
  }
  html() {
    return this;
  }
  classed() {
    return this;
  }
  on(name, f) {
    for (const e of this.elements) e.handlers[name] = f;
    return this;
  }
  call(f, ...more) {
    if (typeof f === 'function') f(this, ...more);
    return this;
  }
  remove() {
    for (const e of this.elements) e.children = [];
    return this;
  }
}

function scaleLinear() {
  let [d0, d1, r0, r1] = [0, 1, 0, 1];
  const scale = x => r0 + ((x - d0) / (d1 - d0)) * (r1 - r0);
  scale.domain = ([a, b]) => (([d0, d1] = [a, b]), scale);
  scale.range = ([a, b]) => (([r0, r1] = [a, b]), scale);
  scale.invert = y => d0 + ((y - r0) / (r1 - r0)) * (d1 - d0);
  return scale;
}

// Takes any chain of calls. "brush" handlers are kept.
function chain() {
  const f = () => {};
  return new Proxy(f, {
    get: (_t, name) =>
      name === 'on'
        ? (event, handler) => {
            if (event === 'brush') handlers.brush.push(handler);
            return chain();
          }
        : name === Symbol.toPrimitive
          ? () => ''
          : (..._args) => chain(),
    apply: () => undefined,
  });
}

const roots = {head: new Element('head'), body: new Element('body')};
const d3 = {
  event: null,
  select: what => new Selection([typeof what === 'string' ? roots[what] || roots.body : what]),
  format: () => String,
};
globalThis.standIn = {
  d3,
  axisLeft: chain,
  scaleLinear,
  zoom: chain,
  zoomIdentity: chain(),
  brushX: chain,
};
globalThis.window = {requestAnimationFrame: f => f()};
globalThis.document = {body: roots.body, addEventListener() {}};

// ---- measuring ----

function cpu() {
  const {user, system} = process.cpuUsage();
  return (user + system) / 1e3;
}

function median(list) {
  list.sort((a, b) => a - b);
  return list[Math.floor(list.length / 2)];
}

function tell(name, ms) {
  fs.writeSync(1, `${name} ${ms.toFixed(3)}\n`);
}

function tell_memory() {
  tell('memory_mib', process.resourceUsage().maxRSS / 1024);
}

// The viewer with its imports from elsewhere replaced, and with what it keeps to itself given out.
async function viewer_load(file) {
  const kept = ['unpickle', 'annotate_snapshot', 'create_trace_view', 'create_segment_view'];
  const text = fs
    .readFileSync(file, 'utf8')
    .replace(/^import \* as d3 from .*$/m, 'const {d3} = globalThis.standIn;')
    .replace(/^import (\{[^}]*\}) from .*$/gm, 'const $1 = globalThis.standIn;');
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'vramscope-viewer-'));
  const copy = path.join(folder, 'viewer.mjs');

  fs.writeFileSync(copy, `${text}\nexport const kept = {${kept.join(', ')}};\n`);
  try {
    return (await import(pathToFileURL(copy))).kept;
  } finally {
    fs.rmSync(folder, {recursive: true});
  }
}

// The blocks alive at events of the list, as a click on them shows: the history of the allocator. The list is asked for, as a click would.
function clicks_measure(viewer, snapshot, count) {
  const page = new Selection([new Element('div')]);
  let start = cpu();

  viewer.create_segment_view(page, snapshot, 0);
  tell('segments_first_ms', cpu() - start);

  const rows = [];
  const find = e => {
    if (e.tag === 'pre' && e.datum) rows.push(e);
    e.children.forEach(find);
  };
  find(page.node());
  const took = [];
  for (let i = 0; i < count && rows.length; i++) {
    const row = rows[Math.floor((rows.length * (2 * i + 1)) / (2 * count))];

    d3.event = {target: row};
    start = cpu();
    row.handlers.mousedown.call(row, {target: row}, row.datum);
    took.push(cpu() - start);
  }
  tell('click_ms', median(took));
}

function brushes_measure(width, count) {
  const took = [];

  for (let i = 0; i < count; i++) {
    const from = 70 + ((width - 70) * i) / (count + 1);
    const event = {selection: [from, from + (width - 70) / 2]};
    const start = cpu();

    d3.event = event;
    for (const handler of handlers.brush) handler(event);
    took.push(cpu() - start);
  }
  tell('brush_ms', median(took));
}

const [, , file, snapshot_file] = process.argv;
console.log = () => {};
const viewer = await viewer_load(file);
const bytes = fs.readFileSync(snapshot_file);
const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
let start = cpu();
const snapshot = viewer.unpickle(buffer);
viewer.annotate_snapshot(snapshot);
tell('unpickle_ms', cpu() - start);
tell('events', snapshot.device_traces[0].length);
tell_memory();
start = cpu();
viewer.create_trace_view(new Selection([new Element('div')]), snapshot, 0);
tell('first_frame_ms', cpu() - start);
tell_memory();
brushes_measure(1024, 20);
clicks_measure(viewer, snapshot, 11);
tell_memory();
