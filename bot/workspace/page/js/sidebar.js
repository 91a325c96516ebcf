// The left side: the workspace, its channels, and who one is.

import { h, bdi } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./i18n.js";
import { state, on, threadsOf } from "./store.js";
import { channel, avatar } from "./directory.js";
import { openChannel, openPane, screen } from "./open.js";
import { unread, mentions, lastRead } from "./read.js";
import { personButton } from "./people.js";
import { preferences } from "./preferences.js";

let root;

/** mountSidebar builds the side and keeps it in step. */
export function mountSidebar(into) {
  root = into;
  on(["open", "channels", "messages", "app", "read", "words", "me"], draw);
}

let sig = "";

function draw() {
  const items = state.channels.map((c) => ({ c, ...news(c) }));
  const next = JSON.stringify([items.map((x) => [x.c.id, x.c.name, x.bold, x.count]), state.channel, state.pane?.kind, state.me, state.app, state.users.length, document.documentElement.lang]);
  if (next === sig) return;
  sig = next;
  const at = document.activeElement?.dataset?.item;
  root.setAttribute("aria-label", t("sidebar"));
  root.replaceChildren(headPart(), scrollPart(items), h("div", { class: "side-foot" }, personButton()));
  if (at) [...root.querySelectorAll("[data-item]")].find((el) => el.dataset.item === at)?.focus({ preventScroll: true });
  paintTitle(items);
}

function news(c) {
  const list = unread(c.id);
  const count = c.is_im ? list.length : mentions(list);
  return { bold: list.length > 0 || (!state.messages.has(c.id) && Number(c.latest) > Number(lastRead(c.id))), count };
}

function paintTitle(items) {
  const n = items.reduce((sum, x) => sum + x.count, 0);
  const base = document.title.replace(/^\(\d+\) /, "");
  document.title = n ? `(${n}) ${base}` : base;
}

function headPart() {
  const app = state.app;
  const on = app?.connected;
  return h("div", { class: "side-head" },
    h("div", { class: "side-name" },
      h("div", { class: "workspace-name", dir: "auto", text: app?.team?.name || t("workspace") }),
      h("div", { class: "link-state " + (on ? "on" : "off"), role: "status" }, h("span", { class: "dot" }), h("span", { text: app ? t(on ? "appOn" : "appOff", { name: app.name }) : t("loading") }))),
    h("button", { class: "icon-btn", type: "button", "aria-label": t("preferences"), title: t("preferences"), "aria-haspopup": "dialog", "aria-expanded": "false", on: { click: (e) => preferences(e.currentTarget) } }, icon("gear")));
}

function scrollPart(items) {
  const ims = items.filter((x) => x.c.is_im);
  const rooms = items.filter((x) => !x.c.is_im);
  const threads = h("button", { class: "side-item" + (state.pane?.kind === "threads" ? " current" : ""), type: "button", data: { item: "threads" }, on: { click: openThreads } }, icon("threads", 17), h("span", { class: "side-label", text: t("threads") }));
  return h("div", { class: "side-scroll" }, threads,
    group(t("channels"), rooms, (c) => icon(c.is_private ? "lock" : "hash", 16)),
    group(t("dms"), ims, () => h("span", { class: "face-wrap" }, avatar(state.app?.bot_user_id, "tiny"), h("span", { class: "presence " + (state.app?.connected ? "on" : "off") }))));
}

function openThreads() {
  const c = channel(state.channel)?.is_im || !threadsOf(state.channel).length ? state.channels.find((x) => threadsOf(x.id).length) || channel(state.channel) : channel(state.channel);
  if (c && c.id !== state.channel) openChannel(c.id);
  openPane("threads");
}

function group(name, items, lead) {
  if (!items.length) return null;
  return h("section", { class: "side-group" }, h("h2", { class: "side-title", text: name }), h("ul", {}, items.map((x) => h("li", {}, row(x, lead)))));
}

function row({ c, bold, count }, lead) {
  const current = c.id === state.channel;
  return h("button", {
    class: ["side-item", current && "current", bold && "unread"].filter(Boolean).join(" "), type: "button", "aria-current": current ? "page" : null, data: { item: c.id, channel: c.id },
    on: { click: () => (current && !state.pane ? screen("channel") : openChannel(c.id)) },
  }, lead(c), bdi(c.name, "side-label"), count > 0 && h("span", { class: "count", text: String(count) }));
}
