// The markdown block: the part of Markdown that apps send in messages.
// Headings, lists, quotes, fences, rules and simple tables; HTML stays text.

import { h } from "../dom.js";
import { link } from "./tree.js";
import { emoji } from "./emoji.js";

/** markdown renders the text of a markdown block. */
export function markdown(text) {
  const lines = String(text ?? "").split("\n");
  const out = h("div", { class: "markdown" });
  for (let i = 0; i < lines.length; ) i = block(lines, i, out);
  return out;
}

const RULES = [
  [/^\s*(```|~~~)/, fence],
  [/^#{1,6}\s+/, heading],
  [/^\s*(?:[-*_]\s*){3,}$/, (lines, i, out) => (out.append(h("hr")), i + 1)],
  [/^\s*>/, quote],
  [/^\s*(?:[-*+]|\d+[.)])\s+/, list],
  [/^\s*\|.*\|\s*$/, table],
];

function block(lines, i, out) {
  if (!lines[i].trim()) return i + 1;
  for (const [re, fn] of RULES) {
    if (re.test(lines[i])) return fn(lines, i, out);
  }
  const p = h("p", { dir: "auto" });
  const from = i;
  while (i < lines.length && lines[i].trim() && (i === from || !RULES.some(([re]) => re.test(lines[i])))) {
    p.append(...(i > from ? [h("br")] : []), ...inline(lines[i]));
    i++;
  }
  out.append(p);
  return i;
}

function fence(lines, i, out) {
  const mark = /^\s*(```|~~~)/.exec(lines[i])[1];
  let end = i + 1;
  while (end < lines.length && !lines[end].trim().startsWith(mark)) end++;
  out.append(h("pre", { class: "code-block", dir: "auto", text: lines.slice(i + 1, end).join("\n") }));
  return end + 1;
}

function heading(lines, i, out) {
  const [, hashes, text] = /^(#{1,6})\s+(.*?)\s*#*$/.exec(lines[i]);
  out.append(h("p", { class: `md-h md-h${hashes.length}`, role: "heading", "aria-level": hashes.length + 2, dir: "auto" }, inline(text)));
  return i + 1;
}

function quote(lines, i, out) {
  const q = h("blockquote", { dir: "auto" });
  for (; i < lines.length && /^\s*>/.test(lines[i]); i++) {
    if (q.childNodes.length) q.append(h("br"));
    q.append(...inline(lines[i].replace(/^\s*>\s?/, "")));
  }
  out.append(q);
  return i;
}

function list(lines, i, out) {
  const item = /^(\s*)([-*+]|\d+[.)])\s+(.*)$/;
  const first = item.exec(lines[i]);
  const ordered = /\d/.test(first[2]);
  const el = h(ordered ? "ol" : "ul", { class: "rt-list", start: ordered ? parseInt(first[2], 10) : null });
  for (let m; i < lines.length && (m = item.exec(lines[i])); i++) {
    const box = /^\[([ xX])\]\s+(.*)$/.exec(m[3]);
    const text = box ? [box[1] === " " ? "☐ " : "☑ ", ...inline(box[2])] : inline(m[3]);
    el.append(h("li", { dir: "auto", vars: { "--indent": Math.min(8, Math.floor(m[1].length / 2)) } }, text));
  }
  out.append(el);
  return i;
}

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((c) => c.trim());

function table(lines, i, out) {
  const rows = [];
  for (; i < lines.length && /^\s*\|.*\|\s*$/.test(lines[i]); i++) rows.push(cells(lines[i]));
  const body = rows.filter((r) => !r.every((c) => /^:?-+:?$/.test(c)));
  const head = body.length < rows.length ? body.shift() : null;
  out.append(
    h("div", { class: "table-wrap" }, h("table", { class: "block-table" },
      head && h("thead", {}, h("tr", {}, head.map((c) => h("th", { scope: "col", dir: "auto" }, inline(c))))),
      h("tbody", {}, body.map((r) => h("tr", {}, r.map((c) => h("td", { dir: "auto" }, inline(c)))))))),
  );
  return i;
}

const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|__(.+?)__|~~(.+?)~~|\*([^*\s][^*]*?)\*|\b_([^_\s][^_]*?)_\b|\[([^\]]*)\]\(([^)\s]+)\)|<(https?:\/\/[^>\s]+)>|:([a-z0-9_+-]+):/;

function inline(text) {
  const out = [];
  let rest = text.slice(0, 12000);
  for (let m; (m = INLINE.exec(rest)); rest = rest.slice(m.index + m[0].length)) {
    if (m.index) out.push(document.createTextNode(rest.slice(0, m.index)));
    out.push(mark(m));
  }
  if (rest) out.push(document.createTextNode(rest));
  return out;
}

function mark(m) {
  if (m[2]) return h("code", { text: m[2] });
  if (m[3] || m[4]) return h("strong", {}, inline(m[3] || m[4]));
  if (m[5]) return h("del", {}, inline(m[5]));
  if (m[6] || m[7]) return h("em", {}, inline(m[6] || m[7]));
  if (m[9]) return link(m[9], inline(m[8] || m[9]));
  if (m[10]) return link(m[10], [m[10]]);
  return emoji(m[11]);
}
