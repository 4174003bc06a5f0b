// Markdown, of what models write. Text becomes text nodes and nothing else, so that no answer can do
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
