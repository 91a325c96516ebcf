// The right-hand pane: a thread, the list of threads, or search.

import { h, bdi } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./i18n.js";
import * as time from "./time.js";
import { get } from "./api.js";
import { state, on, replies, threadsOf, put } from "./store.js";
import { channel, dir, userName, avatar } from "./directory.js";
import { List } from "./list.js";
import { Composer } from "./composer.js";
import { mrkdwn } from "./render/tree.js";
import { closePane, openThread, openChannel } from "./open.js";

let list;
let composer;
let shown = "";
let body;
let root;
let head;

/** mountPane builds the pane. */
export function mountPane(into) {
  root = into;
  list = new List("thread", t("thread"));
  composer = new Composer({ where: "thread" });
  head = h("header", { class: "pane-head" });
  body = h("div", { class: "pane-body" });
  root.append(head, body, list.el, composer.el);
  on(["open", "messages", "channels", "words", "clock"], draw);
}

/** threadComposer is the composer of the open thread. */
export const threadComposer = () => composer;

const label = () => {
  const c = channel(state.channel);
  return c?.is_im ? c.name : `#${c?.name || ""}`;
};

function title(text, sub) {
  const sig = `${text}|${sub}`;
  if (head.dataset.sig === sig) return;
  head.dataset.sig = sig;
  head.replaceChildren(
    h("button", { class: "icon-btn phone-only", type: "button", "aria-label": t("back"), on: { click: closePane } }, icon("back")),
    h("h2", { class: "pane-title", text }), sub && bdi(sub, "pane-sub"), h("span", { class: "spacer" }),
    h("button", { class: "icon-btn laptop-only", type: "button", "aria-label": t("close"), title: t("close"), on: { click: closePane } }, icon("close")));
}

function draw() {
  const p = state.pane;
  root.hidden = !p;
  document.body.classList.toggle("has-pane", Boolean(p));
  if (!p) {
    shown = "";
    return;
  }
  const thread = p.kind === "thread";
  list.el.hidden = composer.el.hidden = !thread;
  body.hidden = thread;
  root.setAttribute("aria-label", t(p.kind));
  if (thread) drawThread(p);
  else if (p.kind === "threads") drawThreads();
  else drawSearch(p);
}

function drawThread(p) {
  title(t("thread"), label());
  const key = `${state.me} ${state.channel} ${p.ts}`;
  if (shown !== key) {
    shown = key;
    list.reset();
    composer.open({ channel: state.channel, thread: p.ts, name: label() });
  }
  const all = replies(state.channel, p.ts);
  const count = all.filter((m) => !m.ephemeral).length - 1;
  list.show(all, { me: state.me, rootDivider: count > 0 ? t("replies", { n: count }) : null });
  if (p.compose) {
    p.compose = false;
    composer.focus();
  }
  if (state.focus && list.reveal(state.focus)) state.focus = "";
}

function drawThreads() {
  title(t("threads"), label());
  shown = "threads";
  const threads = threadsOf(state.channel);
  body.replaceChildren(threads.length ? h("ul", { class: "results" }, threads.map((m) => h("li", {}, card(m, t("replies", { n: m.reply_count }) + " · " + t("lastReply", { ago: time.ago(m.latest_reply) }), () => openThread(state.channel, m.ts))))) : h("p", { class: "pane-none", text: t("noThreads") }));
}

function card(m, note, open) {
  return h("button", { class: "result", type: "button", on: { click: open } },
    avatar(m.user, "small"),
    h("span", { class: "result-body" },
      h("span", { class: "result-head" }, bdi(userName(m.user) || m.username || "", "author"), h("span", { class: "quiet", text: `${time.dayName(m.ts)}, ${time.clock(m.ts)}` })),
      h("span", { class: "result-text", dir: "auto" }, mrkdwn(String(m.text || "").slice(0, 280), plainDir)),
      note && h("span", { class: "result-note", text: note })));
}

// Inside a button there can be no links: channels become plain mentions.
const plainDir = { ...dir, channelName: () => "", userName, get me() { return state.me; } };

function drawSearch(p) {
  title(t("search"), label());
  const key = `search ${state.me} ${state.channel} ${document.documentElement.lang}`;
  if (shown === key) return;
  shown = key;
  const field = h("input", { class: "field-input", type: "search", "aria-label": t("searchIn", { name: label() }), placeholder: t("searchIn", { name: label() }), dir: "auto" });
  field.value = p.q || "";
  const status = h("p", { class: "pane-none", role: "status" });
  const results = h("ul", { class: "results" });
  let timer;
  let turn = 0;
  const run = async () => {
    p.q = field.value;
    const mine = ++turn;
    if (!field.value.trim()) return results.replaceChildren(), (status.textContent = "");
    status.textContent = t("searching");
    const found = await get("search", { channel: state.channel, q: field.value.trim(), as: state.me }).catch(() => null);
    if (mine !== turn) return;
    status.textContent = found ? (found.length ? t("results", { n: found.length }) : t("noResults")) : t("netFailed");
    results.replaceChildren(...(found || []).map((m) => h("li", {}, card(m, "", () => show(m)))));
  };
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(run, 150);
  });
  body.replaceChildren(h("div", { class: "search-field" }, icon("search", 16), field), status, results);
  field.focus();
  run();
}

function show(m) {
  const inThread = m.thread_ts && m.thread_ts !== m.ts;
  put(state.channel, m);
  if (inThread) openThread(state.channel, m.thread_ts, false, m.ts);
  else openChannel(state.channel, { focus: m.ts });
}
