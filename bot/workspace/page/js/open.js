// Moving about: which channel, pane and message are open, and the address.

import { state, touch, loadThread } from "./store.js";
import { write } from "./route.js";
import { user } from "./directory.js";
import { toast } from "./toast.js";
import { t } from "./i18n.js";

const here = () => ({
  channel: state.channel, thread: state.pane?.kind === "thread" ? state.pane.ts : "", focus: state.focus, as: user(state.me)?.name || state.me,
});

/** remember puts what is open into the address. */
export const remember = (push = false) => write(here(), push);

/** openChannel shows a channel; on a phone it also leaves the list. */
export function openChannel(id, { focus = "", push = true, keepPane = false } = {}) {
  if (state.channel !== id) state.holdRead = "";
  state.channel = id;
  state.focus = focus;
  state.tab = "messages";
  if (!keepPane) state.pane = null;
  screen("channel");
  remember(push);
  touch("open", "messages");
}

/** openThread shows a thread beside its channel. */
export async function openThread(channel, ts, compose = false, focus = "") {
  state.channel = channel;
  state.pane = { kind: "thread", ts, compose };
  state.focus = focus;
  screen("pane");
  remember(true);
  touch("open", "messages");
  try {
    await loadThread(channel, ts);
  } catch {
    toast(t("netFailed"), "bad");
  }
}

/** openPane shows the thread list ("threads") or the search ("search"). */
export function openPane(kind, more = {}) {
  state.pane = { kind, ...more };
  screen("pane");
  touch("open", "messages");
}

/** closePane closes the right-hand pane. */
export function closePane() {
  if (!state.pane) return false;
  state.pane = null;
  state.focus = "";
  screen("channel");
  remember();
  touch("open", "messages");
  return true;
}

/** screen chooses what a phone shows: "list", "channel" or "pane". */
export function screen(name) {
  document.body.dataset.screen = name;
}
