// Names, faces and colours of people, the bot and channels.

import { h, svg } from "./dom.js";
import { state } from "./store.js";

const FLASK = ["M8 2.5h4M9 2.5v5L4.6 15a1.7 1.7 0 0 0 1.5 2.5h7.8a1.7 1.7 0 0 0 1.5-2.5L11 7.5v-5", "M6.6 12.5h6.8"];
const SPARK = ["M10 3v4M10 13v4M3 10h4M13 10h4M5.2 5.2 7.5 7.5M12.5 12.5l2.3 2.3M14.8 5.2 12.5 7.5M7.5 12.5l-2.3 2.3"];

/** user finds a person by id or name. */
export const user = (id) => state.users.find((u) => u.id === id || u.name === id);

export const isBot = (id) => id === state.app?.bot_user_id;

/** userName is what stands beside a message. */
export function userName(id) {
  if (isBot(id)) return state.app.name;
  if (id === "USLACKBOT") return "Slackbot";
  const u = user(id);
  return u ? u.real_name || u.name : "";
}

/** handle is the name used after an @. */
export const handle = (id) => (isBot(id) ? state.app.name : user(id)?.name || "");

export const channel = (id) => state.channels.find((c) => c.id === id);

/** channelName is the name without # ("labbot" for a direct message). */
export function channelName(id) {
  const c = channel(id);
  return c ? c.name : "";
}

/** dir is what the renderer needs to know of names. */
export const dir = {
  get me() {
    return state.me;
  },
  userName,
  channelName: (id) => (channel(id)?.is_im ? "" : channelName(id)),
  people: () => state.users.map((u) => ({ id: u.id, name: u.real_name || u.name })),
  channels: () => state.channels.filter((c) => !c.is_im),
};

/** avatar draws a face: initials on the person's colour, or the bot's flask. */
export function avatar(id, size = "") {
  const cls = `avatar ${size}`.trim();
  if (isBot(id)) return h("span", { class: cls + " bot", "aria-hidden": "true" }, svg(FLASK, 22));
  if (id === "USLACKBOT") return h("span", { class: cls + " system", "aria-hidden": "true" }, svg(SPARK, 22));
  const u = user(id);
  const color = /^#[0-9a-f]{6}$/i.test(u?.color || "") ? u.color : "#5b6270";
  return h("span", { class: cls, "aria-hidden": "true", vars: { "--face": color }, data: { initials: u?.initials || (u?.real_name || "?").slice(0, 1) } });
}
