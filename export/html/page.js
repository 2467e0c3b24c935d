// export/html/page.js - fills the page from the data, and answers pointer and keys.
"use strict";
const PEAK = DATA.peak;

// ---- summary ----
function chip(text) { byId("chips").append(make("span.chip", text)); }

function peakPlace() {
  const parts = [stepText(PEAK.step)];
  if (PEAK.phase !== "setup") parts.push(PEAK.phase);
  if (PEAK.recompute) parts.push("recomputation");
  return parts.join(", ") + (placeText(PEAK) ? ": " + placeText(PEAK) : "");
}
function figure(name, text, more) { return make("div", make("span", name), make("b", text), more ? make("em", more) : ""); }

function barMake() {
  const bar = make("div"), parts = make("div");
  bar.id = "bar";
  parts.id = "parts";
  DATA.category_names.forEach((name, i) => {
    const bytes = PEAK.by_category[name] || 0;
    if (!bytes) return;
    const part = make("div" + (isDarkColor(style("--c" + i)) ? ".on-dark" : ""), bytes / PEAK.allocated > .09 ? name : "");
    part.style.width = 100 * bytes / PEAK.allocated + "%";
    part.style.background = colorOf(i);
    part.title = name + ": " + bytesText(bytes) + ", " + DATA.category_texts[i];
    bar.append(part);
    const text = make("span", swatch(i), name, make("b", bytesText(bytes)), make("em", shareText(bytes, PEAK.allocated)));
    text.title = DATA.category_texts[i] + ": " + exactText(bytes) + " bytes";
    parts.append(text);
  });
  return make("div", bar, parts);
}

function summaryFill() {
  const box = byId("summary");
  if (DATA.device) chip(DATA.device);
  for (const name in DATA.toggles) chip(name + "=" + DATA.toggles[name]);
  if (!PEAK.event) {
    box.append(make("p", "Nothing was allocated."));
    return;
  }
  box.append(make("div", make("div.what", "peak of allocated memory"), make("div.big", bytesText(PEAK.allocated)),
                  make("div.exact", exactText(PEAK.allocated) + " bytes"), make("div.what", peakPlace())), barMake());
  const figures = make("div");
  figures.id = "figures";
  figures.append(figure("reserved, highest", bytesText(PEAK.reserved)),
                 figure("requested, highest", bytesText(PEAK.requested)),
                 figure("blocks at the peak", exactText(DATA.blocks_at_peak), "of " + exactText(DATA.all_blocks) + " in all"));
  if (DATA.capacity)
    figures.append(figure("device", bytesText(DATA.capacity), shareText(PEAK.reserved, DATA.capacity) + " reserved"));
  if (DATA.gain)
    figures.append(figure("unused at the peak", bytesText(DATA.gain), "the peak falls by so much without them"));
  if (DATA.parameters) figures.append(figure("parameters", exactText(DATA.parameters)));
  figures.append(figure("events", exactText(DATA.events)));
  box.append(figures);
  if (DATA.oom) box.append(make("p.warn", "Memory ran out at event " + exactText(DATA.oom) + "."));
  if (DATA.bound) box.append(make("div.exact", DATA.bound));
}

// ---- legend ----
function legendFill() {
  const legend = byId("legend");
  DATA.category_names.forEach((name, i) => {
    if (!ALL || !ALL.areas[i]) return;
    const button = make("button", swatch(i), name);
    button.type = "button";
    button.title = DATA.category_texts[i] + "; click hides it";
    button.onclick = () => {
      if (HIDDEN.has(i)) HIDDEN.delete(i); else HIDDEN.add(i);
      button.classList.toggle("off", HIDDEN.has(i));
      Timeline.wait();
    };
    legend.append(button);
  });
}

// ---- a block in words ----
function lifeText(block) {
  const end = block.free ? exactText(block.free) : "the end";
  const share = ALL ? (block.free || ALL.last + 1) - block.alloc : 0;
  return "events " + exactText(block.alloc) + " to " + end + " (" + exactText(share) + ")";
}
function blockRows(block) {
  const rows = make("div.rows");
  const row = (name, value) => { if (value) rows.append(make("span", name), make("span", value)); };
  row("size", bytesText(block.bytes) + " (" + exactText(block.bytes) + " bytes)");
  if (block.requested !== block.bytes) row("requested", exactText(block.requested) + " bytes");
  row("tensor", block.shape);
  row("allocated by", placeText(block));
  row("alive", lifeText(block));
  row("last use", block.last_use ? "event " + exactText(block.last_use) : DATA.imported ? "" : "none");
  return rows;
}
function atPeak(block) { return DATA.at_peak.find(row => row.block === block.id); }

function keep(block) {
  const box = byId("block");
  Timeline.kept = block;
  box.hidden = !block;
  box.replaceChildren();
  for (const row of document.querySelectorAll("#blocks tr[data-block]"))
    row.classList.toggle("on", !!block && row.dataset.block === String(block.id));
  Timeline.wait();
  if (!block) return;
  const names = [];
  for (let i = 1; i < block.categories.length; i += 2) names.push(categoryName(block.categories[i]));
  const close = make("button", "close");
  close.type = "button";
  close.onclick = () => keep(null);
  const rows = blockRows(block);
  rows.append(make("span", "category"), make("span", names.join(", then ")));
  const row = atPeak(block);
  if (row && row.holders.length) rows.append(make("span", "held at the peak by"), make("span", row.holders.join("; ")));
  box.append(make("div.title", swatch(block.categories[1] || 0), block.name), rows, close);
}

// ---- the pointer ----
function tipShow(found) {
  const tip = byId("tip"), range = Timeline.range, i = found.column;
  tip.replaceChildren();
  if (found.block) {
    tip.append(make("div.title", swatch(categoryAt(found.block, found.seq)), found.block.name), blockRows(found.block));
  } else if (found.category >= 0) {
    tip.append(make("div.title", swatch(found.category), "smaller blocks: " + categoryName(found.category)),
               make("div.rows", make("span", "together"), make("span", bytesText(found.rest))));
  }
  const total = make("div.total", "event " + exactText(found.seq) + ", " + stepText(range.step[i]) + ", " +
                     DATA.phase_names[range.phase[i]]);
  total.append(make("br"), bytesText(range.total[i]) + " allocated, " + bytesText(range.reserved[i]) + " reserved");
  tip.append(total);
  tip.hidden = false;
  const plot = byId("plot").getBoundingClientRect(), box = tip.getBoundingClientRect();
  tip.style.left = Math.max(0, found.x + 18 + box.width > plot.width ? found.x - box.width - 14 : found.x + 18) + "px";
  tip.style.top = Math.max(0, Math.min(found.y + 12, plot.height - box.height)) + "px";
}

function pointerBegin() {
  const plot = byId("plot");
  let drag = null;
  const place = event => {
    const box = plot.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  plot.addEventListener("pointerdown", event => {
    const [x, y] = place(event);
    drag = { x, y, from: Timeline.from, to: Timeline.to, moved: false };
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", event => {
    const [x, y] = place(event);
    if (drag && Math.abs(x - drag.x) > 3) {
      const by = (drag.x - x) / Timeline.width * (drag.to - drag.from);
      drag.moved = true;
      plot.classList.add("moving");
      Timeline.show(drag.from + by, drag.to + by);
    }
    Timeline.hover = drag && drag.moved ? null : Timeline.at(x, y);
    if (Timeline.hover) tipShow(Timeline.hover); else byId("tip").hidden = true;
    if (!drag || !drag.moved) Timeline.drawOver();
  });
  plot.addEventListener("pointerup", event => {
    const [x, y] = place(event);
    const found = drag && !drag.moved ? Timeline.at(x, y) : null;
    if (found) keep(found.block && found.block !== Timeline.kept ? found.block : null);
    drag = null;
    plot.classList.remove("moving");
  });
  plot.addEventListener("pointerleave", () => {
    Timeline.hover = null;
    byId("tip").hidden = true;
    Timeline.drawOver();
  });
  plot.addEventListener("dblclick", () => doNamed("all"));
  plot.addEventListener("wheel", event => {
    const [x] = place(event);
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = event.deltaX / Timeline.width * (Timeline.to - Timeline.from);
      Timeline.show(Timeline.from + by, Timeline.to + by);
    } else {
      Timeline.zoom(Timeline.seqAt(x), Math.exp(event.deltaY * .0018));
    }
  }, { passive: false });
  mapBegin();
}

function mapBegin() {
  const map = byId("map");
  let isDown = false;
  const move = event => {
    const box = map.getBoundingClientRect(), half = (Timeline.to - Timeline.from) / 2;
    const seq = ALL.first + (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT) * (ALL.last + 1 - ALL.first);
    Timeline.show(seq - half, seq + half);
  };
  map.addEventListener("pointerdown", event => { isDown = true; map.setPointerCapture(event.pointerId); move(event); });
  map.addEventListener("pointermove", event => { if (isDown) move(event); });
  map.addEventListener("pointerup", () => (isDown = false));
}

function doNamed(name) {
  const middle = (Timeline.from + Timeline.to) / 2, width = Timeline.to - Timeline.from;
  if (!ALL) return;
  if (name === "all") Timeline.show(ALL.first, ALL.last + 1);
  if (name === "in") Timeline.zoom(middle, .6);
  if (name === "out") Timeline.zoom(middle, 1 / .6);
  if (name === "left") Timeline.show(Timeline.from - width / 8, Timeline.to - width / 8);
  if (name === "right") Timeline.show(Timeline.from + width / 8, Timeline.to + width / 8);
  if (name === "peak") Timeline.show(PEAK.event - width / 8, PEAK.event + width / 8);
  if (name === "step") {
    const i = DATA.steps.findIndex(step => step.step === PEAK.step);
    if (i >= 0) Timeline.show(DATA.steps[i].first, i + 1 < DATA.steps.length ? DATA.steps[i + 1].first : ALL.last + 1);
  }
}
const KEYS = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all", p: "peak", s: "step" };

function buttonsBegin() {
  for (const button of document.querySelectorAll("[data-do]")) button.onclick = () => doNamed(button.dataset.do);
  byId("plot").addEventListener("keydown", event => {
    if (event.key === "Escape") keep(null);
    if (!KEYS[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    doNamed(KEYS[event.key]);
  });
  byId("theme").onclick = () => {
    const root = document.documentElement;
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    themeRead();
    Timeline.wait();
  };
  Timeline.onWindow = () => {
    byId("window").textContent = "events " + exactText(Math.round(Timeline.from)) + " to " +
                                 exactText(Math.max(Math.round(Timeline.from), Math.round(Timeline.to) - 1)) + " of " +
                                 exactText(DATA.events);
  };
}

// ---- tables ----
function header(table, names) {
  const row = make("tr");
  for (const [name, isNumber] of names) row.append(make("th" + (isNumber ? ".num" : ""), name));
  table.replaceChildren(make("thead", row), make("tbody"));
  return table.tBodies[0];
}

function shareBar(bytes, all, category) {
  const bar = make("div.share"), part = make("i");
  part.style.width = Math.max(1, 100 * bytes / all) + "%";
  part.style.background = colorOf(category);
  bar.append(part);
  return bar;
}

function peakRow(row) {
  const block = BLOCK_BY_ID.get(row.block);
  const category = DATA.category_names.indexOf(row.category);
  const next = !row.next_use ? DATA.imported ? "" : "no later use" :
    "next use at " + (row.next_use_line ? "line " + row.next_use_line : "event " + exactText(row.next_use));
  const where = make("td", block.isNamed ? placeText(block) : lineText(block));
  if (row.gain) where.append(make("div.good", "without it the peak falls by " + bytesText(row.gain)));
  const out = make("tr", make("td.num", bytesText(block.bytes)), make("td", shareBar(block.bytes, PEAK.allocated, category)),
                   make("td.kind", make("span", swatch(category), " " + row.category)),
                   make("td", block.name, make("div.dim", block.shape)), where,
                   make("td.hold", row.holders.join("; "), next ? make("div.dim", next) : ""));
  out.dataset.block = row.block;
  out.onclick = () => {
    keep(Timeline.kept === block ? null : block);
    byId("chart").scrollIntoView({ behavior: "smooth", block: "nearest" });
  };
  return out;
}
function peakFill() {
  const body = header(byId("blocks"), [["size", true], ["share"], ["category"], ["block"], ["allocated"], ["held by"]]);
  const listed = DATA.at_peak.reduce((sum, row) => sum + BLOCK_BY_ID.get(row.block).bytes, 0);
  byId("peak-text").textContent = "the " + DATA.at_peak.length + " largest of " + exactText(DATA.blocks_at_peak) + ": " +
    bytesText(listed) + " of " + bytesText(PEAK.allocated);
  body.append(...DATA.at_peak.map(peakRow));
  byId("filter").oninput = () => {
    const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of body.rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
  };
}

// What changes the peak, the lowest first.
function whatifFill() {
  if (!DATA.whatifs.length) return;
  const list = DATA.whatifs.slice().sort((a, b) => a.delta - b.delta);
  const most = Math.max(...list.map(w => Math.abs(w.delta)), 1);
  byId("whatif").hidden = false;
  byId("whatif-text").textContent = "the net run again with one toggle changed, or the best ones combined; a click draws " +
    "what it allocates over the run";
  const body = header(byId("whatifs"), [["change"], ["peak", true], ["\u0394 peak", true], [""], ["arithmetic", true], ["costs"]]);
  for (const w of list) {
    w.values = sums(w.allocated);
    w.steps = sums(w.step);
    w.phases = sums(w.phase);
    const bar = make("div.change"), part = make("i");
    part.style.width = 50 * Math.abs(w.delta) / most + "%";
    part.style[w.delta < 0 ? "right" : "left"] = "50%";
    part.style.background = w.delta < 0 ? "var(--good)" : "var(--bad)";
    bar.append(part);
    const row = make("tr", make("td.mono", w.set), make("td.num", bytesText(w.peak)),
                     make("td.num" + (w.delta < 0 ? ".good" : w.delta > 0 ? ".bad" : ""), deltaText(w.delta)), make("td", bar),
                     make("td.num", w.arithmetic ? "\u00d7" + w.arithmetic.toFixed(2) : ""),
                     make("td", w.costs, w.note ? make("span.dim", w.note) : ""));
    row.onclick = () => {
      Timeline.whatif = Timeline.whatif === w ? null : w;
      for (const other of body.rows) other.classList.toggle("on", other === row && Timeline.whatif === w);
      byId("chart").scrollIntoView({ behavior: "smooth", block: "nearest" });
      Timeline.wait();
    };
    body.append(row);
  }
}

// ---- modules ----
function modulesFill() {
  const list = DATA.modules.filter(m => m.bytes / PEAK.allocated > .001);
  if (list.length < 3) return;
  const box = byId("icicle");
  byId("modules").hidden = false;
  const ends = [];
  let depth = 0;
  for (const m of list) {
    const from = m.depth ? ends[m.depth - 1].next : 0;
    if (m.depth) ends[m.depth - 1].next += m.bytes;
    ends[m.depth] = { next: from };
    const name = m.path ? m.path.slice(m.path.lastIndexOf(".") + 1) : "the model";
    const part = make("div", 100 * m.bytes / PEAK.allocated > 3 ? name + "  " + bytesText(m.bytes) : "");
    part.style.left = 100 * from / PEAK.allocated + "%";
    part.style.width = 100 * m.bytes / PEAK.allocated + "%";
    part.style.top = m.depth * 26 + "px";
    part.style.background = "rgba(var(--heat), " + (.2 + .6 * m.bytes / PEAK.allocated) + ")";
    part.title = (m.path || "the model") + ": " + bytesText(m.bytes) + ", " + shareText(m.bytes, PEAK.allocated) +
                 ", " + bytesText(m.own) + " of its own";
    part.onclick = () => { byId("filter").value = m.path; byId("filter").oninput(); };
    depth = Math.max(depth, m.depth);
    box.append(part);
  }
  box.style.height = (depth + 1) * 26 + "px";
}

// ---- source ----
function sourceFill() {
  if (!DATA.source) return;
  const by = new Map();
  for (const line of DATA.lines) by.set(line.line, (by.get(line.line) || 0) + line.bytes);
  const most = Math.max(1, ...by.values());
  const body = make("tbody");
  byId("code").hidden = false;
  DATA.source.replace(/\n$/, "").split("\n").forEach((text, i) => {
    const bytes = by.get(i + 1) || 0;
    const row = make("tr" + (bytes ? ".has" : ""), make("td", i + 1), make("td", bytes ? bytesText(bytes) : ""), make("td", text));
    if (bytes) {
      row.style.background = "rgba(var(--heat), " + (.06 + .34 * bytes / most) + ")";
      row.onclick = () => { byId("filter").value = "line " + (i + 1); byId("filter").oninput(); };
    }
    if (i + 1 === PEAK.line) row.lastChild.append(make("span.bad", "   \u25c0 the peak"));
    body.append(row);
  });
  byId("source").append(body);
}

// ---- steps ----
function stepsFill() {
  if (DATA.steps.length < 2) return;
  const body = header(byId("step-table"), [["step"], ["peak", true], [""], ["reserved", true], ["at its end", true],
                                           ["\u0394 end", true], ["recomputed ops", true], ["loss", true]]);
  byId("steps").hidden = false;
  byId("steps-text").textContent = DATA.steps.length < DATA.all_steps ?
    "the first " + DATA.steps.length + " of " + exactText(DATA.all_steps) : "";
  DATA.steps.forEach((step, i) => {
    const grown = i ? step.end - DATA.steps[i - 1].end : 0;
    const row = make("tr", make("td", stepText(step.step)), make("td.num", bytesText(step.peak)),
                     make("td", shareBar(step.peak, PEAK.allocated, 0)), make("td.num", bytesText(step.reserved)),
                     make("td.num", bytesText(step.end)),
                     make("td.num" + (i > 2 && grown > 0 ? ".bad" : ""), i ? deltaText(grown) : ""),
                     make("td.num", exactText(step.recomputed_ops)), make("td.num", step.loss === null ? "" : step.loss.toPrecision(5)));
    row.onclick = () => {
      Timeline.show(step.first, i + 1 < DATA.steps.length ? DATA.steps[i + 1].first : ALL.last + 1);
      byId("chart").scrollIntoView({ behavior: "smooth", block: "nearest" });
    };
    body.append(row);
  });
}

document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
themeRead();
summaryFill();
legendFill();
buttonsBegin();
pointerBegin();
peakFill();
whatifFill();
modulesFill();
sourceFill();
stepsFill();
Timeline.begin();
