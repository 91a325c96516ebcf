// The page's start: who, where, the first load and the event stream.

import { get, listen } from "./api.js";
import { state, on, touch, put, drop, loadAll, loadChannel, loadThread } from "./store.js";
import { user, channel } from "./directory.js";
import { applyPreferences } from "./preferences.js";
import { loadSprite } from "./render/emoji.js";
import { mountSidebar } from "./sidebar.js";
import { mountTopbar } from "./topbar.js";
import { mountChannel, channelComposer } from "./channel.js";
import { mountPane } from "./pane.js";
import { mountModals, onViewEvent } from "./modal.js";
import { mountKeys } from "./keys.js";
import { onPerson } from "./people.js";
import { openChannel, openThread, remember, screen } from "./open.js";
import { read } from "./route.js";
import { t } from "./i18n.js";

const $ = (id) => document.getElementById(id);
let stop = () => {};

applyPreferences("");
start();

async function start() {
  mountTopbar($("topbar"));
  mountSidebar($("sidebar"));
  mountChannel($("channel"));
  mountPane($("pane"));
  mountModals();
  mountKeys({ person: become, compose: () => channelComposer().focus() });
  onPerson(become);
  on(["linked", "words"], () => {
    $("offline").hidden = state.linked;
    $("offline").textContent = t("reconnecting");
    $("skip").textContent = t("skip");
  });
  addEventListener("popstate", follow);
  addEventListener("hashchange", follow);
  $("skip").addEventListener("click", (e) => {
    e.preventDefault();
    document.querySelector("#channel .list-inner").focus();
  });
  setInterval(() => touch("clock"), 30000);
  await firstLoad();
}

// The server may come up after the page: the first load is tried until it is there.
async function firstLoad() {
  try {
    const [app, users, commands] = await Promise.all([get("app"), get("users"), get("commands"), loadSprite("/emoji.svg")]);
    Object.assign(state, { app, users, commands });
    applyPreferences(app.lang || "");
    touch("words");
    await become(chosen(read().as), true);
    document.body.classList.add("ready");
  } catch {
    state.linked = false;
    touch("linked");
    setTimeout(firstLoad, 1000);
  }
}

const KEY = "lab.person";

function stored() {
  try {
    return sessionStorage.getItem(KEY) || localStorage.getItem(KEY) || "";
  } catch {
    return "";
  }
}

function chosen(wanted) {
  const u = user(wanted) || user(stored()) || state.users.find((x) => x.title === "Learner") || state.users[0];
  return u?.id || "";
}

/** become changes the viewpoint to another person. */
async function become(id, first = false) {
  stop();
  state.me = id;
  state.holdRead = "";
  try {
    sessionStorage.setItem(KEY, id);
    localStorage.setItem(KEY, id);
  } catch { /* the address still carries the person */ }
  touch("me");
  stop = listen(id, onEvent, (up) => {
    if (state.linked === up) return;
    state.linked = up;
    touch("linked");
  });
  await loadAll();
  const at = first ? read() : { channel: state.channel, thread: state.pane?.kind === "thread" ? state.pane.ts : "", focus: "" };
  go(at, !first);
}

function go(at, push) {
  const id = channel(at.channel) || state.channels.find((c) => c.name === at.channel) || state.channels[0];
  if (!id) return;
  if (at.thread && id.id === at.channel) {
    openChannel(id.id, { push: false, keepPane: true });
    openThread(id.id, at.thread, false, at.focus);
    return;
  }
  openChannel(id.id, { focus: at.focus, push: false });
  if (push) remember();
}

function follow() {
  const at = read();
  if (at.as && user(at.as) && user(at.as).id !== state.me) become(user(at.as).id, true);
  else go(at, false);
}

function onEvent(name, data) {
  switch (name) {
    case "message":
    case "message_changed":
      return put(data.channel, { ...data.message, channel: data.channel });
    case "message_deleted":
      return drop(data.channel, data.ts, false);
    case "ephemeral":
    case "ephemeral_changed":
      return data.user === state.me && put(data.channel, { ...data.message, channel: data.channel, ephemeral: true });
    case "ephemeral_deleted":
      return data.user === state.me && drop(data.channel, data.ts, true);
    case "view_opened":
    case "view_updated":
    case "view_closed":
      return onViewEvent(name, data);
    case "home_published":
      if (data.user === state.me) state.home = data.view;
      return touch("home");
    case "app_connected":
    case "app_disconnected":
      state.app = { ...state.app, connected: data.sockets > 0, sockets: data.sockets };
      refreshCommands();
      return touch("app");
    case "channel_created":
    case "channel_changed":
      return refreshChannels();
    case "reset":
      return reload();
  }
}

async function refreshCommands() {
  state.commands = await get("commands").catch(() => state.commands);
  touch("messages");
}

async function refreshChannels() {
  const channels = await get("channels", { as: state.me }).catch(() => null);
  if (!channels) return;
  const known = new Set(state.channels.map((c) => c.id));
  state.channels = channels;
  touch("channels");
  for (const c of channels) if (!known.has(c.id)) loadChannel(c.id).catch(() => null);
}

// Everything anew: the stream could not say what was missed.
async function reload() {
  await loadAll().catch(() => null);
  if (state.pane?.kind === "thread") loadThread(state.channel, state.pane.ts).catch(() => null);
}

screen("channel");
