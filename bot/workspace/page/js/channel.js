// The middle of the page: the channel's head, its messages and its composer.

import { h, bdi } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./i18n.js";
import { state, on, roots, touch, loadOlder } from "./store.js";
import { channel, avatar } from "./directory.js";
import { List } from "./list.js";
import { Composer } from "./composer.js";
import { lastRead, markRead } from "./read.js";
import { openPane, closePane, screen } from "./open.js";
import { drawHome } from "./home.js";
import { personButton } from "./people.js";

let list;
let composer;
let shown = "";
let unreadFrom = "";
const el = {};

/** mountChannel builds the middle once and keeps it in step with the store. */
export function mountChannel(root) {
  list = new List("channel", t("messages"));
  list.onTop = () => loadOlder(state.channel).catch(() => false);
  composer = new Composer({ where: "channel" });
  el.head = h("header", { class: "channel-head" });
  el.tabs = h("div", { class: "tabs", role: "tablist" });
  el.home = h("div", { class: "home", hidden: true });
  el.composer = composer;
  root.append(el.head, el.tabs, list.el, el.home, composer.el);
  on(["open", "channels", "app", "words"], drawHead);
  on(["open", "messages", "words", "home"], drawList);
  on(["clock"], drawList);
  document.addEventListener("visibilitychange", drawList);
}

/** channelComposer is the composer of the open channel. */
export const channelComposer = () => composer;

const label = (c) => (c?.is_im ? c.name : `#${c?.name || ""}`);

function drawHead() {
  const c = channel(state.channel);
  if (!c) {
    el.head.replaceChildren();
    return;
  }
  document.title = `${label(c)} · ${t("workspace")}`;
  const search = state.pane?.kind === "search";
  el.head.replaceChildren(
    h("button", { class: "icon-btn phone-only", type: "button", "aria-label": t("back"), on: { click: () => screen("list") } }, icon("back")),
    h("h1", { class: "channel-title" }, c.is_im ? avatar(state.app?.bot_user_id, "tiny") : icon(c.is_private ? "lock" : "hash", 17), bdi(c.name)),
    c.topic && h("span", { class: "channel-topic", dir: "auto", title: c.topic, text: c.topic }),
    h("span", { class: "spacer" }),
    !c.is_im && h("span", { class: "members", title: t("members", { n: c.members?.length || 0 }) }, icon("people", 16), h("span", { text: String(c.members?.length || 0) })),
    h("button", { class: "icon-btn phone-only", type: "button", "aria-label": t("searchIn", { name: label(c) }), "aria-expanded": String(search), title: t("searchIn", { name: label(c) }), on: { click: () => (search ? closePane() : openPane("search", { q: "" })) } }, icon("search")),
    h("span", { class: "phone-only" }, personButton(true)),
  );
  const tabbed = c.is_im && state.app?.home_enabled;
  const tab = (name) => h("button", { class: "tab", role: "tab", type: "button", "aria-selected": String((state.tab || "messages") === name), text: t(name), on: { click: () => { state.tab = name; touch("open", "home"); } } });
  el.tabs.hidden = !tabbed;
  el.tabs.replaceChildren(...(tabbed ? [tab("home"), tab("messages")] : []));
}

function drawList() {
  const c = channel(state.channel);
  const home = c?.is_im && state.tab === "home";
  el.home.hidden = !home;
  list.el.hidden = composer.el.hidden = Boolean(home) || !c;
  if (home) {
    drawHome(el.home);
    return;
  }
  if (!c) return;
  const key = `${state.me} ${c.id}`;
  const fresh = shown !== key;
  if (fresh) {
    shown = key;
    list.reset();
    unreadFrom = lastRead(c.id);
    composer.open({ channel: c.id, name: label(c) });
  }
  const messages = roots(c.id);
  drawStart(c, messages);
  list.show(messages, { unreadFrom: state.holdRead === c.id ? lastRead(c.id) : unreadFrom, me: state.me });
  if (state.focus && !state.pane && list.reveal(state.focus)) state.focus = "";
  seen(c, messages);
}

// What stands on the screen of a page that is looked at has been read.
function seen(c, messages) {
  const newest = messages.at(-1);
  if (!newest || document.hidden || state.holdRead === c.id || !list.stuck) return;
  if (markRead(c.id, newest.ts)) touch("read");
}

function drawStart(c, messages) {
  const sig = [c.id, messages.length > 0, state.commands.length, document.documentElement.lang].join();
  if (list.head.dataset.sig === sig) return;
  list.head.dataset.sig = sig;
  const first = state.channels.find((x) => !x.is_im);
  const say = c.is_im ? "help" : firstCommand();
  list.head.replaceChildren(
    h("div", { class: "start-mark" }, c.is_im ? avatar(state.app?.bot_user_id, "big") : h("span", { class: "start-icon" }, icon(c.is_private ? "lock" : "hash", 28))),
    h("h2", { class: "start-title" }, t("welcome", { name: label(c) })),
    h("p", { class: "start-text", text: c.purpose || (c.is_im ? t("welcomeDM") : c.id === first?.id ? t("welcomeClass") : t("noMessages")) }),
    (c.is_im || c.id === first?.id) && h("button", { class: "chip", type: "button", title: t("tryIt"), on: { click: () => composer.fill(say) } }, h("code", { text: say })),
  );
}

/** firstCommand is what a newcomer should type first. */
export function firstCommand() {
  const lab = state.commands.find((x) => x.command === "/lab") || state.commands[0];
  if (!lab) return "/lab break-image";
  const word = lab.completions?.find((x) => x.text === "break-image");
  return word ? `${lab.command} ${word.text}` : lab.command === "/lab" ? "/lab break-image" : `${lab.command} help`;
}

