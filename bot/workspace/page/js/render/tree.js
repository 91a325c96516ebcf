// The mrkdwn tree as DOM nodes.

import { h, safeURL } from "../dom.js";
import { parse } from "./mrkdwn.js";
import { emoji } from "./emoji.js";
import { formatDate } from "../time.js";

const TAG = { b: "strong", i: "em", s: "del", code: "code" };

/** mrkdwn renders a mrkdwn text for the directory of people and channels. */
export const mrkdwn = (text, dir) => nodes(parse(text), dir);

/** textObject renders a Block Kit text object, or a bare string as mrkdwn. */
export function textObject(obj, dir) {
  if (!obj) return [];
  if (typeof obj === "string") return mrkdwn(obj, dir);
  if (obj.type === "plain_text") return nodes(parse(obj.text, { plain: true, emoji: obj.emoji !== false }), dir);
  return mrkdwn(obj.text, dir);
}

function nodes(tree, dir) {
  return tree.map((n) => node(n, dir));
}

function node(n, dir) {
  switch (n.t) {
    case "text":
      return document.createTextNode(n.v);
    case "br":
      return h("br");
    case "b":
    case "i":
    case "s":
    case "code":
      return h(TAG[n.t], { dir: n.t === "code" ? "auto" : null }, nodes(n.c, dir));
    case "pre":
      return h("pre", { class: "code-block", dir: "auto", tabindex: "0" }, nodes(n.c, dir));
    case "quote":
      return h("blockquote", { dir: "auto" }, nodes(n.c, dir));
    case "link":
      return link(n.url, nodes(n.c, dir));
    case "user":
      return mention(n.id, n.label, dir);
    case "channel":
      return channel(n.id, n.label, dir);
    case "group":
      return h("span", { class: "mention", dir: "auto", text: "@" + (n.label || n.id).replace(/^@/, "") });
    case "broadcast":
      return h("span", { class: "mention broadcast", text: "@" + n.v });
    case "date":
      return date(n);
    case "emoji":
      return emoji(n.name);
    default:
      return document.createTextNode("");
  }
}

/** link is an anchor for a URL a person may follow, else the label alone. */
export function link(url, label) {
  const href = safeURL(url);
  if (!href) return h("bdi", {}, label);
  return h("a", { href, target: "_blank", rel: "noopener noreferrer", dir: "auto" }, label);
}

/** mention names a person; one's own name is marked. */
export function mention(id, label, dir) {
  const name = dir.userName(id) || label || id;
  return h("span", { class: "mention" + (id === dir.me ? " me" : ""), dir: "auto", text: "@" + name });
}

/** channel links to a channel of this workspace, or names it when unknown. */
export function channel(id, label, dir) {
  const name = dir.channelName(id);
  if (!name) return h("span", { class: "mention", dir: "auto", text: "#" + (label || "private-channel") });
  return h("a", { class: "mention", href: `#/${id}`, dir: "auto", text: "#" + name });
}

function date(n) {
  const text = formatDate(n.at, n.format) || n.label;
  const el = h("time", { datetime: new Date(n.at * 1000).toISOString(), text });
  return n.url ? link(n.url, [el]) : el;
}
