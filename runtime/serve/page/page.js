"use strict";

// The page of a server: conversations with its model, and a look at its engine. Nothing but this
// server is asked for anything, and what models write is never taken for HTML.

// ---------------------------------------------------------------- elements

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

// ----------------------------------------------------------------- numbers

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

// ------------------------------------------------------------------ server

/// What went wrong with a request. `kind`: "unreachable" (nothing answers), "key" (a key is
/// missing or wrong), "refused" (the server says why), "failed" (it says why in the
/// middle of an answer), "broken" (the answer ends early).
class Fault extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

/// localStorage, where browsers allow it. A page without still works until it is closed.
const storage = (() => {
  try {
    localStorage.setItem("baton.try", "");
    localStorage.removeItem("baton.try");
    return localStorage;
  } catch {
    return null;
  }
})();

/// Whether there was room.
function store(key, value) {
  try {
    storage?.setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

function parseOr(text, otherwise) {
  try {
    return JSON.parse(text) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/// A fault with the words of the server's answer.
async function faultOf(response) {
  if (response.status === 401) return new Fault("key", "The server wants a key.");
  const text = await response.text().catch(() => "");
  const message = parseOr(text, {}).error?.message;
  return new Fault("refused", message ? String(message) : `The server answers ${response.status} ${response.statusText}.`);
}

/// The answer of the server; with a body, a POST. Throws Fault, or what `signal` throws.
async function ask(path, body = null, signal = null) {
  const headers = {};
  const key = storage?.getItem("baton.key");
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal, cache: "no-store" });
  } catch (failure) {
    if (failure.name === "AbortError") throw failure;
    serverState.lost();
    throw new Fault("unreachable", `Nothing answers at ${location.host}. The server may have ended.`);
  }
  serverState.found();
  if (response.ok) return response;
  const fault = await faultOf(response);
  if (fault.kind === "key") serverState.askForKey();
  throw fault;
}

/// The objects of a stream of server-sent events. Throws Fault if it has no end.
async function* eventsOf(response) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (failure) {
      if (failure.name === "AbortError") throw failure;
      serverState.lost();
      throw new Fault("broken", "The connection to the server broke off.");
    }
    if (part.done) throw new Fault("broken", "The server ended the answer early.");
    rest += decoder.decode(part.value, { stream: true });
    const lines = rest.split(/\r?\n/);
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data:")) continue;
      const data = line.slice(5).trim();
      if (data === "[DONE]") return;
      const event = parseOr(data, null);
      if (event === null) throw new Fault("broken", "The server's answer cannot be read.");
      if (event.error) throw new Fault("failed", String(event.error.message ?? "The server failed."));
      yield event;
    }
  }
}

/// Whether the server is there, and what it serves.
const serverState = {
  isLost: false,
  model: null,
  retryTimer: 0,
  /// Called with the model once it is known, and each time that a lost server is back.
  onFound: [],

  lost() {
    if (this.isLost) return;
    this.isLost = true;
    this.showStatus();
    this.retryLater();
  },

  found() {
    if (!this.isLost) return;
    this.isLost = false;
    clearTimeout(this.retryTimer);
    this.showStatus();
    this.greet();
  },

  retryLater() {
    clearTimeout(this.retryTimer);
    this.retryTimer = setTimeout(() => this.retry(), 3000);
  },

  async retry() {
    try {
      await ask("/health");
    } catch {
      if (this.isLost) this.retryLater();
    }
  },

  async greet() {
    try {
      const list = await (await ask("/v1/models")).json();
      this.model = list.data[0];
    } catch {
      return;
    }
    this.showStatus();
    for (const tell of this.onFound) tell(this.model);
  },

  showStatus() {
    const banner = byId("banner");
    banner.hidden = !this.isLost;
    if (this.isLost) {
      banner.replaceChildren(
        element("span", {}, element("b", {}, "The server does not answer. "),
          `Nothing is lost: what you write stays here. Trying ${location.host} again every 3 seconds.`),
        element("button", { type: "button", onclick: () => this.retry() }, "Retry now"));
    }
    const status = byId("status");
    status.classList.toggle("lost", this.isLost);
    status.classList.toggle("ready", !this.isLost && this.model !== null);
    byId("model").textContent = this.model?.id ?? (this.isLost ? "no server" : "connecting…");
    byId("facts").textContent = this.isLost ? "no connection" : this.model
      ? [this.model.meta?.architecture, `${wholeText(this.model.max_model_len)} positions`].filter(Boolean).join(" · ") : "";
    document.title = this.model ? `${this.model.id} – Baton` : "Baton";
  },

  askForKey() {
    const dialog = byId("key-dialog");
    if (dialog.open) return;
    byId("key-fault").hidden = !storage?.getItem("baton.key");
    dialog.showModal();
  },
};

// ---------------------------------------------------------------- Markdown
//
// Of what models write. Text becomes text nodes and nothing else, so that no answer can do
// more than be read; addresses that are not of the web stay text.

/// Lists in quotes in lists: what is deeper is shown as it was written.
const deepestBlock = 12;
const deepestEmphasis = 24;

const isBlank = line => line.trim() === "";
const fenceOf = line => /^ {0,3}(`{3,}|~{3,})([^`]*)$/.exec(line);
const headingOf = line => /^ {0,3}(#{1,6})(?=\s|$)/.exec(line);
const markerOf = line => /^( *)([-*+]|\d{1,9}[.)])(?: +|$)/.exec(line);
const isRule = line => /^ {0,3}([-*_])( *\1){2,} *$/.test(line);
const isQuote = line => /^ {0,3}>/.test(line);
const isTableRule = line => line.includes("-") && line.includes("|") && /^[\s|:-]+$/.test(line);

/// Where the line at `i` begins a block that ends a paragraph.
function beginsBlock(lines, i) {
  const line = lines[i];
  if (fenceOf(line) || headingOf(line) || isRule(line) || isQuote(line)) return true;
  const marker = markerOf(line);
  // A year at a line's begin is no list: "1." only, as CommonMark has it.
  if (marker && /^([-*+]|1[.)])$/.test(marker[2]) && line.length > marker[0].length) return true;
  return line.includes("|") && i + 1 < lines.length && isTableRule(lines[i + 1]);
}

/// Cuts lines into blocks: [first line, behind the last line, function that draws it].
function* blocksOf(lines, depth) {
  for (let i = 0; i < lines.length;) {
    const begin = i, line = lines[i];
    let found;
    if (isBlank(line)) {
      ++i;
      continue;
    } else if ((found = fenceOf(line))) {
      const mark = found[1], language = found[2].trim().split(/\s/)[0];
      const indent = line.indexOf(mark[0]);
      const closing = new RegExp(`^ {0,3}\\${mark[0]}{${mark.length},} *$`);
      for (++i; i < lines.length && !closing.test(lines[i]); ++i);
      const code = lines.slice(begin + 1, i).map(own => own.slice(Math.min(indent, own.length - own.trimStart().length)));
      if (i < lines.length) ++i;
      yield [begin, i, () => codeBlock(language, code.join("\n"))];
    } else if ((found = headingOf(line))) {
      ++i;
      const level = found[1].length;
      const text = line.slice(found[0].length).trim().replace(/(^|\s)#+$/, "");
      // The page has headings of its own above them.
      yield [begin, i, () => element(`h${Math.min(level + 2, 6)}`, { class: `level${level}` }, ...inlineNodes(text))];
    } else if (isRule(line)) {
      ++i;
      yield [begin, i, () => element("hr")];
    } else if (isQuote(line) && depth < deepestBlock) {
      while (i < lines.length && isQuote(lines[i])) ++i;
      const inner = lines.slice(begin, i).map(own => own.replace(/^ {0,3}> ?/, ""));
      yield [begin, i, () => element("blockquote", {}, ...drawBlocks(inner, depth + 1))];
    } else if (/^ *(\$\$|\\\[)/.test(line)) {
      const end = line.trim().startsWith("$$") ? "$$" : "\\]";
      // The first line may have both ends.
      if (!line.trim().slice(2).includes(end))
        for (++i; i < lines.length && !lines[i].includes(end); ++i);
      i = Math.min(i + 1, lines.length);
      yield [begin, i, () => element("div", { class: "formula" }, lines.slice(begin, i).join("\n").replace(/\$\$|\\[[\]]/g, "").trim())];
    } else if (line.includes("|") && i + 1 < lines.length && isTableRule(lines[i + 1])) {
      for (i += 2; i < lines.length && !isBlank(lines[i]) && lines[i].includes("|"); ++i);
      yield [begin, i, () => table(lines.slice(begin, i))];
    } else if ((found = markerOf(line)) && depth < deepestBlock) {
      const items = [];
      i = takeItems(lines, i, items);
      yield [begin, i, () => list(found[2], items, depth)];
    } else {
      for (++i; i < lines.length && !isBlank(lines[i]) && !beginsBlock(lines, i); ++i);
      yield [begin, i, () => element("p", {}, ...inlineNodes(lines.slice(begin, i).map(own => own.trim()).join("\n")))];
    }
  }
}

/// Adds the lines of each item of the list at `i`; returns where it ends.
function takeItems(lines, i, items) {
  const first = markerOf(lines[i]);
  const isOrdered = /\d/.test(first[2]);
  const isOwn = marker => marker && marker[1].length <= first[1].length + 1 && /\d/.test(marker[2]) === isOrdered;
  while (i < lines.length) {
    const marker = markerOf(lines[i]);
    if (!isOwn(marker) || isRule(lines[i])) break;
    // Four spaces or more behind a marker are the item's own.
    const width = Math.min(marker[0].length, marker[1].length + marker[2].length + 4);
    const item = [lines[i].slice(width)];
    let blank = false;
    for (++i; i < lines.length; ++i) {
      const line = lines[i];
      const indent = line.length - line.trimStart().length;
      if (isBlank(line)) {
        blank = true;
        item.push("");
        continue;
      }
      if (indent > first[1].length + 1 || indent >= width) item.push(line.slice(Math.min(indent, width)));
      // A paragraph goes on at the margin, too.
      else if (!blank && !markerOf(line) && !beginsBlock(lines, i)) item.push(line.trim());
      else break;
      blank = false;
    }
    items.push(item);
  }
  return i;
}

function list(mark, items, depth) {
  const isOrdered = /\d/.test(mark);
  const node = element(isOrdered ? "ol" : "ul", isOrdered && parseInt(mark, 10) !== 1 ? { start: parseInt(mark, 10) } : {});
  for (const lines of items) {
    const task = /^\[([ xX])\] /.exec(lines[0]);
    if (task) lines[0] = lines[0].slice(4);
    const parts = drawBlocks(lines, depth + 1);
    if (task) parts.unshift(element("input", { type: "checkbox", disabled: true, checked: task[1] !== " ", "aria-label": "task" }));
    node.append(element("li", task ? { class: "task" } : {}, ...parts));
  }
  return node;
}

function cellsOf(line) {
  const cells = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "").split(/(?<!\\)\|/);
  return cells.map(cell => cell.trim().replaceAll("\\|", "|"));
}

function table(lines) {
  const aligned = cellsOf(lines[1]).map(cell => cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "right") : "left");
  const row = (line, name) => element("tr", {}, ...cellsOf(line).slice(0, aligned.length).map((cell, i) =>
    element(name, { class: aligned[i] }, ...inlineNodes(cell))));
  return element("div", { class: "scroll" }, element("table", {}, element("thead", {}, row(lines[0], "th")),
    element("tbody", {}, ...lines.slice(2).map(line => row(line, "td")))));
}

function codeBlock(language, text) {
  const copy = iconButton("copy", "Copy code", () => copyText(text, copy));
  return element("div", { class: "code" }, element("div", { class: "code-head" }, element("span", {}, language || "text"), copy),
    element("pre", { tabindex: "0" }, element("code", {}, ...codeNodes(language, text))));
}

function drawBlocks(lines, depth) {
  return [...blocksOf(lines, depth)].map(([, , draw]) => draw());
}

const codeWords = "abstract and as async await bool break case catch char class const constexpr continue def default del do double elif else " +
  "enum except export extends false False final finally float fn for from func function if impl import in int interface is lambda let " +
  "long match mod mut namespace new None nil not null operator or package pass private protected pub public raise return self short " +
  "signed sizeof static string struct super switch template this throw trait true True try type typedef typename union unsigned use " +
  "using var virtual void where while with yield SELECT FROM WHERE INSERT UPDATE DELETE JOIN GROUP ORDER BY CREATE TABLE";
const codeComments = [
  [/^(py|python|sh|bash|shell|zsh|console|rb|ruby|ya?ml|toml|make|makefile|cmake|dockerfile|r|perl|ini|conf)$/i, /(?<=^|\s)#.*/],
  [/^(sql|lua|haskell|hs|ada)$/i, /--.*/],
  [/^(html|xml|svg)$/i, /<!-{2}[^]*?(?:-->|(?![^]))/],
  [/./, /\/\/.*|\/\*[^]*?(?:\*\/|(?![^]))/],
];

/// Comments, strings, numbers and words that many languages share: enough to find one's way.
function codePattern(language) {
  const [, comment] = codeComments.find(([names]) => names.test(language));
  return new RegExp(`(?<comment>${comment.source})` +
    "|(?<string>\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])*'|`(?:\\\\.|[^`\\\\])*`)" +
    "|(?<number>\\b\\d[\\w.]*\\b)" + `|(?<word>\\b(?:${codeWords.replaceAll(" ", "|")})\\b)`, "gm");
}

function codeNodes(language, text) {
  // Beyond that, colours take longer than they help.
  if (/^(text|txt|plain|plaintext|markdown|md|)$/i.test(language) || text.length > 50000) return [text];
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(codePattern(language))) {
    const [kind] = Object.entries(match.groups).find(([, value]) => value !== undefined);
    nodes.push(text.slice(end, match.index), element("span", { class: `code-${kind}` }, match[0]));
    end = match.index + match[0].length;
  }
  nodes.push(text.slice(end));
  return nodes;
}

/// The address, if it is one that a link may lead to.
function webAddress(text) {
  return /^(https?:\/\/|mailto:)[^\s]+$/i.test(text) ? text : null;
}

function link(address, ...children) {
  return element("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, ...children);
}

/// "[text](address)" at `i`: the text, the address, and where it ends. Windows bound the search, so
/// that brackets without end cost no more than their number.
function linkAt(text, i) {
  let depth = 0, end = i;
  for (const last = Math.min(text.length, i + 1000); end < last; ++end) {
    if (text[end] === "\\") ++end;
    else if (text[end] === "[" && ++depth > 8) return null;
    else if (text[end] === "]" && --depth === 0) break;
  }
  if (text[end] !== "]" || text[end + 1] !== "(") return null;
  const label = text.slice(i + 1, end);
  const begin = end + 2;
  depth = 1;
  let close = begin;
  for (const last = Math.min(text.length, begin + 2000); close < last; ++close) {
    if (text[close] === "(") ++depth;
    else if (text[close] === ")" && --depth === 0) break;
  }
  if (text[close] !== ")") return null;
  const [address] = text.slice(begin, close).trim().split(/\s+["']/);
  return { label, address: address.replace(/^<|>$/g, ""), end: close + 1 };
}

/// Text with emphasis, code, links and line breaks. An opening mark is a frame on a stack until
/// its closing one comes; if none does, it is text.
function inlineNodes(text, isLabel = false) {
  const frames = [{ children: [] }];
  const top = () => frames.at(-1).children;
  const say = part => {
    const children = top();
    if (typeof children.at(-1) === "string") children.push(children.pop() + part);
    else children.push(part);
  };
  const forget = frame => {
    say(frame.mark);
    for (const child of frame.children)
      if (typeof child === "string") say(child);
      else top().push(child);
  };
  const open = mark => {
    if (frames.length > deepestEmphasis) say(mark);
    else frames.push({ mark, children: [] });
  };
  /// Closes the nearest frame that fits; returns how many letters of the mark are used up.
  const close = (letter, count) => {
    for (let i = frames.length - 1; i > 0; --i) {
      const { mark } = frames[i];
      if (mark[0] !== letter || mark.length > count) continue;
      while (frames.length - 1 > i) forget(frames.pop());
      const { children } = frames.pop();
      top().push(element(letter === "~" ? "del" : mark.length === 2 ? "strong" : "em", {}, ...children));
      return mark.length;
    }
    return 0;
  };
  /// Runs of backticks that have no end, which nobody has to look for again.
  const endless = new Set();

  const isWord = letter => letter !== undefined && /[\p{L}\p{N}]/u.test(letter);
  const isSpace = letter => letter === undefined || /\s/.test(letter);

  for (let i = 0; i < text.length;) {
    const letter = text[i];
    if (letter === "\\" && /[!-/:-@[-`{-~]/.test(text[i + 1] ?? "")) {
      if (text[i + 1] === "(") {
        const found = /^\\\(([^]*?)\\\)/.exec(text.slice(i, i + 1000));
        if (found) {
          top().push(element("span", { class: "formula" }, found[1].trim()));
          i += found[0].length;
          continue;
        }
      }
      say(text[i + 1]);
      i += 2;
    } else if (letter === "`") {
      let count = 1;
      while (text[i + count] === "`") ++count;
      const mark = "`".repeat(count);
      let end = endless.has(count) ? -1 : text.indexOf(mark, i + count);
      while (end > 0 && text[end + count] === "`") {
        while (text[end] === "`") ++end;
        end = text.indexOf(mark, end);
      }
      if (end < 0) {
        endless.add(count);
        say(mark);
        i += count;
      } else {
        top().push(element("code", {}, text.slice(i + count, end).replaceAll("\n", " ").replace(/^ (.*[^ ].*) $/, "$1")));
        i = end + count;
      }
    } else if (!isLabel && (letter === "[" || (letter === "!" && text[i + 1] === "["))) {
      const found = linkAt(text, letter === "!" ? i + 1 : i);
      const address = found && webAddress(found.address);
      if (address) {
        // A picture would be fetched from elsewhere: its link is there to follow.
        const label = inlineNodes(found.label || address, true);
        top().push(link(address, ...label));
        i = found.end;
      } else {
        say(letter);
        ++i;
      }
    } else if (letter === "<") {
      const found = /^<(?:br *\/?|(https?:\/\/[^\s<>]{1,2000}))>/i.exec(text.slice(i, i + 2020));
      if (!found) say("<");
      else top().push(found[1] ? link(found[1], found[1]) : element("br"));
      i += found ? found[0].length : 1;
    } else if (!isLabel && letter === "h" && !isWord(text[i - 1]) && /^https?:\/\/[^\s]/.test(text.slice(i, i + 10))) {
      let address = /^[^\s<>"`]{1,2000}/.exec(text.slice(i, i + 2000))[0].replace(/[.,;:!?'*_]+$/, "");
      // "(see https://example.org)" and "https://example.org/a_(b)"
      while (address.endsWith(")") && address.split(")").length > address.split("(").length) address = address.slice(0, -1);
      top().push(link(address, address));
      i += address.length;
    } else if (letter === "*" || letter === "_" || (letter === "~" && text[i + 1] === "~")) {
      let count = 1;
      while (text[i + count] === letter) ++count;
      const before = text[i - 1], behind = text[i + count];
      const canOpen = count <= 3 && !isSpace(behind) && (letter !== "_" || !isWord(before));
      const canClose = !isSpace(before) && (letter !== "_" || !isWord(behind));
      i += count;
      if (canClose && (letter !== "~" || count === 2))
        for (let used; count > 0 && (used = close(letter, count)) > 0;) count -= used;
      if (count > 0 && canOpen && (letter !== "~" || count === 2)) {
        if (count >= 2) open(letter.repeat(2));
        if (count !== 2) open(letter);
      } else {
        say(letter.repeat(count));
      }
    } else if (letter === "\n") {
      top().push(element("br"));
      ++i;
    } else {
      let end = i + 1;
      while (end < text.length && !/[\\`[!<h*_~\n]/.test(text[end])) ++end;
      say(text.slice(i, end));
      i = end;
    }
  }
  while (frames.length > 1) forget(frames.pop());
  return frames[0].children;
}

/// Shows a text that grows: only blocks that changed are drawn again, so that a selection in what
/// is finished stays, and a long answer costs no more than its end.
class MarkdownView {
  constructor(node) {
    this.node = node;
    this.sources = [];
  }

  update(text) {
    let fence = null;
    const lines = text.replaceAll("\r", "").split("\n").map(line => {
      const mark = fenceOf(line)?.[1][0];
      if (mark && (!fence || mark === fence)) fence = fence ? null : mark;
      // Tabs of code are the code's own.
      return fence ? line : line.replace(/^[ \t]+/, space => space.replaceAll("\t", "    "));
    });
    const blocks = [...blocksOf(lines, 0)];
    blocks.forEach(([begin, end, draw], index) => {
      const source = lines.slice(begin, end).join("\n");
      if (this.sources[index] === source) return;
      const drawn = draw();
      if (index < this.node.children.length) this.node.children[index].replaceWith(drawn);
      else this.node.append(drawn);
      this.sources[index] = source;
    });
    this.sources.length = blocks.length;
    while (this.node.children.length > blocks.length) this.node.lastChild.remove();
  }
}

// ----------------------------------------------------------- conversations

// A conversation: {id, kind: "chat" | "text", title, created, changed, revision, settings, messages, text}.
// A message: {id, role, content, reasoning, calls: [{id, name, arguments, result}], stats, finish, fault}.
// Each has a key of its own in localStorage, so that tabs which write different ones do not meet.

const conversationKey = "baton.conversation.";
const newId = () => Date.now().toString(36) + Math.random().toString(36).slice(2, 8);

const conversations = {
  /// What this tab holds: shown, or still being written by the model. By id.
  open: new Map(),

  create(kind, settings) {
    const now = Date.now();
    const conversation = { id: newId(), kind, title: "", created: now, changed: now, revision: "", settings, messages: [], text: "" };
    this.open.set(conversation.id, conversation);
    return conversation;
  },

  read(id) {
    const stored = parseOr(storage?.getItem(conversationKey + id), null);
    return stored && Array.isArray(stored.messages) ? stored : null;
  },

  /// As this tab has it, or as it is stored; null if there is none.
  load(id) {
    if (!this.open.has(id)) {
      const stored = this.read(id);
      if (!stored) return null;
      for (const message of stored.messages) {
        if (!message.isRunning) continue;
        // Another tab's answer is saved every second; a page that broke down writes no more.
        message.finish = Date.now() - stored.changed < 4000 ? "elsewhere" : "stopped";
        delete message.isRunning;
      }
      this.open.set(id, stored);
    }
    return this.open.get(id);
  },

  /// Latest first.
  list() {
    const all = new Map();
    for (let i = 0; i < (storage?.length ?? 0); ++i) {
      const key = storage.key(i);
      if (!key.startsWith(conversationKey)) continue;
      const stored = this.read(key.slice(conversationKey.length));
      if (stored) all.set(stored.id, stored);
    }
    for (const [id, own] of this.open) if (!storage && !isEmpty(own)) all.set(id, own);
    return [...all.values()].sort((a, b) => b.changed - a.changed);
  },

  /// Writes what this tab has. If another one wrote since, neither is lost: ours gets a new id.
  save(conversation) {
    const stored = this.read(conversation.id);
    if (stored && stored.revision !== conversation.revision) {
      this.open.delete(conversation.id);
      conversation.id = newId();
      conversation.title = `${conversation.title} (2)`;
      this.open.set(conversation.id, conversation);
      this.onMoved(conversation);
    }
    conversation.revision = newId();
    conversation.changed = Date.now();
    if (!store(conversationKey + conversation.id, JSON.stringify(conversation)))
      toast("The browser's storage is full: delete conversations to keep this one.");
  },

  remove(id) {
    this.open.delete(id);
    storage?.removeItem(conversationKey + id);
  },

  /// Set by the page: called with a conversation that has a new id.
  onMoved() {},
};

function isEmpty(conversation) {
  return conversation.messages.length === 0 && conversation.text === "";
}

/// The first words of what the user wrote.
function titleOf(conversation) {
  const first = conversation.messages.find(message => message.role === "user")?.content ?? conversation.text;
  const words = first.trim().replace(/\s+/g, " ");
  return words.length > 60 ? words.slice(0, 59) + "…" : words;
}

// What is written but not sent belongs to its tab, and survives a reload.
const drafts = {
  key: id => `baton.draft.${id}`,
  read(id) {
    try {
      return sessionStorage.getItem(this.key(id)) ?? "";
    } catch {
      return "";
    }
  },
  write(id, text) {
    try {
      if (text) sessionStorage.setItem(this.key(id), text);
      else sessionStorage.removeItem(this.key(id));
    } catch { /* It is in the field still. */ }
  },
};

// ---------------------------------------------------------------- settings

const samplingFields = [
  { key: "temperature", label: "Temperature", min: 0, step: 0.1, hint: "0 always takes the likeliest token; above 1 answers vary more" },
  { key: "top_p", label: "Top p", min: 0, max: 1, step: 0.05, hint: "Only the likeliest tokens that have this probability together" },
  { key: "top_k", label: "Top k", min: 0, step: 1, hint: "Only so many of the likeliest tokens; 0 is all" },
  { key: "min_p", label: "Min p", min: 0, max: 1, step: 0.01, hint: "Only tokens at least this share as likely as the likeliest" },
  { key: "max_tokens", label: "Max tokens", min: 1, step: 1, hint: "Where an answer ends at the latest" },
  { key: "seed", label: "Seed", min: 0, step: 1, hint: "The same seed draws the same tokens" },
  { key: "repetition_penalty", label: "Repetition penalty", min: 0, step: 0.05, hint: "Above 1 makes what was said less likely" },
  { key: "presence_penalty", label: "Presence penalty", step: 0.1, hint: "Subtracted once from a token's logit if it was said" },
  { key: "frequency_penalty", label: "Frequency penalty", step: 0.1, hint: "Subtracted for each time that it was said" },
];

/// OpenAI's default of /v1/completions, 16, is over before it begins.
const usualTextTokens = 256;

/// Settings: {system, more, and a number for each of samplingFields that is set}.
function latestSettings() {
  return parseOr(storage?.getItem("baton.settings"), {});
}

/// What a request says of them. Throws Fault if `more` is no JSON object.
function settingsOf(conversation) {
  const { settings } = conversation;
  const keys = conversation.kind === "text" ? { max_tokens: usualTextTokens } : {};
  for (const { key } of samplingFields) if (typeof settings[key] === "number") keys[key] = settings[key];
  if (!settings.more?.trim()) return keys;
  const more = parseOr(settings.more, null);
  if (more === null || typeof more !== "object" || Array.isArray(more))
    throw new Fault("refused", "More keys of the request (in the settings) are no JSON object.");
  return { ...keys, ...more };
}

/// The panel at the side: shows a conversation's settings, and keeps them for the next new one.
const settingsPanel = {
  conversation: null,

  build() {
    const box = byId("sampling");
    for (const { key, label, hint, ...limits } of samplingFields) {
      const input = element("input", { id: `set-${key}`, type: "number", inputmode: "decimal", ...limits, step: "any", placeholder: "default" });
      // Arrows take the step; what is typed may lie between.
      input.addEventListener("focus", () => { if (input.value === "") input.step = limits.step; });
      input.addEventListener("input", () => { input.step = "any"; this.change(); });
      box.append(element("label", { for: input.id, title: hint }, label), input);
    }
    byId("system").addEventListener("input", () => this.change());
    byId("more").addEventListener("input", () => this.change());
    byId("reset").addEventListener("click", () => {
      for (const { key } of samplingFields) byId(`set-${key}`).value = "";
      this.change();
    });
  },

  show(conversation) {
    this.conversation = conversation;
    const { settings } = conversation;
    byId("system").value = settings.system ?? "";
    byId("more").value = settings.more ?? "";
    for (const { key } of samplingFields) byId(`set-${key}`).value = settings[key] ?? "";
    byId("set-max_tokens").placeholder = conversation.kind === "text" ? String(usualTextTokens) : "default";
    byId("system-part").hidden = conversation.kind === "text";
    this.check();
  },

  change() {
    const settings = { system: byId("system").value, more: byId("more").value };
    for (const { key } of samplingFields) {
      const { value } = byId(`set-${key}`);
      if (value !== "") settings[key] = Number(value);
    }
    shell.catchUp(true);
    const { conversation } = this;
    conversation.settings = settings;
    // A system prompt is one conversation's; how tokens are drawn is a habit.
    store("baton.settings", JSON.stringify({ ...settings, system: "" }));
    if (!isEmpty(conversation)) conversations.save(conversation);
    this.check();
  },

  check() {
    const { settings } = this.conversation;
    const text = settings.more?.trim();
    const value = text ? parseOr(text, null) : {};
    byId("more-fault").hidden = value !== null && typeof value === "object" && !Array.isArray(value);
    const count = samplingFields.filter(({ key }) => settings[key] !== undefined).length + (settings.system ? 1 : 0) + (text ? 1 : 0);
    byId("settings-button").classList.toggle("set", count > 0);
  },
};

// ----------------------------------------------------------------- answers

/// Messages as the API takes them: those before `end`. A call's result is a message of its own there.
function requestMessages(conversation, end) {
  const messages = [];
  if (conversation.settings.system?.trim()) messages.push({ role: "system", content: conversation.settings.system });
  for (const message of conversation.messages.slice(0, end)) {
    if (message.role === "user") {
      messages.push({ role: "user", content: message.content });
      continue;
    }
    const calls = message.calls ?? [];
    // An answer that failed before it began is none.
    if (!message.content && calls.length === 0) continue;
    const own = { role: "assistant", content: message.content };
    if (message.reasoning) own.reasoning_content = message.reasoning;
    if (calls.length > 0)
      own.tool_calls = calls.map(call => ({ id: call.id, type: "function", function: { name: call.name, arguments: call.arguments } }));
    messages.push(own);
    for (const call of calls) messages.push({ role: "tool", tool_call_id: call.id, name: call.name, content: call.result ?? "" });
  }
  return messages;
}

/// Takes one change of a stream into a message.
function takeDelta(message, delta) {
  if (delta.reasoning_content) message.reasoning = (message.reasoning ?? "") + delta.reasoning_content;
  if (delta.content) message.content += delta.content;
  for (const part of delta.tool_calls ?? []) {
    message.calls ??= [];
    const call = message.calls[part.index ?? 0] ??= { id: "", name: "", arguments: "" };
    if (part.id) call.id = part.id;
    call.name += part.function?.name ?? "";
    call.arguments += part.function?.arguments ?? "";
  }
  return Boolean(delta.reasoning_content || delta.content || delta.tool_calls);
}

/// Tokens and times of an answer. Seconds; `tokens` are counted by the server once it is whole, and
/// are as many as changes came until then.
class Meter {
  constructor() {
    this.begin = performance.now();
    this.first = this.latest = null;
    this.changes = 0;
    this.usage = null;
  }

  take() {
    this.latest = performance.now();
    this.first ??= this.latest;
    ++this.changes;
  }

  stats() {
    if (this.first === null) return null;
    const tokens = this.usage?.completion_tokens ?? this.changes;
    const seconds = (this.latest - this.first) / 1000;
    return {
      tokens,
      isExact: this.usage !== null,
      first: (this.first - this.begin) / 1000,
      // The first token's time is the prompt's.
      rate: tokens > 1 && seconds > 0 ? (tokens - 1) / seconds : null,
      prompt: this.usage?.prompt_tokens ?? null,
      cached: this.usage?.prompt_tokens_details?.cached_tokens ?? null,
      total: this.usage?.total_tokens ?? null,
    };
  }
}

/// Answers that are being written, by their conversation's id. They go on while another one is shown.
const runs = {
  all: new Map(),
  /// Set by the page: called with a conversation when something of its answer came, and when one began or ended.
  onChange() {},
  onEdge() {},

  of(conversation) { return this.all.get(conversation); },
  stop(conversation) { this.all.get(conversation)?.abort(); },

  /// The page is about to be closed: what came of answers is kept.
  leave() {
    for (const conversation of this.all.keys()) {
      const message = conversation.messages.at(-1);
      if (message?.isRunning) {
        delete message.isRunning;
        message.finish = "stopped";
      }
      conversations.save(conversation);
    }
  },

  /// Streams `path` into `take(event)`, which says whether a token came; `show(stats)` follows.
  async stream(conversation, path, makeBody, take, finish) {
    if (this.all.has(conversation)) return;
    const controller = new AbortController();
    this.all.set(conversation, controller);
    this.onEdge(conversation);
    const meter = new Meter();
    const saving = setInterval(() => conversations.save(conversation), 1000);
    let fault = null, reason = null;
    try {
      const body = { model: serverState.model?.id, ...makeBody(), stream: true, stream_options: { include_usage: true } };
      const response = await ask(path, body, controller.signal);
      for await (const event of eventsOf(response)) {
        if (event.usage) meter.usage = event.usage;
        const choice = event.choices?.[0];
        if (!choice) continue;
        if (take(choice)) meter.take();
        reason = choice.finish_reason ?? reason;
        this.onChange(conversation, meter.stats());
      }
    } catch (failure) {
      if (failure.name === "AbortError") reason = "stopped";
      else fault = { kind: failure.kind ?? "broken", text: failure.message };
    }
    clearInterval(saving);
    this.all.delete(conversation);
    finish({ fault, reason, stats: meter.stats() });
    conversations.save(conversation);
    this.onEdge(conversation);
  },

  /// The answer to all messages of a conversation but the last one, which it becomes.
  answer(conversation) {
    const message = conversation.messages.at(-1);
    const isBegun = Boolean(message.content);
    const before = message.stats?.tokens ?? 0;
    for (const key of ["fault", "finish", ...isBegun ? [] : ["reasoning", "calls", "stats"]]) delete message[key];
    message.isRunning = true;
    return this.stream(conversation, "/v1/chat/completions",
      // A begun answer goes along, and is continued.
      () => ({ messages: requestMessages(conversation, isBegun ? undefined : -1), ...settingsOf(conversation) }),
      choice => takeDelta(message, choice.delta ?? {}),
      ({ fault, reason, stats }) => {
        delete message.isRunning;
        if (fault) message.fault = fault;
        if (reason) message.finish = reason;
        if (stats) message.stats = { ...stats, tokens: stats.tokens + (isBegun ? before : 0) };
      });
  },

  /// Continues a conversation's text.
  continueText(conversation) {
    conversation.before = conversation.text;
    delete conversation.fault;
    return this.stream(conversation, "/v1/completions",
      () => ({ prompt: conversation.before, ...settingsOf(conversation) }),
      choice => {
        conversation.text += choice.text ?? "";
        return Boolean(choice.text);
      },
      ({ fault, reason, stats }) => {
        if (fault) conversation.fault = fault;
        conversation.finish = reason;
        conversation.stats = stats;
      });
  },
};

// -------------------------------------------------------------------- chat

const finishTexts = {
  length: "Cut off: the most tokens, or the model's last position, were reached.",
  stopped: "Stopped.",
  elsewhere: "Another tab's answer, which comes here as it is saved.",
};

function statsText(stats) {
  const parts = [`${stats.isExact ? "" : "about "}${countText(stats.tokens, "token")}`];
  if (stats.rate !== null) parts.push(`${rateText(stats.rate)} tokens/s`);
  parts.push(`first after ${timeText(stats.first)}`);
  return parts.join(" · ");
}

function statsHint(stats) {
  if (stats.prompt === null) return "";
  return `${countText(stats.prompt, "token")} of prompt, ${wholeText(stats.cached ?? 0)} of them read from the prefix cache`;
}

function faultCard(fault, retry) {
  const names = { unreachable: "No connection", broken: "The answer broke off", key: "A key is needed", refused: "The server refused", failed: "The server failed" };
  return element("div", { class: "fault", role: "alert" },
    element("div", {}, element("b", {}, names[fault.kind] ?? "Failed"), element("p", {}, fault.text)),
    element("button", { type: "button", onclick: retry }, "Try again"));
}

/// One message on the page. update() shows what changed since.
class MessageView {
  constructor(message) {
    this.message = message;
    const isUser = message.role === "user";
    this.body = element("div", { class: isUser ? "bubble" : "markdown" });
    this.actions = element("div", { class: "actions" });
    this.node = element("article", { class: `message ${message.role}`, "aria-label": isUser ? "You" : "Answer" });
    if (isUser) {
      this.node.append(this.body, this.actions);
    } else {
      this.thoughts = element("div", { class: "thoughts" });
      this.thoughtsTitle = element("summary", {});
      this.reasoning = element("details", { class: "reasoning", hidden: true }, this.thoughtsTitle, this.thoughts);
      this.calls = element("div", { class: "calls" });
      this.end = element("div", { class: "end" });
      this.stats = element("span", { class: "stats" });
      this.node.append(this.reasoning, this.body, this.calls, this.end, element("footer", {}, this.actions, this.stats));
      this.markdown = new MarkdownView(this.body);
      this.callViews = [];
    }
    this.drawActions();
    this.update();
  }

  drawActions() {
    const { message } = this;
    const copy = iconButton("copy", "Copy", () => copyText(message.content, copy));
    const buttons = [copy, iconButton("edit", "Edit", () => this.edit())];
    if (message.role === "assistant")
      buttons.push(iconButton("again", "Answer again", () => chat.answerAgain(message)),
        iconButton("more", "Go on with this answer", () => chat.goOn(message), { "data-act": "more" }));
    buttons.push(iconButton("remove", "Delete", () => chat.removeMessage(message)));
    this.actions.replaceChildren(...buttons);
  }

  update(stats = this.message.stats) {
    const { message } = this;
    if (this.editor) return;
    if (message.role === "user") {
      this.body.textContent = message.content;
      return;
    }
    this.node.classList.toggle("running", Boolean(message.isRunning));
    this.node.classList.toggle("waiting", Boolean(message.isRunning) && !message.content && !message.reasoning && !message.calls);
    this.markdown.update(message.content);
    this.updateReasoning();
    this.updateCalls();
    const more = this.actions.querySelector("[data-act=more]");
    more.hidden = !message.content || message.finish === "stop" || Boolean(message.calls) || chat.conversation?.messages.at(-1) !== message;
    this.stats.textContent = stats ? statsText(stats) : "";
    this.stats.title = stats ? statsHint(stats) : "";
    const note = !message.isRunning && finishTexts[message.finish];
    this.end.replaceChildren(...[
      message.fault && faultCard(message.fault, () => chat.retry(message)),
      note && element("p", { class: "note" }, note),
    ].filter(Boolean));
  }

  updateReasoning() {
    const { reasoning, content, isRunning } = this.message;
    this.reasoning.hidden = !reasoning;
    if (!reasoning) return;
    const words = reasoning.trim().split(/\s+/).length;
    this.thoughtsTitle.textContent = isRunning && !content && !this.message.calls ? `Thinking… ${countText(words, "word")}` : `Thought in ${countText(words, "word")}`;
    this.thoughts.textContent = reasoning.trim();
  }

  updateCalls() {
    const calls = this.message.calls ?? [];
    while (this.callViews.length < calls.length) {
      const view = this.callView(calls[this.callViews.length]);
      this.callViews.push(view);
      this.calls.append(view.node);
    }
    calls.forEach((call, i) => {
      const { title, body } = this.callViews[i];
      title.textContent = call.name || "…";
      const value = parseOr(call.arguments, null);
      body.textContent = value === null ? call.arguments : JSON.stringify(value, null, 2);
    });
    if (calls.length > 0 && !this.message.isRunning && !this.send) {
      this.send = element("button", { type: "button", class: "primary", onclick: () => chat.sendResults(this.message) }, "Send results");
      this.calls.append(this.send);
    }
    if (this.send) this.send.hidden = Boolean(this.message.isRunning) || chat.conversation?.messages.at(-1) !== this.message;
    for (const { result } of this.callViews) result.disabled = Boolean(this.message.isRunning);
  }

  /// The model asks for a function's result; nobody but the user can give it here.
  callView(call) {
    const title = element("code", {}), body = element("code", {});
    const result = element("textarea", { rows: 2, placeholder: "What the function returns", "aria-label": "Result of the call" });
    result.value = call.result ?? "";
    result.addEventListener("input", () => {
      call.result = result.value;
      chat.saveSoon();
    });
    const node = element("div", { class: "call" }, element("div", { class: "call-head" }, "Call of ", title),
      element("pre", { tabindex: "0" }, body), result);
    return { node, title, body, result };
  }

  edit() {
    if (this.editor || runs.of(chat.conversation)) return;
    const { message } = this;
    const area = element("textarea", { "aria-label": "Edit the message" });
    area.value = message.content;
    const close = () => {
      this.editor.remove();
      this.editor = null;
      this.body.hidden = this.actions.hidden = false;
      this.update();
    };
    const save = () => {
      message.content = area.value;
      close();
      chat.changed();
    };
    const isUser = message.role === "user";
    const send = () => {
      const before = chat.conversation.messages.map(own => own === message ? { ...own } : own);
      save();
      chat.answerAfter(message, before);
    };
    const submit = isUser ? send : save;
    this.editor = element("div", { class: "editor" }, area, element("div", { class: "buttons" },
      isUser && element("button", { type: "button", class: "primary", onclick: send }, "Send"),
      element("button", { type: "button", class: isUser ? "" : "primary", onclick: save }, isUser ? "Save only" : "Save"),
      element("button", { type: "button", onclick: close }, "Cancel")));
    area.addEventListener("keydown", event => {
      if (event.key === "Escape") close();
      else if (event.key === "Enter" && !event.isComposing && (isUser ? !event.shiftKey : event.ctrlKey)) submit();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    area.addEventListener("input", () => growWithText(area));
    this.body.hidden = this.actions.hidden = true;
    this.body.before(this.editor);
    growWithText(area);
    area.focus();
  }
}

const suggestions = [
  ["Explain something", "Explain how a transformer produces the next token, in three short paragraphs."],
  ["Write code", "Write a Python function that merges overlapping intervals, with two examples."],
  ["Compare in a table", "Compare quicksort, mergesort and heapsort in a table: time, memory, stability."],
  ["Tell a story", "Tell a short story about a lighthouse keeper who receives an unexpected letter."],
];

/// The conversation that is shown.
const chat = {
  conversation: null,
  /// By message.
  views: new Map(),
  saveTimer: 0,
  frame: 0,

  build() {
    const input = byId("input");
    input.addEventListener("input", () => {
      growWithText(input);
      drafts.write(this.draftId(), input.value);
      this.showButtons();
    });
    input.addEventListener("keydown", event => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        this.send();
      } else if (event.key === "ArrowUp" && input.value === "") {
        const last = this.conversation.messages.findLast(message => message.role === "user");
        if (!last || runs.of(this.conversation)) return;
        event.preventDefault();
        this.views.get(last).edit();
      }
    });
    byId("composer").addEventListener("submit", event => {
      event.preventDefault();
      if (runs.of(this.conversation)) runs.stop(this.conversation);
      else this.send();
    });
    byId("scroll").addEventListener("scroll", () => { byId("to-end").hidden = this.isAtEnd(); }, { passive: true });
    byId("to-end").addEventListener("click", () => this.scrollToEnd());
  },

  /// A conversation without messages is not in the list yet, and any tab may have one.
  draftId() { return isEmpty(this.conversation) ? "new" : this.conversation.id; },

  show(conversation) {
    this.conversation = conversation;
    this.views.clear();
    byId("messages").replaceChildren(...conversation.messages.map(message => this.viewOf(message).node));
    const input = byId("input");
    const draft = drafts.read(this.draftId());
    // Writing the same would move the cursor.
    if (input.value !== draft) input.value = draft;
    this.showEmpty();
    this.showButtons();
    this.showContext();
    requestAnimationFrame(() => {
      growWithText(input);
      this.scrollToEnd();
    });
  },

  viewOf(message) {
    if (!this.views.has(message)) this.views.set(message, new MessageView(message));
    return this.views.get(message);
  },

  showEmpty() {
    const box = byId("welcome");
    box.hidden = this.conversation.messages.length > 0;
    if (box.hidden) return;
    box.replaceChildren(
      element("h1", {}, "What shall it be?"),
      element("p", {}, serverState.model ? `${serverState.model.id} answers, compiled by Baton into one program.` : "Waiting for the server."),
      element("div", { class: "suggestions" }, ...suggestions.map(([title, text]) =>
        element("button", { type: "button", onclick: () => this.suggest(text) }, element("b", {}, title), element("span", {}, text)))));
  },

  suggest(text) {
    const input = byId("input");
    input.value = text;
    input.dispatchEvent(new Event("input"));
    input.focus();
  },

  showButtons() {
    const isRunning = Boolean(runs.of(this.conversation));
    const button = byId("send");
    setIcon(button, isRunning ? "stop" : "send", isRunning ? "Stop (Esc)" : "Send (Enter)");
    button.classList.toggle("stop", isRunning);
    button.disabled = !isRunning && byId("input").value.trim() === "";
    byId("messages").classList.toggle("busy", isRunning);
  },

  /// How much of the model's positions the conversation takes.
  showContext() {
    const most = serverState.model?.max_model_len;
    const used = this.conversation.messages.findLast(message => message.stats?.total)?.stats.total;
    const box = byId("context");
    box.hidden = !most || !used;
    if (box.hidden) return;
    box.replaceChildren(element("span", { class: "meter" }, element("span", { style: `width: ${Math.min(100, 100 * used / most)}%` })),
      `${wholeText(used)} of ${wholeText(most)} positions`);
    box.classList.toggle("near", used > 0.85 * most);
  },

  isAtEnd() {
    const box = byId("scroll");
    return box.scrollHeight - box.scrollTop - box.clientHeight < 60;
  },

  scrollToEnd() {
    const box = byId("scroll");
    box.scrollTop = box.scrollHeight;
  },

  /// Once a frame, however many tokens come.
  showStream(conversation, stats) {
    if (conversation !== this.conversation) return;
    this.latestStats = stats;
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      // Who scrolled up reads there.
      const follow = this.isAtEnd();
      const message = this.conversation.messages.at(-1);
      if (message?.isRunning) this.views.get(message)?.update(this.latestStats);
      if (follow) this.scrollToEnd();
      byId("to-end").hidden = this.isAtEnd();
    });
  },

  /// An answer begins or ends.
  showEdge(conversation) {
    if (conversation !== this.conversation) return;
    const follow = this.isAtEnd();
    for (const view of this.views.values()) view.update();
    if (follow) this.scrollToEnd();
    this.showButtons();
    this.showContext();
    if (runs.of(conversation)) {
      announce("The model answers.");
      return;
    }
    const { content, fault } = conversation.messages.at(-1) ?? {};
    announce(fault ? fault.text : content ?? "");
  },

  /// What the user changed.
  changed() {
    const { conversation } = this;
    // Answers behind a message keep what they said; their title is the first question's.
    if (!conversation.isNamed) conversation.title = titleOf(conversation);
    conversations.save(conversation);
    this.showEmpty();
    shell.showList();
  },

  saveSoon() {
    const { conversation } = this;
    clearTimeout(this.saveTimer);
    this.saveTimer = setTimeout(() => {
      conversations.save(conversation);
      shell.showAddress();
    }, 300);
  },

  append(message) {
    this.conversation.messages.push(message);
    byId("messages").append(this.viewOf(message).node);
    return message;
  },

  send() {
    const input = byId("input");
    const content = input.value.trim();
    if (content === "" || runs.of(this.conversation)) return;
    drafts.write(this.draftId(), "");
    shell.catchUp();
    this.append({ id: newId(), role: "user", content });
    input.value = "";
    growWithText(input);
    this.startAnswer();
  },

  startAnswer() {
    this.append({ id: newId(), role: "assistant", content: "" });
    this.changed();
    shell.showAddress();
    this.run();
  },

  run() {
    runs.answer(this.conversation);
    this.scrollToEnd();
  },

  /// Leaves out what stands behind a message.
  cutBehind(message) {
    const { messages } = this.conversation;
    for (const gone of messages.splice(messages.indexOf(message) + 1)) {
      this.views.get(gone)?.node.remove();
      this.views.delete(gone);
    }
  },

  /// Answers a message, in place of what stands behind it; `before` is what "Undo" brings back.
  answerAfter(message, before) {
    const { conversation } = this;
    if (runs.of(conversation)) return;
    this.cutBehind(message);
    this.startAnswer();
    if (before.indexOf(message) !== before.length - 1)
      toast("What stood behind is replaced.", "Undo", () => this.restore(conversation, before));
  },

  answerAgain(message) {
    const { messages } = this.conversation;
    if (runs.of(this.conversation)) return;
    const question = messages[messages.indexOf(message) - 1];
    if (question) {
      this.answerAfter(question, messages.slice());
      return;
    }
    this.cutBehind(message);
    message.content = "";
    this.run();
  },

  goOn(message) {
    if (!runs.of(this.conversation) && this.conversation.messages.at(-1) === message) this.run();
  },

  /// A broken answer begins anew, as it may lack a part in the middle of a word.
  retry(message) {
    if (this.conversation.messages.at(-1) === message && !message.content) this.goOn(message);
    else this.answerAgain(message);
  },

  sendResults(message) {
    if (!runs.of(this.conversation) && this.conversation.messages.at(-1) === message) this.startAnswer();
  },

  removeMessage(message) {
    const { conversation } = this;
    if (runs.of(conversation)) return;
    const before = conversation.messages.slice();
    conversation.messages.splice(before.indexOf(message), 1);
    this.views.get(message).node.remove();
    this.views.delete(message);
    for (const view of this.views.values()) view.update();
    this.changed();
    toast("Message deleted.", "Undo", () => this.restore(conversation, before));
  },

  restore(conversation, messages) {
    runs.stop(conversation);
    conversation.messages = messages;
    conversations.save(conversation);
    if (this.conversation === conversation) this.show(conversation);
    shell.showList();
  },
};

// -------------------------------------------------------------------- text

/// For models without a chat template: a text that the model continues.
const textView = {
  conversation: null,
  frame: 0,

  build() {
    const area = byId("text-area");
    area.addEventListener("input", () => {
      const { conversation } = this;
      conversation.text = area.value;
      delete conversation.before;
      if (!conversation.isNamed) conversation.title = titleOf(conversation);
      chat.saveSoon();
      this.showState();
    });
    area.addEventListener("keydown", event => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.run();
    });
    byId("text-run").addEventListener("click", () => runs.of(this.conversation) ? runs.stop(this.conversation) : this.run());
    byId("text-undo").addEventListener("click", () => {
      const { conversation } = this;
      conversation.text = conversation.before;
      delete conversation.before;
      delete conversation.fault;
      conversations.save(conversation);
      this.show(conversation);
    });
  },

  show(conversation) {
    this.conversation = conversation;
    byId("text-area").value = conversation.text;
    this.showState();
  },

  run() {
    const { conversation } = this;
    if (runs.of(conversation) || conversation.text === "") return;
    runs.continueText(conversation);
    shell.showAddress();
  },

  showState(stats = this.conversation.stats) {
    const { conversation } = this;
    const isRunning = Boolean(runs.of(conversation));
    const area = byId("text-area");
    area.readOnly = isRunning;
    byId("text-run").replaceChildren(icon(isRunning ? "stop" : "send"), isRunning ? "Stop" : "Continue");
    byId("text-run").disabled = !isRunning && conversation.text === "";
    byId("text-undo").disabled = isRunning || conversation.before === undefined;
    byId("text-stats").textContent = stats ? statsText(stats) : "";
    byId("text-stats").title = stats ? statsHint(stats) : "";
    byId("text-fault").replaceChildren(...conversation.fault ? [faultCard(conversation.fault, () => this.run())] : []);
  },

  showStream(conversation, stats) {
    if (conversation !== this.conversation || this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const area = byId("text-area");
      const follow = area.scrollHeight - area.scrollTop - area.clientHeight < 60;
      area.value = this.conversation.text;
      if (follow) area.scrollTop = area.scrollHeight;
      this.showState(stats);
    });
  },

  showEdge(conversation) {
    if (conversation !== this.conversation) return;
    byId("text-area").value = conversation.text;
    this.showState();
    announce(runs.of(conversation) ? "The model continues the text." : "The model has stopped.");
    shell.showList();
  },
};

// ---------------------------------------------------------------- timeline

/// What a canvas can draw with: a colour of the style sheet as the theme has it now.
function colorOf(variable) {
  const probe = byId("probe");
  probe.style.color = `var(${variable})`;
  return getComputedStyle(probe).color;
}

const phaseColors = 10;
const mostZoom = 32;
/// Wider canvases stay blank in some browsers.
const mostPixels = 16000;

/// The tasks of the last steps, a lane for each worker. Pauses between steps are left out: a
/// server that waits for requests would be nothing but them.
const timeline = {
  data: null,
  /// Where steps lie: {step, left, width}, in pixels.
  columns: [],
  /// Phases keep their colours from one look to the next.
  colors: new Map(),
  isHeld: false,
  isPointed: false,
  zoom: 1,

  build() {
    const canvas = byId("timeline");
    canvas.addEventListener("pointermove", event => this.point(event));
    canvas.addEventListener("pointerleave", () => {
      byId("tip").hidden = true;
      this.isPointed = false;
    });
    byId("hold").addEventListener("click", () => {
      this.isHeld = !this.isHeld;
      byId("hold").textContent = this.isHeld ? "Go on" : "Hold";
      byId("hold").setAttribute("aria-pressed", this.isHeld);
    });
    byId("zoom-in").addEventListener("click", () => this.setZoom(this.zoom * 2));
    byId("zoom-out").addEventListener("click", () => this.setZoom(this.zoom / 2));
    addEventListener("resize", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  },

  update(data) {
    byId("timeline-part").hidden = !data;
    // Tasks do not slip away from below a pointer.
    if (!data || this.isHeld || this.isPointed) return;
    this.data = { ...data, steps: data.steps.filter(step => step.end > step.begin) };
    this.draw();
  },

  /// What is in the middle stays there.
  setZoom(zoom) {
    const plot = byId("timeline").parentElement;
    const middle = (plot.scrollLeft + plot.clientWidth / 2) / plot.scrollWidth;
    this.zoom = Math.max(1, Math.min(mostZoom, zoom));
    this.draw();
    plot.scrollLeft = middle * plot.scrollWidth - plot.clientWidth / 2;
  },

  colorIndex(phase) {
    // One phase of all layers has one colour.
    if (!this.colors.has(phase)) this.colors.set(phase, this.colors.size % phaseColors);
    return this.colors.get(phase);
  },

  draw() {
    const { data } = this;
    if (!data || byId("timeline-part").hidden) return;
    const canvas = byId("timeline");
    const scale = devicePixelRatio || 1;
    const width = Math.min(canvas.parentElement.clientWidth * this.zoom, Math.floor(mostPixels / scale));
    byId("zoom-out").disabled = this.zoom === 1;
    byId("zoom-in").disabled = this.zoom === mostZoom || width < canvas.parentElement.clientWidth * this.zoom;
    const lane = Math.max(4, Math.min(22, Math.floor(360 / Math.max(1, data.workers))));
    const head = 18, height = head + lane * data.workers;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    const total = data.steps.reduce((sum, step) => sum + step.end - step.begin, 0);
    const gap = data.steps.length > 1 ? Math.min(6, width / data.steps.length / 6) : 0;
    const perSecond = (width - gap * (data.steps.length - 1)) / (total || 1);
    const colors = Array.from({ length: phaseColors }, (_, i) => colorOf(`--phase-${i}`));
    const track = colorOf("--track"), soft = colorOf("--soft");
    context.font = "11px system-ui, sans-serif";
    this.columns = [];
    this.geometry = { lane, head, perSecond };
    let left = 0, labelEnd = 0;
    for (const step of data.steps) {
      const own = (step.end - step.begin) * perSecond;
      this.columns.push({ step, left, width: own });
      context.fillStyle = track;
      for (let worker = 0; worker < data.workers; ++worker) context.fillRect(left, head + worker * lane, own, lane - 1);
      for (const [worker, begin, end, phase] of step.tasks) {
        context.fillStyle = colors[this.colorIndex(phase)];
        context.fillRect(left + (begin - step.begin) * perSecond, head + worker * lane, Math.max(0.5, (end - begin) * perSecond), lane - 1);
      }
      const label = `${step.rows} row${step.rows === 1 ? "" : "s"} · ${timeText(step.end - step.begin)}`;
      if (left >= labelEnd && context.measureText(label).width < width - left) {
        context.fillStyle = soft;
        context.fillText(label, left, 12);
        labelEnd = left + context.measureText(label).width + 12;
      }
      left += own + gap;
    }
    this.drawLegend(total);
  },

  drawLegend(total) {
    const { data } = this;
    const seconds = new Map();
    let busy = 0;
    for (const step of data.steps)
      for (const [, begin, end, phase] of step.tasks) {
        seconds.set(phase, (seconds.get(phase) ?? 0) + end - begin);
        busy += end - begin;
      }
    const all = total * data.workers || 1;
    byId("timeline-facts").textContent =
      `${countText(data.steps.length, "step")} · ${countText(data.workers, "worker")} · ${shareText(busy / all)} busy`;
    const shown = [...seconds].sort((a, b) => b[1] - a[1]);
    const rest = shown.splice(12);
    byId("legend").replaceChildren(...shown.map(([phase, own]) => element("li", {},
      element("i", { style: `background: var(--phase-${this.colorIndex(phase)})` }), element("code", {}, phase), ` ${shareText(own / all)}`)),
      ...rest.length ? [element("li", {}, `and ${rest.length} more, ${shareText(rest.reduce((sum, [, own]) => sum + own, 0) / all)}`)] : []);
  },

  point(event) {
    if (!this.data) return;
    this.isPointed = true;
    const tip = byId("tip");
    const column = this.columns.findLast(({ left }) => left <= event.offsetX);
    const { lane, head, perSecond } = this.geometry;
    const worker = Math.floor((event.offsetY - head) / lane);
    tip.hidden = !column || worker < 0 || worker >= this.data.workers || event.offsetX > column.left + column.width;
    if (tip.hidden) return;
    const { step } = column;
    const time = step.begin + (event.offsetX - column.left) / perSecond;
    // Half a pixel to both sides: short tasks are drawn wider than they are.
    const task = step.tasks.find(([own, begin, end]) => own === worker && time >= begin - 0.5 / perSecond && time <= end + 0.5 / perSecond);
    tip.replaceChildren(
      element("b", {}, task ? task[3] : "nothing to do"),
      element("div", {}, task ? `${timeText(task[2] - task[1])}, ${timeText(task[1] - step.begin)} into the step` : `${timeText(time - step.begin)} into the step`),
      element("div", {}, `worker ${worker} · step of ${step.rows} row${step.rows === 1 ? "" : "s"}, ${timeText(step.end - step.begin)}`));
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18}px`;
  },
};

// ------------------------------------------------------------------ engine

/// Seconds between two looks, and how many are kept.
const pollSeconds = 1;
const keptSamples = 90;

/// A curve of the last values.
class Curve {
  constructor(name) {
    this.area = shape("path", { class: "curve-area" });
    this.line = shape("path", { class: "curve-line" });
    this.node = shape("svg", { class: "curve", viewBox: `0 0 ${keptSamples - 1} 40`, preserveAspectRatio: "none", role: "img", "aria-label": name },
      this.area, this.line);
  }

  update(values) {
    const most = Math.max(1e-9, ...values.map(value => value ?? 0));
    const begin = keptSamples - values.length;
    const points = values.map((value, i) => `${begin + i},${(38 - 34 * (value ?? 0) / most).toFixed(2)}`);
    this.line.setAttribute("d", points.length > 1 ? `M${points.join("L")}` : "");
    this.area.setAttribute("d", points.length > 1 ? `M${begin},40L${points.join("L")}L${keptSamples - 1},40Z` : "");
  }
}

class Tile {
  constructor(name, hint, { curve = false, bar = false } = {}) {
    this.value = element("b", {}, "–");
    this.detail = element("span", { class: "detail" });
    this.node = element("div", { class: "tile", title: hint }, element("span", { class: "name" }, name), this.value, this.detail);
    if (curve) this.node.append((this.curve = new Curve(name)).node);
    if (bar) {
      this.fill = element("span", {});
      this.bar = element("span", { class: "meter", role: "progressbar", "aria-label": name, "aria-valuemin": 0, "aria-valuemax": 100 }, this.fill);
      this.node.append(this.bar);
    }
  }

  update(value, detail, share = null) {
    this.value.textContent = value;
    this.detail.textContent = detail;
    if (this.fill && share !== null) {
      this.fill.style.width = shareText(share).replace(" ", "");
      this.bar.setAttribute("aria-valuenow", Math.round(100 * share));
    }
  }
}

/// What the server's counters did between two looks.
function differences(before, now) {
  const seconds = now.time - before.time;
  const of = key => now[key] - before[key];
  const steps = of("steps");
  return {
    generated: of("generated_tokens") / seconds,
    prompt: (of("prompt_tokens") + of("cached_tokens")) / seconds,
    rows: steps > 0 ? of("rows") / steps : null,
    // Of a second without a pause only; otherwise it is the time between requests.
    step: steps > 0 && before.running > 0 && now.running > 0 ? seconds / steps : null,
    steps: steps / seconds,
  };
}

const engine = {
  samples: [],
  timer: 0,
  isShown: false,

  build() {
    const tile = (...of) => new Tile(...of);
    this.tiles = {
      generated: tile("Generated", "Tokens that all sequences got together", { curve: true }),
      prompt: tile("Prompts", "Tokens of prompts, those from the prefix cache included", { curve: true }),
      running: tile("Running", "Sequences that get tokens with each step", { bar: true }),
      waiting: tile("Waiting", "Requests that wait for room; preempted sequences gave up their pages and begin again"),
      pages: tile("Pages", "Of the memory for keys and values; kept prefixes count as used", { bar: true }),
      prefix: tile("Prefix hits", "The share of prompts' tokens that were computed before", { bar: true }),
      rows: tile("Rows per step", "Tokens that one step computes: one of each running sequence, and parts of prompts", { curve: true }),
      step: tile("Step", "Seconds of a step, while there is work", { curve: true }),
    };
    byId("tiles").append(...Object.values(this.tiles).map(({ node }) => node));
    timeline.build();
    document.addEventListener("visibilitychange", () => this.schedule());
  },

  show(isShown) {
    this.isShown = isShown;
    this.schedule();
  },

  /// Looks at the engine while somebody looks at it.
  schedule() {
    clearTimeout(this.timer);
    if (this.isShown && document.visibilityState === "visible") this.poll();
  },

  async poll() {
    clearTimeout(this.timer);
    try {
      const state = await (await ask("/engine")).json();
      this.take({ ...state, time: performance.now() / 1000 });
      byId("engine-fault").replaceChildren();
    } catch (fault) {
      byId("engine-fault").replaceChildren(faultCard({ kind: fault.kind, text: fault.message }, () => this.poll()));
    }
    clearTimeout(this.timer);
    if (this.isShown && document.visibilityState === "visible") this.timer = setTimeout(() => this.poll(), pollSeconds * 1000);
  },

  take(sample) {
    const before = this.samples.at(-1);
    // A server that was started again counts from zero.
    if (before && sample.steps < before.steps) this.samples = [];
    this.samples.push(sample);
    if (this.samples.length > keptSamples + 1) this.samples.shift();
    this.draw(sample);
  },

  draw(now) {
    const rates = this.samples.slice(1).map((sample, i) => differences(this.samples[i], sample));
    const latest = rates.at(-1) ?? { generated: 0, prompt: 0, rows: null, step: null, steps: 0 };
    const column = key => rates.map(rate => rate[key]);
    const { tiles } = this;
    tiles.generated.update(rateText(latest.generated), `tokens/s · ${wholeText(now.generated_tokens)} so far`);
    tiles.generated.curve.update(column("generated"));
    tiles.prompt.update(rateText(latest.prompt), `tokens/s · ${wholeText(now.prompt_tokens + now.cached_tokens)} so far`);
    tiles.prompt.curve.update(column("prompt"));
    tiles.running.update(wholeText(now.running), `of ${countText(now.max_running, "sequence")}`, now.running / Math.max(1, now.max_running));
    tiles.waiting.update(wholeText(now.waiting), `${countText(now.preemptions, "preemption")} · ${countText(now.connections, "connection")}`);
    tiles.pages.update(shareText(now.used_pages / Math.max(1, now.pages)), `${wholeText(now.used_pages)} of ${wholeText(now.pages)}`,
      now.used_pages / Math.max(1, now.pages));
    const known = now.prompt_tokens + now.cached_tokens;
    tiles.prefix.update(known ? shareText(now.cached_tokens / known) : "–", `${wholeText(now.cached_tokens)} of ${countText(known, "token")}`,
      known ? now.cached_tokens / known : 0);
    const overall = now.steps ? now.rows / now.steps : 0;
    tiles.rows.update(latest.rows === null ? "–" : rateText(latest.rows), `of ${now.max_rows} · ${rateText(overall)} since the start`);
    tiles.rows.curve.update(column("rows"));
    tiles.step.update(latest.step === null ? "–" : timeText(latest.step), `${rateText(latest.steps)} steps/s · ${wholeText(now.steps)} so far`);
    tiles.step.curve.update(column("step"));
    timeline.update(now.timeline);
  },
};

// ------------------------------------------------------------------- shell

const themes = ["auto", "light", "dark"];

/// What is around the views: the list, the theme, the address and the keyboard.
const shell = {
  view: "chat",
  listTimer: 0,

  build() {
    this.setTheme(themes.includes(storage?.getItem("baton.theme")) ? storage.getItem("baton.theme") : "auto");
    byId("theme").addEventListener("click", () => this.setTheme(themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % 3]));
    byId("menu").append(icon("menu"));
    byId("menu").addEventListener("click", () => this.toggleSide("list-open"));
    byId("settings-button").append(icon("settings"));
    byId("settings-button").addEventListener("click", () => this.toggleSide("settings-open"));
    byId("settings-close").append(icon("close"));
    byId("settings-close").addEventListener("click", () => this.toggleSide("settings-open"));
    byId("shade").addEventListener("click", () => this.closeSides());
    byId("to-end").append(icon("down"));
    byId("new").prepend(icon("plus"));
    byId("new").addEventListener("click", () => this.begin());
    byId("tab-chat").addEventListener("click", () => this.showView("chat"));
    byId("tab-engine").addEventListener("click", () => this.showView("engine"));
    byId("tab-chat").parentElement.addEventListener("keydown", event => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      this.showView(this.view === "chat" ? "engine" : "chat");
      byId(`tab-${this.view}`).focus();
    });
    byId("text-undo").prepend(icon("undo"));
    byId("key-form").addEventListener("submit", event => {
      event.preventDefault();
      store("baton.key", byId("key").value.trim());
      byId("key-dialog").close();
      this.afterKey();
    });
    byId("key-button").addEventListener("click", () => serverState.askForKey());
    addEventListener("hashchange", () => this.readAddress());
    addEventListener("keydown", event => this.press(event));
    addEventListener("storage", event => this.takeStorage(event));
    addEventListener("pagehide", () => runs.leave());
  },

  setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    store("baton.theme", theme);
    const names = { auto: "Theme: as the system's", light: "Theme: light", dark: "Theme: dark" };
    setIcon(byId("theme"), theme, names[theme]);
    timeline.draw();
  },

  isNarrow: () => matchMedia("(max-width: 800px)").matches,

  toggleSide(name) {
    const { classList } = document.body;
    const isOpen = classList.toggle(name);
    if (isOpen && this.isNarrow()) classList.remove(name === "list-open" ? "settings-open" : "list-open");
    this.showSides();
    if (isOpen && name === "settings-open") byId("settings").querySelector("textarea, input").focus({ preventScroll: true });
  },

  closeSides() {
    document.body.classList.remove("list-open", "settings-open");
    this.showSides();
  },

  showSides() {
    byId("menu").setAttribute("aria-expanded", document.body.classList.contains("list-open"));
    byId("settings-button").setAttribute("aria-expanded", document.body.classList.contains("settings-open"));
  },

  showView(view) {
    this.view = view;
    for (const name of ["chat", "engine"]) {
      byId(`tab-${name}`).setAttribute("aria-selected", name === view);
      byId(`tab-${name}`).tabIndex = name === view ? 0 : -1;
    }
    const isText = chat.conversation?.kind === "text";
    byId("chat").hidden = view !== "chat" || isText;
    byId("text").hidden = view !== "chat" || !isText;
    byId("engine").hidden = view !== "engine";
    byId("settings-button").hidden = view !== "chat";
    if (view !== "chat") document.body.classList.remove("settings-open");
    engine.show(view === "engine");
    this.showAddress();
  },

  /// The address says what is shown, so that a reload shows it again, and each tab has its own.
  showAddress() {
    const id = chat.conversation && !isEmpty(chat.conversation) ? chat.conversation.id : "";
    const parts = [this.view === "engine" && "engine", id].filter(Boolean);
    const address = parts.length > 0 ? `#${parts.join("/")}` : "";
    if (location.hash !== address) history.replaceState(null, "", address || location.pathname);
    this.showList();
  },

  readAddress() {
    const parts = location.hash.slice(1).split("/");
    const view = parts[0] === "engine" ? parts.shift() : "chat";
    this.open(parts[0] && conversations.load(parts[0]) || conversations.create(this.kind(), latestSettings()), view);
    this.focusField();
  },

  open(conversation, view = "chat") {
    chat.conversation = conversation;
    if (conversation.kind === "text") textView.show(conversation);
    else chat.show(conversation);
    settingsPanel.show(conversation);
    this.showView(view);
    if (this.isNarrow()) this.closeSides();
  },

  kind: () => serverState.model?.meta?.chat === false ? "text" : "chat",

  begin() {
    this.open(conversations.create(this.kind(), latestSettings()));
    this.focusField();
  },

  focusField() {
    // On a telephone a keyboard would cover half of the page before anybody wants to write.
    if (matchMedia("(pointer: coarse)").matches) return;
    byId(chat.conversation.kind === "text" ? "text-area" : "input").focus();
  },

  showList() {
    const list = conversations.list();
    byId("list").replaceChildren(...list.map(conversation => this.entry(conversation)));
    byId("list-empty").hidden = list.length > 0;
  },

  entry(conversation) {
    const { id } = conversation;
    const isShown = this.view === "chat" && chat.conversation?.id === id;
    const isRunning = conversations.open.has(id) && runs.of(conversations.open.get(id));
    const title = conversation.title || "Untitled";
    const open = element("button", { type: "button", class: "title", title, "aria-current": isShown ? "page" : null,
      onclick: () => this.open(conversations.load(id)) }, title);
    const node = element("li", { class: [isShown && "shown", isRunning && "running"].filter(Boolean).join(" ") }, open,
      iconButton("edit", `Rename “${title}”`, () => this.rename(node, id)),
      iconButton("remove", `Delete “${title}”`, () => this.remove(id)));
    return node;
  },

  rename(node, id) {
    const conversation = conversations.load(id);
    const input = element("input", { value: conversation.title, "aria-label": "Title" });
    let isOpen = true;
    const close = isKept => {
      // Taking the field away blurs it.
      if (!isOpen) return;
      isOpen = false;
      const title = input.value.trim();
      if (isKept && title && title !== conversation.title) {
        conversation.title = title;
        conversation.isNamed = true;
        conversations.save(conversation);
      }
      this.showList();
    };
    input.addEventListener("keydown", event => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.stopPropagation();
      close(event.key === "Enter");
    });
    input.addEventListener("blur", () => close(true));
    node.replaceChildren(input);
    input.select();
  },

  remove(id) {
    const conversation = conversations.load(id);
    runs.stop(conversation);
    conversations.remove(id);
    if (chat.conversation === conversation) this.begin();
    this.showList();
    toast("Conversation deleted.", "Undo", () => {
      conversations.open.set(id, conversation);
      conversations.save(conversation);
      this.open(conversation);
    });
  },

  /// Another tab wrote.
  takeStorage({ key, newValue }) {
    if (key === "baton.theme" && themes.includes(newValue)) this.setTheme(newValue);
    if (!key?.startsWith(conversationKey)) return;
    const id = key.slice(conversationKey.length);
    const own = conversations.open.get(id);
    if (own && !runs.of(own) && newValue !== null) {
      if (chat.conversation === own) this.catchUp();
      else conversations.open.delete(id);
    }
    clearTimeout(this.listTimer);
    this.listTimer = setTimeout(() => this.showList(), 100);
  },

  /// Takes what another tab made of the conversation, if this one is not writing it, and stays where
  /// the user reads and writes: in the settings, too, if they are what is being changed.
  catchUp(isChangingSettings = false) {
    const own = chat.conversation;
    const stored = conversations.read(own.id);
    if (!stored || stored.revision === own.revision || runs.of(own)) return;
    // What is written in a message that is edited would be gone; saved, it becomes a copy.
    if (document.querySelector(".editor")) return;
    conversations.open.delete(own.id);
    const conversation = conversations.load(own.id);
    const { scrollTop } = byId("scroll");
    const isAtEnd = chat.isAtEnd();
    const { activeElement } = document;
    chat.conversation = conversation;
    if (isChangingSettings) settingsPanel.conversation = conversation;
    else settingsPanel.show(conversation);
    if (conversation.kind === "text") textView.show(conversation);
    else chat.show(conversation);
    if (!isAtEnd) requestAnimationFrame(() => { byId("scroll").scrollTop = scrollTop; });
    activeElement?.focus?.();
  },

  afterKey() {
    serverState.greet();
    const last = chat.conversation.messages.at(-1);
    if (last?.fault?.kind === "key") chat.retry(last);
  },

  press(event) {
    if (byId("key-dialog").open) return;
    const isTyping = /^(input|textarea|select)$/i.test(event.target.tagName ?? "");
    if (event.key === "Escape") {
      const isRunning = chat.conversation && runs.of(chat.conversation);
      if (isRunning) runs.stop(chat.conversation);
      else this.closeSides();
    } else if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
      this.begin();
    } else if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      if (this.view !== "chat") this.showView("chat");
      this.focusField();
    } else {
      return;
    }
    event.preventDefault();
  },
};

conversations.onMoved = conversation => {
  if (chat.conversation === conversation) shell.showAddress();
  toast("Another tab changed this conversation: yours goes on as a copy.");
};

runs.onChange = (conversation, stats) => {
  (conversation.kind === "text" ? textView : chat).showStream(conversation, stats);
};

runs.onEdge = conversation => {
  (conversation.kind === "text" ? textView : chat).showEdge(conversation);
  shell.showList();
};

serverState.onFound.push(() => {
  // Which kind a new conversation has is known only now.
  if (isEmpty(chat.conversation) && chat.conversation.kind !== shell.kind()) shell.begin();
  else if (chat.conversation.kind === "chat") chat.showEmpty();
  chat.showContext();
});

shell.build();
settingsPanel.build();
chat.build();
textView.build();
engine.build();
shell.readAddress();
serverState.showStatus();
serverState.greet();
