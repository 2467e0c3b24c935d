// export/html/timeline.js - the timeline: areas by category with their blocks, zoom, what is under the pointer.
//
// A range has columns of events. A column is drawn as it is right after its highest event, so no peak is lost at any
// zoom. Blocks lie on each other in order of allocation, within the area of their category; what the file does not have
// of an area are the smaller blocks, above those.
"use strict";
const LEFT = 76, RIGHT = 14, TOP = 22, BANDS = 36, MARGIN = 1.07;

function sums(differences) {
  let now = 0;
  return differences.map(d => (now += d));
}
const RANGES = DATA.ranges.map(range => {
  const out = { first: range.first, last: range.last, from: sums(range.from), at: sums(range.highest_at),
                low: sums(range.lowest), reserved: sums(range.reserved), step: sums(range.step),
                phase: sums(range.phase), areas: [], total: [] };
  DATA.category_names.forEach((name, i) => (out.areas[i] = range.by_category[name] ? sums(range.by_category[name]) : null));
  out.total = out.from.map((x, i) => out.areas.reduce((sum, area) => sum + (area ? area[i] : 0), 0));
  return out;
});
const ALL = RANGES[0] || null;
const STEP_RANGE = RANGES[1] || null;
const BLOCKS = DATA.blocks;
// A block without a name is called by what made it.
for (const block of BLOCKS) {
  block.isNamed = !!block.name;
  block.name = block.name || block.origin;
}
const BLOCK_BY_ID = new Map(BLOCKS.map(block => [block.id, block]));
const HIDDEN = new Set();

function categoryAt(block, seq) {
  let category = 11;
  for (let i = 0; i < block.categories.length && block.categories[i] <= seq; i += 2) category = block.categories[i + 1];
  return category;
}
function isAlive(block, seq) { return block.alloc <= seq && (!block.free || block.free > seq); }

// The last column that begins at or before `seq`.
function columnOf(range, seq) {
  let low = 0, high = range.from.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (range.from[middle] <= seq) low = middle; else high = middle - 1;
  }
  return low;
}

const Timeline = {
  from: 1, to: 2, kept: null, whatif: null, hover: null, pixels: [], range: ALL, top: 1,

  begin() {
    this.canvas = byId("canvas");
    this.over = byId("over");
    this.map = byId("map");
    if (ALL) { this.from = ALL.first; this.to = ALL.last + 1; }
    themeRead();
    new ResizeObserver(() => this.resize()).observe(byId("plot"));
    this.resize();
  },
  resize() {
    const ratio = window.devicePixelRatio || 1;
    for (const canvas of [this.canvas, this.over, this.map]) {
      const box = canvas.getBoundingClientRect();
      canvas.width = Math.max(1, Math.round(box.width * ratio));
      canvas.height = Math.max(1, Math.round(box.height * ratio));
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    const box = this.canvas.getBoundingClientRect();
    this.width = box.width - LEFT - RIGHT;
    this.height = box.height - TOP - BANDS;
    this.draw();
  },
  topFind() {
    let most = 1;
    if (ALL) for (let i = 0; i < ALL.total.length; i++) most = Math.max(most, ALL.total[i], ALL.reserved[i]);
    if (this.whatif) most = Math.max(most, this.whatif.peak);
    if (DATA.capacity && DATA.capacity < most * 1.6) most = Math.max(most, DATA.capacity);
    return most * MARGIN;
  },
  x(seq) { return LEFT + (seq - this.from) / (this.to - this.from) * this.width; },
  y(bytes) { return TOP + this.height * (1 - bytes / this.top); },
  seqAt(x) { return this.from + (x - LEFT) / this.width * (this.to - this.from); },

  // ---- the window ----
  show(from, to) {
    if (!ALL) return;
    const all = ALL.last + 1 - ALL.first;
    const finest = STEP_RANGE || ALL.from.length < all ? 4 : 2;
    let width = Math.min(all, Math.max(finest, to - from));
    let begin = Math.min(Math.max(ALL.first, (from + to - width) / 2), ALL.last + 1 - width);
    this.from = begin;
    this.to = begin + width;
    this.wait();
  },
  zoom(at, factor) { this.show(at - (at - this.from) * factor, at + (this.to - at) * factor); },
  wait() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => { this.isWaiting = false; this.draw(); });
  },

  // The column of each pixel: of those under it the one with the most bytes. Neighbours of one column are one stretch.
  stretches() {
    const out = [];
    const range = STEP_RANGE && this.from >= STEP_RANGE.first && this.to <= STEP_RANGE.last + 1 ? STEP_RANGE : ALL;
    this.range = range;
    const count = Math.max(1, Math.floor(this.width));
    let column = columnOf(range, this.from);
    for (let i = 0; i < count; i++) {
      const end = this.from + (i + 1) / count * (this.to - this.from);
      let best = column;
      while (column + 1 < range.from.length && range.from[column + 1] < end) {
        column++;
        if (range.total[column] > range.total[best]) best = column;
      }
      const last = out[out.length - 1];
      if (last && last.column === best) last.to = LEFT + (i + 1) * this.width / count;
      else out.push({ column: best, from: LEFT + i * this.width / count, to: LEFT + (i + 1) * this.width / count });
      if (best !== column && column + 1 < range.from.length) best = column;
    }
    return out;
  },
  // The lower edge of each category's area in a column.
  basesOf(column) {
    const bases = [];
    let at = 0;
    for (let i = 0; i < DATA.category_names.length; i++) {
      bases.push(at);
      if (this.range.areas[i] && !HIDDEN.has(i)) at += this.range.areas[i][column];
    }
    bases.push(at);
    return bases;
  },

  // ---- drawing ----
  draw() {
    if (!ALL) return;
    const c = this.canvas.getContext("2d");
    this.top = this.topFind();
    this.pixels = this.stretches();
    c.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.drawAxis(c);
    c.save();
    c.beginPath();
    c.rect(LEFT, 0, this.width, TOP + this.height);
    c.clip();
    this.drawAreas(c);
    this.drawBlocks(c);
    if (this.isCrowded()) this.drawLowest(c);
    this.drawLines(c);
    c.restore();
    this.drawBands(c);
    this.drawOver();
    this.drawMap();
    if (this.onWindow) this.onWindow();
  },
  font(c, size, weight) { c.font = (weight || 400) + " " + size + "px system-ui, -apple-system, 'Segoe UI', sans-serif"; },
  drawAxis(c) {
    const [step, unit, name] = tickOf(this.top / 7);
    this.font(c, 11.5);
    c.textAlign = "right";
    c.textBaseline = "middle";
    c.lineWidth = 1;
    for (let at = 0; at <= this.top; at += step) {
      const y = Math.round(this.y(at)) + .5;
      c.strokeStyle = THEME.rule;
      c.beginPath();
      c.moveTo(LEFT, y);
      c.lineTo(LEFT + this.width, y);
      c.stroke();
      c.fillStyle = THEME.faint;
      c.fillText(at ? +(at / unit).toFixed(1) + " " + name : "0", LEFT - 8, y);
    }
  },
  drawAreas(c) {
    const bases = this.pixels.map(p => this.basesOf(p.column));
    for (let i = 0; i < DATA.category_names.length; i++) {
      if (!this.range.areas[i] || HIDDEN.has(i)) continue;
      c.fillStyle = THEME.categories[i];
      c.beginPath();
      this.pixels.forEach((p, n) => {
        const top = this.y(bases[n][i + 1]), base = this.y(bases[n][i]);
        if (base - top > 0) c.rect(p.from, top, p.to - p.from + .3, base - top + .3);
      });
      c.fill();
    }
  },
  // Calls back with each block that is higher than a pixel, where it lies without a change: (block, from, to, y, height).
  eachPiece(call) {
    const alive = [];
    const open = new Map();
    let next = 0, place = 0;
    const flush = (block, piece) => call(block, piece.from, piece.to, piece.y, piece.height, piece.category);
    for (const p of this.pixels) {
      const seq = this.range.at[p.column];
      const at = this.basesOf(p.column);
      while (next < BLOCKS.length && BLOCKS[next].alloc <= seq) alive.push(BLOCKS[next++]);
      place = 0;
      for (const block of alive) {
        const piece = open.get(block);
        if (block.free && block.free <= seq) {
          if (piece) { flush(block, piece); open.delete(block); }
          continue;
        }
        alive[place++] = block;
        const category = categoryAt(block, seq);
        if (HIDDEN.has(category)) continue;
        const height = block.bytes / this.top * this.height;
        const y = this.y(at[category] + block.bytes);
        at[category] += block.bytes;
        if (height < 1.2 && block !== this.kept) continue;
        if (piece && piece.y === y && piece.category === category && piece.to === p.from) {
          piece.to = p.to;
          continue;
        }
        if (piece) flush(block, piece);
        open.set(block, { from: p.from, to: p.to, y, height, category });
      }
      alive.length = place;
    }
    for (const [block, piece] of open) flush(block, piece);
  },
  drawBlocks(c) {
    const names = [];
    c.lineWidth = 1;
    this.eachPiece((block, from, to, y, height, category) => {
      if (block.id % 2) {
        c.fillStyle = THEME.isDark ? "#0000001e" : "#ffffff2e";
        c.fillRect(from, y, to - from, height);
      }
      if (height >= 3) {
        c.fillStyle = THEME.isDark ? "#00000066" : "#ffffff8c";
        c.fillRect(from, y, to - from, height >= 8 ? 1 : .6);
        if (to - from > 4) c.fillRect(from, y, .6, height);
      }
      if (height >= 13 && to - from >= 70) names.push([block, from, to, y, height, category]);
    });
    this.font(c, 11);
    c.textAlign = "left";
    c.textBaseline = "middle";
    for (const [block, from, to, y, height, category] of names) {
      let text = block.name + "  " + bytesText(block.bytes);
      const room = to - from - 12;
      if (c.measureText(text).width > room) text = block.name;
      while (text.length > 4 && c.measureText(text).width > room) text = text.slice(0, -4).trimEnd() + "\u2026";
      if (text.length <= 4 || c.measureText(text).width > room) continue;
      c.fillStyle = isDarkColor(THEME.categories[category]) ? "#ffffffe6" : "#10151de0";
      c.fillText(text, from + 6, y + height / 2 + .5);
    }
  },
  // Where a column holds whole steps: paler above the lowest that was allocated near it.
  drawLowest(c) {
    if (HIDDEN.size) return;
    c.fillStyle = THEME.card;
    c.globalAlpha = .4;
    this.pixels.forEach((p, n) => {
      const near = this.pixels.slice(Math.max(0, n - 3), n + 4);
      const top = this.y(this.range.total[p.column]);
      c.fillRect(p.from, top, p.to - p.from, this.y(Math.min(...near.map(q => this.range.low[q.column]))) - top);
    });
    c.globalAlpha = 1;
  },
  path(c, figure) {
    c.beginPath();
    this.pixels.forEach((p, n) => {
      const y = this.y(figure(p.column));
      if (n) c.lineTo(p.from, y); else c.moveTo(p.from, y);
      c.lineTo(p.to, y);
    });
  },
  drawLines(c) {
    c.lineWidth = 1.25;
    c.strokeStyle = THEME.line;
    c.setLineDash([1, 2.5]);
    this.path(c, column => this.range.reserved[column]);
    c.stroke();
    c.setLineDash([]);
    if (DATA.capacity && DATA.capacity <= this.top) {
      c.strokeStyle = THEME.accent;
      c.setLineDash([8, 4]);
      c.beginPath();
      c.moveTo(LEFT, this.y(DATA.capacity));
      c.lineTo(LEFT + this.width, this.y(DATA.capacity));
      c.stroke();
      c.setLineDash([]);
      this.label(c, "device: " + bytesText(DATA.capacity), LEFT + 6, this.y(DATA.capacity) - 8, "left", THEME.accent);
    }
    if (this.whatif) this.drawWhatif(c);
    if (DATA.peak.event >= this.from && DATA.peak.event < this.to) this.drawPeak(c);
    if (DATA.oom && DATA.oom >= this.from && DATA.oom <= this.to) {
      const x = this.x(DATA.oom);
      c.fillStyle = THEME.accent;
      c.fillRect(x - 1, TOP, 2, this.height);
      this.label(c, "out of memory", x - 6, TOP + 9, "right", THEME.accent);
    }
  },
  label(c, text, x, y, align, color) {
    this.font(c, 12, 600);
    c.textAlign = align;
    c.textBaseline = "middle";
    c.lineWidth = 3.5;
    c.lineJoin = "round";
    c.strokeStyle = THEME.card;
    c.strokeText(text, x, y);
    c.fillStyle = color;
    c.fillText(text, x, y);
  },
  drawPeak(c) {
    if (HIDDEN.size) return;
    const x = this.x(DATA.peak.event + .5), y = this.y(DATA.peak.allocated);
    const right = x > LEFT + this.width * .6;
    c.fillStyle = THEME.ink;
    c.beginPath();
    c.moveTo(x, y - 1);
    c.lineTo(x - 5, y - 10);
    c.lineTo(x + 5, y - 10);
    c.fill();
    this.label(c, "peak " + bytesText(DATA.peak.allocated), x + (right ? -10 : 10), y - 9, right ? "right" : "left", THEME.ink);
  },
  // The same phase of the same step is at the same place, whatever number of events either run has there.
  drawWhatif(c) {
    const w = this.whatif;
    if (!w.places) w.places = placesOf(w);
    c.strokeStyle = THEME.accent;
    c.lineWidth = 2;
    c.beginPath();
    w.values.forEach((value, i) => {
      const y = this.y(value);
      if (i) c.lineTo(this.x(w.places[i]), y); else c.moveTo(this.x(w.places[i]), y);
      c.lineTo(this.x(w.places[i + 1]), y);
    });
    c.stroke();
    this.label(c, "what if: " + w.set + ": peak " + bytesText(w.peak), LEFT + 8, 10, "left", THEME.accent);
  },
  drawBands(c) {
    const y = TOP + this.height + 5;
    const bands = [["phase", y, 14, i => DATA.phase_names[i]], ["step", y + 16, 14, stepText]];
    this.font(c, 10.5);
    c.textAlign = "center";
    c.textBaseline = "middle";
    if (this.isCrowded()) {
      this.drawSteps(c, y);
      return;
    }
    for (const [figure, top, height, name] of bands) {
      for (let i = 0, end; i < this.pixels.length; i = end) {
        const p = this.pixels[i], column = p.column;
        const same = other => this.range[figure][other] === this.range[figure][column] &&
                              this.range.step[other] === this.range.step[column];
        for (end = i + 1; end < this.pixels.length && same(this.pixels[end].column);) end++;
        const to = this.pixels[end - 1].to, value = this.range[figure][column];
        const isOdd = figure === "phase" ? value % 2 : value & 1;
        c.fillStyle = THEME.chip;
        c.globalAlpha = isOdd ? 1 : .55;
        c.fillRect(p.from, top, Math.max(.5, to - p.from - 1), height);
        c.globalAlpha = 1;
        if (to - p.from > c.measureText(name(value)).width + 6) {
          c.fillStyle = THEME.soft;
          c.fillText(name(value), (p.from + to) / 2, top + height / 2 + .5);
        }
      }
    }
  },
  stepsShown() {
    const column = i => this.range.step[this.pixels[i].column];
    return column(this.pixels.length - 1) - column(0) + 1;
  },
  // Are the steps too narrow for their phases?
  isCrowded() { return this.width / this.stepsShown() < 24; },
  // Numbers of steps at round distances.
  drawSteps(c, y) {
    let every = 1;
    for (let i = 0; this.width / this.stepsShown() * every < 60; i++) every *= [2, 2.5, 2][i % 3];
    let next = -Infinity;
    for (const p of this.pixels) {
      const step = this.range.step[p.column];
      if (step < next) continue;
      if (next > -Infinity && step >= 0) {
        c.fillStyle = THEME.faint;
        c.fillRect(p.from, y, 1, 6);
        c.fillStyle = THEME.soft;
        c.fillText("step " + Math.floor(step / every) * every, p.from, y + 16);
      }
      next = (Math.floor(step / every) + 1) * every;
    }
  },
  // What changes with the pointer: the kept block, the one under the pointer, a line at its column.
  drawOver() {
    const c = this.over.getContext("2d");
    c.clearRect(0, 0, this.over.width, this.over.height);
    const shown = [this.kept, this.hover && this.hover.block].filter(Boolean);
    if (shown.length) {
      c.save();
      c.beginPath();
      c.rect(LEFT, 0, this.width, TOP + this.height);
      c.clip();
      this.eachPiece((block, from, to, y, height) => {
        if (!shown.includes(block)) return;
        c.fillStyle = block === this.kept ? THEME.accent : THEME.ink;
        c.globalAlpha = block === this.kept ? .9 : .35;
        c.fillRect(from, y, Math.max(1, to - from), Math.max(1.5, height));
      });
      c.restore();
    }
    if (this.hover) {
      c.fillStyle = THEME.ink;
      c.globalAlpha = .5;
      c.fillRect(Math.round(this.hover.x), TOP, 1, this.height);
      c.globalAlpha = 1;
    }
  },
  drawMap() {
    const c = this.map.getContext("2d");
    const box = this.map.getBoundingClientRect();
    const count = ALL.from.length, all = ALL.last + 1 - ALL.first;
    const width = box.width - LEFT - RIGHT;
    c.clearRect(0, 0, box.width, box.height);
    c.fillStyle = THEME.line;
    c.globalAlpha = .45;
    c.beginPath();
    c.moveTo(LEFT, box.height);
    for (let i = 0; i < count; i++) {
      const from = LEFT + (ALL.from[i] - ALL.first) / all * width;
      const to = LEFT + ((i + 1 < count ? ALL.from[i + 1] : ALL.last + 1) - ALL.first) / all * width;
      const y = box.height - 2 - (box.height - 6) * ALL.total[i] / this.top;
      c.lineTo(from, y);
      c.lineTo(to, y);
    }
    c.lineTo(LEFT + width, box.height);
    c.fill();
    const from = LEFT + (this.from - ALL.first) / all * width, to = LEFT + (this.to - ALL.first) / all * width;
    c.globalAlpha = .14;
    c.fillStyle = THEME.ink;
    c.fillRect(LEFT, 0, from - LEFT, box.height);
    c.fillRect(to, 0, LEFT + width - to, box.height);
    c.globalAlpha = 1;
    c.strokeStyle = THEME.soft;
    c.lineWidth = 1.5;
    c.strokeRect(from + .75, .75, Math.max(3, to - from - 1.5), box.height - 1.5);
  },

  // ---- what is at a point ----
  at(x, y) {
    if (!ALL || x < LEFT || x >= LEFT + this.width || y < 0 || y > TOP + this.height) return null;
    const p = this.pixels.find(q => x < q.to) || this.pixels[this.pixels.length - 1];
    const seq = this.range.at[p.column];
    const bases = this.basesOf(p.column);
    const bytes = (1 - (y - TOP) / this.height) * this.top;
    const found = { x, y, column: p.column, seq, block: null, category: -1, rest: 0 };
    for (let i = 0; i < DATA.category_names.length; i++)
      if (bytes >= bases[i] && bytes < bases[i + 1]) found.category = i;
    if (found.category < 0) return found;
    let at = bases[found.category];
    for (const block of BLOCKS) {
      if (block.alloc > seq) break;
      if (!isAlive(block, seq) || categoryAt(block, seq) !== found.category) continue;
      if (bytes >= at && bytes < at + block.bytes) found.block = block;
      at += block.bytes;
    }
    found.rest = bases[found.category + 1] - at;
    return found;
  },
};

function isDarkColor(color) {
  const n = parseInt(color.slice(1), 16);
  return ((n >> 16) * 299 + (n >> 8 & 255) * 587 + (n & 255) * 114) / 1000 < 128;
}

// Stretches of equal step and phase: [{ key, from, to }], from and to in columns.
function stretchesOf(step, phase) {
  const out = [], seen = new Map();
  for (let i = 0, end; i < step.length; i = end) {
    for (end = i + 1; end < step.length && step[end] === step[i] && phase[end] === phase[i];) end++;
    const name = step[i] + " " + phase[i];
    seen.set(name, (seen.get(name) || 0) + 1);
    out.push({ key: name + " " + seen.get(name), from: i, to: end });
  }
  return out;
}
// Where in this run the columns of a what-if begin, as events; one more for the end of the last.
function placesOf(w) {
  const own = new Map(stretchesOf(ALL.step, ALL.phase).map(s => [s.key, s]));
  const begin = i => (i < ALL.from.length ? ALL.from[i] : ALL.last + 1);
  const out = [];
  let last = ALL.first;
  for (const s of stretchesOf(w.steps, w.phases)) {
    const there = own.get(s.key);
    for (let i = s.from; i < s.to; i++) {
      if (there) {
        const from = begin(there.from), to = begin(there.to);
        last = from + (i - s.from) / (s.to - s.from) * (to - from);
      }
      out.push(last);
    }
    if (there) last = begin(there.to);
  }
  out.push(last);
  return out;
}
