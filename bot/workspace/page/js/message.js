// One message as an article. update redraws only the parts that changed.

import { h, bdi } from "./dom.js";
import { icon } from "./icons.js";
import { t, currentLang } from "./i18n.js";
import * as time from "./time.js";
import { state } from "./store.js";
import { avatar, dir, isBot, user, userName } from "./directory.js";
import { sync } from "./render/blocks.js";
import { mrkdwn } from "./render/tree.js";
import { emoji } from "./render/emoji.js";
import { files } from "./files.js";
import { openImage } from "./lightbox.js";
import { post } from "./api.js";
import { openThread } from "./open.js";
import { toolbar } from "./toolbar.js";

const parts = new WeakMap(); // article → Map(slot → signature)

/** create makes the empty article of a message. */
export function create() {
  const slot = (name, tag = "div") => h(tag, { class: `slot ${name}` });
  const el = h("article", { class: "msg", tabindex: "-1" },
    slot("only-you"), h("div", { class: "gutter" }, slot("face"), slot("small-time")),
    h("div", { class: "content" }, slot("meta"), slot("body"), slot("edited", "span"), slot("attach"), slot("reactions"), slot("reply-slot")));
  parts.set(el, new Map());
  return el;
}

function fill(el, name, sig, build) {
  const text = JSON.stringify([sig, currentLang()]);
  const known = parts.get(el);
  if (known.get(name) === text) return;
  known.set(name, text);
  el.querySelector(`.slot.${name}`).replaceChildren(...[build()].flat().filter(Boolean));
}

/** update brings the article in step with the message. where: "channel" or "thread". */
export function update(el, m, { grouped, where }) {
  el.dataset.ts = m.ts;
  el.classList.toggle("grouped", grouped);
  el.classList.toggle("ephemeral", Boolean(m.ephemeral));
  const author = m.username && !user(m.user) && !isBot(m.user) ? m.username : userName(m.user) || m.username || m.user || "";
  el.setAttribute("aria-label", `${author}, ${time.clock(m.ts)}`);
  fill(el, "only-you", m.ephemeral, () => m.ephemeral && [icon("eye", 14), h("span", { text: t("onlyYou") }), dismissButton(m)]);
  fill(el, "face", [m.user, m.bot_id], () => avatar(m.user));
  fill(el, "small-time", m.ts, () => stamp(m));
  fill(el, "meta", [author, m.ts, m.bot_id, user(m.user)?.title, m.edits], () => meta(m, author));
  body(el, m, where);
  fill(el, "edited", [m.edited, Boolean(m.blocks?.length)], () => showsEdited(m) && h("span", { class: "edited-mark", title: editedTitle(m), text: t("edited") }));
  fill(el, "attach", [m.files, m.attachments], () => [m.files?.length && files(m.files), ...(m.attachments || []).map((a) => attachment(a, m))]);
  fill(el, "reactions", [m.reactions, state.me], () => (m.reactions || []).map((r) => reaction(r, m)));
  fill(el, "reply-slot", where === "channel" && [m.reply_count, m.reply_users, m.latest_reply, m.latest_reply && time.ago(m.latest_reply)], () => where === "channel" && m.reply_count > 0 && replyBar(m));
  if (!el.querySelector(":scope > .toolbar") && !m.ephemeral) el.append(toolbar(m.channel || state.channel, m.ts, where));
}

const stamp = (m) => h("time", { datetime: new Date(time.ms(m.ts)).toISOString(), title: time.full(m.ts), text: time.clock(m.ts) });

function meta(m, author) {
  const teacher = user(m.user)?.title === "Instructor";
  return [
    bdi(author, "author"),
    m.bot_id && h("span", { class: "badge", text: t("app") }),
    teacher && h("span", { class: "badge role", text: t("instructor") }),
    h("span", { class: "when" }, stamp(m)),
    m.edits > 0 && m.blocks?.length > 0 && h("span", { class: "sr", text: editedTitle(m) }),
  ];
}

// As in Slack, a message of blocks carries no mark: boards change all the time.
const showsEdited = (m) => m.edited && !m.blocks?.length;
const editedTitle = (m) => t("editedTimes", { n: m.edits || 1, at: time.full(m.edited?.ts || m.ts) });

function body(el, m, where) {
  const box = el.querySelector(".slot.body");
  if (m.subtype === "tombstone") {
    fill(el, "body", "tombstone", () => h("span", { class: "quiet", text: t("deleted") }));
    return;
  }
  if (m.blocks?.length) {
    if (!parts.get(el).has("blocks")) box.replaceChildren();
    parts.get(el).set("blocks", "");
    parts.get(el).delete("body");
    sync(box, m.blocks, context(m, where));
    return;
  }
  parts.get(el).delete("blocks");
  fill(el, "body", [m.text, state.me], () => (m.text ? h("div", { class: "text", dir: "auto" }, mrkdwn(m.text, dir)) : null));
}

function context(m) {
  const channel = m.channel || state.channel;
  return {
    dir, surface: "message", key: `${channel} ${m.ts}`, state: m.state, openImage,
    act: (block, el, payload) => post("click", { user: state.me, channel, ts: m.ts, block_id: block.block_id, action_id: el.action_id, ...payload }),
    options: (block, el, value) => post("options", { user: state.me, channel, ts: m.ts, block_id: block.block_id, action_id: el.action_id, value }),
  };
}

function attachment(a, m) {
  const box = h("div", { class: "attachment", vars: /^#?[0-9a-f]{6}$/i.test(a.color || "") ? { "--bar": "#" + a.color.replace("#", "") } : {} });
  if (a.blocks?.length) sync(box, a.blocks, context(m));
  else box.append(h("div", { class: "text", dir: "auto" }, a.title && h("strong", {}, a.title, h("br")), mrkdwn(a.text || a.fallback || "", dir)));
  return box;
}

function dismissButton(m) {
  return h("button", { class: "link-btn", type: "button", text: t("dismiss"), on: { click: () => post("dismiss", { user: state.me, channel: m.channel || state.channel, ts: m.ts }) } });
}

function reaction(r, m) {
  const mine = (r.users || []).includes(state.me);
  const who = (r.users || []).map((id) => userName(id) || id).join(", ");
  return h("button", {
    class: "reaction" + (mine ? " mine" : ""), type: "button", "aria-pressed": String(mine), title: who, "aria-label": `:${r.name}: ${r.count} — ${who}`,
    on: { click: () => post("react", { user: state.me, channel: m.channel || state.channel, ts: m.ts, name: r.name, remove: mine }) },
  }, emoji(r.name), h("span", { text: String(r.count) }));
}

function replyBar(m) {
  const open = () => openThread(m.channel || state.channel, m.ts);
  return h("button", { class: "reply-bar", type: "button", on: { click: open } },
    h("span", { class: "reply-faces" }, (m.reply_users || []).slice(0, 5).map((id) => avatar(id, "tiny"))),
    h("span", { class: "reply-count", text: t("replies", { n: m.reply_count }) }),
    h("span", { class: "reply-last" }, h("span", { class: "ago", text: m.latest_reply ? t("lastReply", { ago: time.ago(m.latest_reply) }) : "" }), h("span", { class: "view", text: t("viewThread") })),
    h("span", { class: "reply-chevron" }, icon("chevron", 14)));
}

