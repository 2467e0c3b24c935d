// export/html/format.js - figures as text, and elements of the page. Texts of the trace become text nodes only.
"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

// As the program itself prints bytes: one decimal from KiB on, two from GiB on.
function bytesText(n) {
  let unit = 0, value = Math.abs(n);
  while (value >= 1024 && unit < UNITS.length - 1) { value /= 1024; unit++; }
  if (unit && value >= 1023.95 && unit < UNITS.length - 1) { value /= 1024; unit++; }
  return (n < 0 ? "-" : "") + (unit ? value.toFixed(unit < 3 ? 1 : 2) : value) + " " + UNITS[unit];
}
// The distance of a scale's ticks, at least `least` bytes, with its unit: [2 MiB, 1 MiB, "MiB"].
function tickOf(least) {
  let unit = 0, bytes = 1;
  while (unit < UNITS.length - 1 && least > bytes * 500) { bytes *= 1024; unit++; }
  const round = [1, 2, 2.5, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000].find(n => n * bytes >= least && (unit || n !== 2.5));
  return [round * bytes, bytes, UNITS[unit]];
}
function deltaText(n) { return n > 0 ? "+" + bytesText(n) : n < 0 ? "\u2212" + bytesText(-n) : "0 B"; }
function exactText(n) { return String(n).replace(/\B(?=(\d{3})+$)/g, ","); }
function shareText(part, all) { return all ? (100 * part / all).toFixed(1) + " %" : ""; }

// make("td.num", text or children, ...)
function make(what, ...inside) {
  const [tag, ...classes] = what.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  for (const part of inside)
    if (part !== null && part !== undefined && part !== "")
      element.append(part instanceof Node ? part : String(part));
  return element;
}
function byId(id) { return document.getElementById(id); }
function colorOf(category) { return "var(--c" + category + ")"; }
function swatch(category) {
  const box = make("span.swatch");
  box.style.background = colorOf(category);
  return box;
}
// "relu of layer1.0.relu, line 25 in BasicBlock.forward"; "" where it is not known.
function placeText(at) {
  return [[at.op, at.module && "of " + at.module].filter(Boolean).join(" "), lineText(at)].filter(Boolean).join(", ");
}
function lineText(at) { return [at.line && "line " + at.line, at.function && "in " + at.function].filter(Boolean).join(" "); }
function stepText(step) { return step < 0 ? "setup" : "step " + step; }
function categoryName(i) { return DATA.category_names[i]; }
function style(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

// The colours of the theme, for the canvas; read again when the theme changes.
const THEME = { categories: [] };
function themeRead() {
  THEME.categories = DATA.category_names.map((name, i) => style("--c" + i));
  for (const name of ["ink", "soft", "faint", "rule", "card", "accent", "line", "chip", "bad"]) THEME[name] = style("--" + name);
  THEME.isDark = document.documentElement.dataset.theme === "dark";
}
