// What the composer offers while one types: commands after a slash, their words
// after a space, people after @, channels after #, emoji after a colon.

import { state } from "./store.js";
import { names } from "./render/emoji.js";

const MOST = 8;

/**
 * suggest returns {from, to, items:[{insert, label, note, hint, lead}]} for the
 * text before the caret, or null when there is nothing to offer.
 */
export function suggest(text, caret) {
  const before = text.slice(0, caret);
  return command(before) || words(before) || person(before) || room(before) || smiley(before);
}

const offer = (from, to, items) => (items.length ? { from, to, items: items.slice(0, MOST) } : null);

function command(before) {
  if (!/^\/\S*$/.test(before)) return null;
  const items = state.commands.filter((c) => c.command.startsWith(before.toLowerCase()));
  return offer(0, before.length, items.map((c) => ({ insert: c.command + " ", label: c.command, hint: c.usage_hint, note: c.description, kind: "command" })));
}

function words(before) {
  const m = /^(\/\S+)\s+(.*)$/s.exec(before);
  const cmd = m && state.commands.find((c) => c.command === m[1].toLowerCase());
  if (!cmd) return null;
  const typed = m[2].toLowerCase();
  const hits = (cmd.completions || []).filter((c) => c.text.startsWith(typed) && c.text !== typed);
  const near = hits.length || !typed ? hits : (cmd.completions || []).filter((c) => c.text.includes(typed));
  return offer(before.length - m[2].length, before.length, near.map((c) => ({ insert: c.text, label: `${cmd.command} ${c.text}`, note: c.description, kind: "word" })));
}

function person(before) {
  const m = /(?:^|\s)@([\p{L}\p{N}_.-]*)$/u.exec(before);
  if (!m) return null;
  const typed = m[1].toLowerCase();
  const bot = state.app ? [{ id: state.app.bot_user_id, name: state.app.name, real_name: state.app.name }] : [];
  const hits = [...bot, ...state.users].filter((u) => u.name.toLowerCase().startsWith(typed) || (u.real_name || "").toLowerCase().includes(typed));
  return offer(before.length - m[1].length - 1, before.length, hits.map((u) => ({ insert: `@${u.name} `, label: u.real_name || u.name, note: u.real_name === u.name ? state.app?.description : `@${u.name}`, face: u.id, kind: "person" })));
}

function room(before) {
  const m = /(?:^|\s)#([\p{L}\p{N}_-]*)$/u.exec(before);
  if (!m) return null;
  const hits = state.channels.filter((c) => !c.is_im && c.name.startsWith(m[1].toLowerCase()));
  return offer(before.length - m[1].length - 1, before.length, hits.map((c) => ({ insert: `#${c.name} `, label: `#${c.name}`, note: c.topic, kind: "channel" })));
}

function smiley(before) {
  const m = /(?:^|\s):([a-z0-9_+-]{2,})$/.exec(before);
  if (!m) return null;
  const hits = names().filter((n) => n.includes(m[1])).sort((a, b) => a.indexOf(m[1]) - b.indexOf(m[1]) || a.length - b.length);
  return offer(before.length - m[1].length - 1, before.length, hits.map((n) => ({ insert: `:${n}: `, label: `:${n}:`, emoji: n, kind: "emoji" })));
}
