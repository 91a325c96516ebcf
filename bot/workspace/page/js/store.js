// What the page knows: people, channels, messages, views, and what is open.
// Parts of the page subscribe to a topic and are called once per turn of the
// event loop however many events came in.

import { get } from "./api.js";

export const state = {
  app: null, // GET /_workspace/app
  users: [],
  channels: [],
  me: "", // the id of the person the page is looking as
  channel: "", // the open channel
  pane: null, // {kind: "thread", ts} | {kind: "threads"} | {kind: "search", q}
  focus: "", // ts of the message a deep link points at
  commands: [],
  views: [], // open modals, root first
  home: null,
  linked: true, // the event stream is up
  tab: "messages", // of a direct message: "messages" or "home"
  holdRead: "", // the channel whose unread mark was put back by hand
  messages: new Map(), // channel → Map(key → message)
  threads: new Set(), // "channel ts" of threads read whole
};

const listeners = new Map();
let dirty = new Set();

/** on calls fn after the topic was touched. */
export function on(topics, fn) {
  for (const topic of topics) listeners.set(topic, [...(listeners.get(topic) || []), fn]);
}

/** touch marks topics as changed; subscribers run in the next task. */
export function touch(...topics) {
  if (!dirty.size) setTimeout(flush);
  for (const topic of topics) dirty.add(topic);
}

function flush() {
  const fns = new Set([...dirty].flatMap((topic) => listeners.get(topic) || []));
  dirty = new Set();
  for (const fn of fns) fn();
}

/** keyOf tells an ephemeral message from a public one of the same ts. */
export const keyOf = (m) => (m.ephemeral ? "e" : "m") + m.ts;

/** isReply: a reply that is not also shown in the channel. */
export const isReply = (m) => Boolean(m.thread_ts && m.thread_ts !== m.ts && m.subtype !== "thread_broadcast");

const box = (channel) => {
  if (!state.messages.has(channel)) state.messages.set(channel, new Map());
  return state.messages.get(channel);
};

/** put takes a message in, or its newer form. */
export function put(channel, message) {
  box(channel).set(keyOf(message), message);
  touch("messages");
}

/** drop forgets a message. */
export function drop(channel, ts, ephemeral) {
  box(channel).delete((ephemeral ? "e" : "m") + ts);
  touch("messages");
}

const byTime = (a, b) => (a.ts === b.ts ? 0 : Number(a.ts) - Number(b.ts) || (a.ts < b.ts ? -1 : 1));

/** roots are the messages of a channel's main column, oldest first. */
export const roots = (channel) => [...box(channel).values()].filter((m) => !isReply(m)).sort(byTime);

/** replies are a thread's messages, its root first. */
export const replies = (channel, root) =>
  [...box(channel).values()].filter((m) => m.ts === root || m.thread_ts === root).sort(byTime);

/** message finds one public message. */
export const message = (channel, ts) => box(channel).get("m" + ts);

/** threadsOf lists roots with replies, the most recent reply first. */
export const threadsOf = (channel) =>
  roots(channel).filter((m) => m.reply_count > 0 && !m.ephemeral && (m.thread_ts ?? m.ts) === m.ts)
    .sort((a, b) => Number(b.latest_reply || b.ts) - Number(a.latest_reply || a.ts));

/** loadChannel reads a channel's newest messages as the present person. */
export async function loadChannel(channel) {
  const as = state.me;
  const list = await get("messages", { channel, as });
  if (as !== state.me) return;
  const old = box(channel);
  const kept = [...old.values()].filter((m) => isReply(m) && state.threads.has(`${channel} ${m.thread_ts}`));
  state.messages.set(channel, new Map([...kept, ...list].map((m) => [keyOf(m), m])));
  touch("messages");
}

const PAGE = 200; // messages in one page, the server's default
const whole = new Set(); // "person channel" read to its beginning
const asking = new Set();

/** loadOlder reads the page before the oldest message; false when there is none. */
export async function loadOlder(channel) {
  const key = `${state.me} ${channel}`;
  const oldest = roots(channel)[0];
  if (!oldest || whole.has(key) || asking.has(key) || roots(channel).length < PAGE) return false;
  asking.add(key);
  try {
    const list = await get("messages", { channel, as: state.me, before: oldest.ts });
    if (list.length < PAGE) whole.add(key);
    if (key !== `${state.me} ${channel}`) return false;
    for (const m of list) box(channel).set(keyOf(m), m);
    touch("messages");
    return list.length > 0;
  } finally {
    asking.delete(key);
  }
}

/** loadThread reads a thread whole. */
export async function loadThread(channel, ts) {
  const as = state.me;
  const list = await get("messages", { channel, thread_ts: ts, as, limit: 1000 });
  if (as !== state.me) return;
  for (const m of replies(channel, ts)) box(channel).delete(keyOf(m));
  for (const m of list) box(channel).set(keyOf(m), m);
  state.threads.add(`${channel} ${ts}`);
  touch("messages");
}

/** loadAll reads everything the present person may see. */
export async function loadAll() {
  const as = state.me;
  const [app, channels, views] = await Promise.all([get("app"), get("channels", { as }), get("views", { user: as })]);
  if (as !== state.me) return;
  Object.assign(state, { app, channels, views });
  state.messages.clear();
  whole.clear();
  state.threads.clear();
  touch("app", "channels", "views", "messages");
  await Promise.all(channels.map((c) => loadChannel(c.id)));
}
