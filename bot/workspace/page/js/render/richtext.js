// rich_text blocks.

import { h, svg } from "../dom.js";
import { emoji } from "./emoji.js";
import { link, mention, channel } from "./tree.js";
import { formatDate } from "../time.js";

/** richText renders a rich_text block, or a cell that holds one. */
export function richText(block, dir) {
  return h("div", { class: "rich-text" }, (block.elements || []).map((el) => part(el, dir)));
}

function part(el, dir) {
  switch (el.type) {
    case "rich_text_section":
      return h("div", { class: "rt-section", dir: "auto" }, inlines(el, dir));
    case "rich_text_preformatted":
      return h("pre", { class: "code-block", dir: "auto" }, inlines(el, dir));
    case "rich_text_quote":
      return h("blockquote", { dir: "auto" }, inlines(el, dir));
    case "rich_text_list":
      return list(el, dir);
    default:
      return h("div", { class: "unknown", text: el.type });
  }
}

const ORDER = ["1", "a", "i"];
const BULLET = ["disc", "circle", "square"];

function list(el, dir) {
  const indent = Math.min(8, Math.max(0, el.indent || 0));
  const ordered = el.style === "ordered";
  return h(
    ordered ? "ol" : "ul",
    {
      class: "rt-list" + (el.border ? " bordered" : ""),
      start: ordered && el.offset ? el.offset + 1 : null,
      type: ordered ? ORDER[indent % 3] : BULLET[indent % 3],
      vars: { "--indent": indent },
    },
    (el.elements || []).map((item) => h("li", { dir: "auto" }, inlines(item, dir))),
  );
}

const inlines = (el, dir) => (el.elements || []).map((x) => inline(x, dir));

function inline(x, dir) {
  return styled(bare(x, dir), x.style || {});
}

function bare(x, dir) {
  switch (x.type) {
    case "text":
      return document.createTextNode(x.text ?? "");
    case "link":
      return link(x.url, [x.text || x.url]);
    case "emoji":
      return emoji(x.name || "");
    case "user":
      return mention(x.user_id, "", dir);
    case "channel":
      return channel(x.channel_id, "", dir);
    case "usergroup":
      return h("span", { class: "mention", text: "@" + x.usergroup_id });
    case "broadcast":
      return h("span", { class: "mention broadcast", text: "@" + x.range });
    case "date":
      return h("time", { text: formatDate(x.timestamp, x.format) || x.fallback });
    case "color":
      return h("span", { class: "color-value" }, swatch(x.value), x.value);
    default:
      return document.createTextNode(x.text || "");
  }
}

function swatch(value) {
  const ok = /^#[0-9a-f]{3,8}$/i.test(value || "");
  return h("span", { class: "swatch", vars: ok ? { "--swatch": value } : {} }, svg("M2 2h16v16H2z", 10));
}

const STYLE_TAG = { code: "code", strike: "del", italic: "em", bold: "strong", underline: "u", highlight: "mark" };

function styled(node, style) {
  for (const [key, tag] of Object.entries(STYLE_TAG)) if (style[key]) node = h(tag, {}, node);
  return node;
}
