// What a person has read, kept in this browser: the ts of the newest message
// seen, for each person and channel.

import { state, roots } from "./store.js";

const key = (channel) => `lab.read.${state.me}.${channel}`;
const marks = new Map();

/** lastRead is the newest ts seen in a channel, "" when never opened. */
export function lastRead(channel) {
  const k = key(channel);
  if (!marks.has(k)) {
    let v = "";
    try {
      v = localStorage.getItem(k) || "";
    } catch { /* storage may be forbidden: marks then live as long as the page */ }
    marks.set(k, v);
  }
  return marks.get(k);
}

/** markRead moves the mark; it never goes back unless forced. */
export function markRead(channel, ts, force = false) {
  if (!force && Number(ts) <= Number(lastRead(channel))) return false;
  marks.set(key(channel), ts);
  try {
    localStorage.setItem(key(channel), ts);
  } catch { /* see lastRead */ }
  return true;
}

/** unread lists a channel's messages of others newer than the mark. */
export const unread = (channel) =>
  roots(channel).filter((m) => Number(m.ts) > Number(lastRead(channel)) && m.user !== state.me && m.subtype !== "tombstone");

/** mentions counts those that name the person, or everybody. */
export const mentions = (list) =>
  list.filter((m) => m.ephemeral || String(m.text || "").includes(`<@${state.me}`) || /<!(here|channel|everyone)>/.test(m.text || "")).length;
