// Slack's mrkdwn as a tree. Parsing is pure (no DOM), so it is tested in Node;
// tree.js turns the tree into nodes.
//
// Node kinds: text{v} br b{c} i{c} s{c} code{c} pre{c} quote{c} link{url,c}
// user{id,label} channel{id,label} group{id,label} broadcast{v} date{…}
// emoji{name}.

const MARKS = { "*": "b", _: "i", "~": "s" };
const WORD = /[\p{L}\p{N}_]/u;

/** parse reads a mrkdwn text; `plain` reads plain_text, where only emoji live. */
export function parse(text, { plain = false, emoji = true } = {}) {
  const src = String(text ?? "");
  if (plain) return inline(src, { plain: true, emoji });
  const out = [];
  const fence = /```([\s\S]+?)```/g;
  let at = 0;
  for (let m; (m = fence.exec(src)); at = fence.lastIndex) {
    // The line break beside a fence belongs to the fence, not to the text.
    out.push(...paragraphs(src.slice(at, m.index).replace(/\n$/, "")));
    out.push({ t: "pre", c: literal(m[1].replace(/^\n|\n$/g, "")) });
    if (src[fence.lastIndex] === "\n") fence.lastIndex++;
  }
  out.push(...paragraphs(src.slice(at)));
  return out;
}

// paragraphs folds lines that start with > (as an entity) into quotes.
function paragraphs(src) {
  if (src === "") return [];
  const out = [];
  let quote = null;
  const lines = src.split("\n");
  lines.forEach((line, i) => {
    const all = /^(?:&gt;|>){3}\s?/.exec(line);
    if (all && !quote) {
      const rest = [line.slice(all[0].length), ...lines.slice(i + 1)];
      out.push({ t: "quote", c: rest.flatMap((l, n) => (n ? [{ t: "br" }, ...inline(l)] : inline(l))) });
      lines.length = i;
      return;
    }
    if (i >= lines.length) return;
    const one = /^(?:&gt;|>)\s?/.exec(line);
    if (one) {
      if (quote) quote.c.push({ t: "br" });
      else out.push((quote = { t: "quote", c: [] }));
      quote.c.push(...inline(line.slice(one[0].length)));
      return;
    }
    if (out.length && !quote) out.push({ t: "br" });
    quote = null;
    out.push(...inline(line));
  });
  return out;
}

// literal keeps everything but entities and <…> tokens, as in code.
function literal(src) {
  return inline(src, { literal: true });
}

function inline(src, opt = {}) {
  const out = [];
  let buf = "";
  // A mark whose closing partner was not found once will not be found later on
  // the same line either: this keeps hostile text linear.
  const dead = new Set(opt.closed);
  const flush = () => {
    if (buf) out.push({ t: "text", v: buf });
    buf = "";
  };
  const add = (node, to) => {
    flush();
    out.push(node);
    return to;
  };
  for (let i = 0; i < src.length; ) {
    const ch = src[i];
    const rest = () => src.slice(i, i + 400);
    if (ch === "\n") {
      i = opt.literal ? ((buf += ch), i + 1) : add({ t: "br" }, i + 1);
      continue;
    }
    if (ch === "&" && !opt.plain) {
      const e = /^&(amp|lt|gt);/.exec(src.slice(i, i + 5));
      if (e) {
        buf += { amp: "&", lt: "<", gt: ">" }[e[1]];
        i += e[0].length;
        continue;
      }
    }
    if (ch === "<" && !opt.plain) {
      const end = src.indexOf(">", i);
      const node = end > i ? token(src.slice(i + 1, end)) : null;
      if (node) {
        i = add(node, end + 1);
        continue;
      }
    }
    if (ch === ":" && opt.emoji !== false && !opt.literal) {
      const m = /^:([a-z0-9_+'-]+):/.exec(rest());
      if (m) {
        i = add({ t: "emoji", name: m[1] }, i + m[0].length);
        continue;
      }
    }
    if (opt.plain || opt.literal) {
      buf += ch;
      i++;
      continue;
    }
    if (ch === "`") {
      const end = src.indexOf("`", i + 1);
      if (end > i + 1 && !src.slice(i, end).includes("\n")) {
        i = add({ t: "code", c: literal(src.slice(i + 1, end)) }, end + 1);
        continue;
      }
    }
    if (MARKS[ch] && !dead.has(ch) && opens(src, i)) {
      const end = closes(src, ch, i + 1);
      if (end > 0) {
        const c = inline(src.slice(i + 1, end), { closed: [...dead, ch] });
        i = add({ t: MARKS[ch], c }, end + 1);
        continue;
      }
      dead.add(ch);
    }
    if (ch === "h" && (i === 0 || !WORD.test(src[i - 1]))) {
      const m = /^https?:\/\/[^\s<>|`]+/.exec(src.slice(i, i + 2000));
      if (m) {
        const url = m[0].replace(/[.,;:!?)\]}'"*_~]+$/, "");
        i = add({ t: "link", url: unescape(url), c: [{ t: "text", v: unescape(url) }] }, i + url.length);
        continue;
      }
    }
    buf += ch;
    i++;
  }
  flush();
  return out;
}

// opens: a mark opens after a word boundary and before something solid.
function opens(src, i) {
  const before = src[i - 1];
  const after = src[i + 1];
  return (!before || !WORD.test(before)) && after && !/\s/.test(after) && after !== src[i];
}

function closes(src, mark, from) {
  for (let i = src.indexOf(mark, from); i > 0; i = src.indexOf(mark, i + 1)) {
    if (src.slice(from, i).includes("\n")) return -1;
    const after = src[i + 1];
    if (i > from && !/\s/.test(src[i - 1]) && (!after || !WORD.test(after))) return i;
  }
  return -1;
}

const unescape = (s) => s.replace(/&(amp|lt|gt);/g, (_, e) => ({ amp: "&", lt: "<", gt: ">" })[e]);

// token reads what stands between < and >; null when it is no token.
function token(body) {
  const bar = body.indexOf("|");
  const head = bar < 0 ? body : body.slice(0, bar);
  const label = bar < 0 ? "" : unescape(body.slice(bar + 1));
  if (/^@[UW][A-Z0-9]+$/.test(head)) return { t: "user", id: head.slice(1), label };
  if (/^#[CGD][A-Z0-9]+$/.test(head)) return { t: "channel", id: head.slice(1), label };
  const group = /^!subteam\^(S[A-Z0-9]+)$/.exec(head);
  if (group) return { t: "group", id: group[1], label };
  const wide = /^!(here|channel|everyone)$/.exec(head);
  if (wide) return { t: "broadcast", v: wide[1] };
  const date = /^!date\^(\d{1,12})\^([^^]*)(?:\^(.*))?$/.exec(head);
  if (date) return { t: "date", at: Number(date[1]), format: date[2], url: unescape(date[3] || ""), label };
  if (/^(https?:\/\/|mailto:)/i.test(head)) {
    const url = unescape(head);
    return { t: "link", url, c: label ? inline(body.slice(bar + 1), { closed: [] }) : [{ t: "text", v: url.replace(/^mailto:/, "") }] };
  }
  return null;
}
