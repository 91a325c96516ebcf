// The actions that appear on a message when it is pointed at or focused.

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./i18n.js";
import { state, message } from "./store.js";
import { post } from "./api.js";
import { toast } from "./toast.js";
import { permalink } from "./route.js";
import { openThread } from "./open.js";
import { markRead } from "./read.js";
import { openPopup, closePopup } from "./popup.js";
import { emoji } from "./render/emoji.js";
import { touch } from "./store.js";

const QUICK = ["eyes", "white_check_mark", "+1", "thinking_face", "tada", "raised_hands", "question", "bulb"];

/** toolbar makes the actions of a message. */
export function toolbar(channel, ts, where) {
  const button = (name, label, click) => h("button", { class: "icon-btn", type: "button", title: label, "aria-label": label, on: { click } }, icon(name));
  return h("div", { class: "toolbar", role: "group", "aria-label": t("actions") },
    button("smile", t("react"), (e) => pick(e.currentTarget, channel, ts)),
    where === "channel" && button("reply", t("replyInThread"), () => openThread(channel, message(channel, ts)?.thread_ts || ts, true)),
    button("link", t("copyLink"), () => copy(channel, ts)),
    where === "channel" && button("flag", t("markUnread"), () => unreadFrom(channel, ts)));
}

function pick(anchor, channel, ts) {
  const add = (name) => {
    closePopup();
    const mine = message(channel, ts)?.reactions?.find((r) => r.name === name)?.users?.includes(state.me);
    post("react", { user: state.me, channel, ts, name, remove: Boolean(mine) }).catch(() => toast(t("netFailed"), "bad"));
  };
  openPopup(anchor, h("div", { class: "emoji-row", role: "group", "aria-label": t("react") }, QUICK.map((name) =>
    h("button", { class: "icon-btn", type: "button", "aria-label": name.replace(/_/g, " "), on: { click: () => add(name) } }, emoji(name)))), { align: "end" });
}

async function copy(channel, ts) {
  const url = permalink(channel, ts, message(channel, ts)?.thread_ts);
  try {
    await navigator.clipboard.writeText(url);
    toast(t("copied"));
  } catch {
    prompt(t("copyLink"), url);
  }
}

function unreadFrom(channel, ts) {
  markRead(channel, (Number(ts) - 0.000001).toFixed(6), true);
  state.holdRead = channel;
  touch("messages");
}
