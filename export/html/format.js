// export/html/format.js - figures as text, and elements of the page. Texts of the trace become text nodes only.
"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

// As the program itself prints bytes: one decimal from KiB on.
function bytesText(n) {
  let unit = 0, value = Math.abs(n);
  while (value >= 1024 && unit < UNITS.length - 1) { value /= 1024; unit++; }
  if (unit && value >= 1023.95 && unit < UNITS.length - 1) { value /= 1024; unit++; }
  return (n < 0 ? "-" : "") + (unit ? value.toFixed(1) : value) + " " + UNITS[unit];
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
// "line 25 in BasicBlock.forward"; "" where it is not known.
function placeText(at) {
  const parts = [];
  if (at.op) parts.push(at.op);
  if (at.module) parts.push("of " + at.module);
  if (at.line) parts.push("line " + at.line);
  if (at.function) parts.push("in " + at.function);
  return parts.join(" ");
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
