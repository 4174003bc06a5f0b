"use strict";

// The page of a server: conversations with its model, and a look at its engine. Nothing but this
// server is asked for anything, and what models write is never taken for HTML. page.cpp joins the
// files to one script; here are elements, icons, and numbers as text.

/// Attributes whose names begin with "on" are listeners; `null` and `false` are left out.
function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(key, value === true ? "" : value);
  node.append(...children.filter(child => child !== null && child !== undefined && child !== false));
  return node;
}

function shape(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const byId = id => document.getElementById(id);

/// Strokes on a square of 20 units.
const iconPaths = {
  menu: "M3 5h14M3 10h14M3 15h14",
  plus: "M10 4v12M4 10h12",
  close: "M5 5l10 10M15 5L5 15",
  copy: "M7 7h9v9H7zM13 7V4H4v9h3",
  done: "M4 10.5l4 4 8-9",
  edit: "M4 16l1-4 8.5-8.5 3 3L8 15zM11.5 5.5l3 3",
  remove: "M4 6h12M8 6V4h4v2M6 6l.7 10h6.6L14 6",
  again: "M15.5 7A6 6 0 1 0 16 11M16 3v4.5h-4.5",
  more: "M3.5 5l6.5 5-6.5 5zM10 5l6.5 5-6.5 5z",
  send: "M10 16V4M5 9l5-5 5 5",
  stop: "M6 6h8v8H6z",
  down: "M10 4v12M5 11l5 5 5-5",
  settings: "M3 6h8M15 6h2M3 14h2M9 14h8M11 4v4h4V4zM5 12v4h4v-4z",
  auto: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 3v14M10 6h5.5M10 9h6.8M10 12h6.6M10 15h4.5",
  light: "M10 7a3 3 0 1 0 0 6 3 3 0 0 0 0-6M10 2v2M10 16v2M2 10h2M16 10h2M4.3 4.3l1.4 1.4M14.3 14.3l1.4 1.4M4.3 15.7l1.4-1.4M14.3 5.7l1.4-1.4",
  dark: "M16 11.5A6.5 6.5 0 0 1 8.5 4 6.5 6.5 0 1 0 16 11.5z",
  undo: "M4 8h8a4 4 0 0 1 0 8H8M7.5 4.5L4 8l3.5 3.5",
};

function icon(name) {
  return shape("svg", { viewBox: "0 0 20 20", class: `icon ${name}`, "aria-hidden": "true" }, shape("path", { d: iconPaths[name] }));
}

/// A button that shows an icon alone says its name to pointers and screen readers.
function iconButton(name, label, onclick, attributes = {}) {
  return element("button", { type: "button", class: "bare", "aria-label": label, title: label, onclick, ...attributes }, icon(name));
}

function setIcon(button, name, label) {
  button.replaceChildren(icon(name));
  button.title = label;
  button.setAttribute("aria-label", label);
}

/// Screen readers hear it; nothing is seen.
function announce(text) { byId("announcer").textContent = text; }

let toastTimer = 0;

/// A line at the bottom that goes away by itself, with one thing to do.
function toast(text, action = null, act = null) {
  const box = byId("toast");
  box.replaceChildren(text);
  if (action) box.append(element("button", { type: "button", onclick: () => { box.hidden = true; act(); } }, action));
  box.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { box.hidden = true; }, action ? 8000 : 4000);
}

async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Browsers lend the clipboard to secure origins only, which a server in the local network is not.
    const area = element("textarea", { class: "unseen" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  const before = [button.firstChild, button.title];
  setIcon(button, "done", "Copied");
  setTimeout(() => { button.replaceChildren(before[0]); button.title = before[1]; button.setAttribute("aria-label", before[1]); }, 1200);
}

function growWithText(area) {
  area.style.height = "auto";
  area.style.height = area.scrollHeight + 2 + "px";
}

const wholeFormat = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const wholeText = value => wholeFormat.format(value);
const rateText = value => value >= 100 ? wholeText(value) : value.toFixed(1);
const shareText = share => `${Math.round(100 * share)} %`;

function timeText(seconds) {
  if (seconds < 1e-3) return `${rateText(seconds * 1e6)} µs`;
  if (seconds < 1) return `${rateText(seconds * 1e3)} ms`;
  return seconds < 60 ? `${seconds.toFixed(seconds < 10 ? 2 : 1)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

const countText = (count, noun) => `${wholeText(count)} ${noun}${count === 1 ? "" : "s"}`;
