// Keyboard use of the whole page.

import { h, uid } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./i18n.js";
import { state, roots, message, touch } from "./store.js";
import { trap, trapped } from "./focus.js";
import { openPane, closePane, openThread, openChannel } from "./open.js";
import { openList } from "./popup.js";
import { avatar } from "./directory.js";
import { markRead } from "./read.js";

let choosePerson = () => {};
let composeFocus = () => {};

/** mountKeys listens for the shortcuts. */
export function mountKeys({ person, compose }) {
  choosePerson = person;
  composeFocus = compose;
  document.addEventListener("keydown", onKey);
}

const mod = (e) => e.ctrlKey || e.metaKey;

function onKey(e) {
  if (trapped() || e.defaultPrevented) return;
  const row = e.target.closest?.(".msg");
  const typing = e.target.matches?.("input,textarea,select");
  if (mod(e) && e.key.toLowerCase() === "k") return take(e, jump);
  if (mod(e) && e.key === "/") return take(e, showShortcuts);
  if (mod(e) && e.shiftKey && e.key.toLowerCase() === "f") return take(e, () => openPane("search", { q: "" }));
  if (e.key === "Escape" && !(typing && e.target.value)) return take(e, escape);
  if (typing) return;
  if (e.key === "/" || e.key.toLowerCase() === "c") return mod(e) ? null : take(e, composeFocus);
  if (["ArrowDown", "ArrowUp", "Home", "End"].includes(e.key) && e.target.closest?.(".list-inner")) return take(e, () => walk(e, row));
  if (row && e.target === row && (e.key.toLowerCase() === "t" || e.key === "ArrowRight" || e.key === "Enter")) {
    const m = message(state.channel, row.dataset.ts);
    if (m) take(e, () => openThread(state.channel, m.thread_ts || m.ts));
  }
}

function take(e, fn) {
  e.preventDefault();
  fn();
}

function walk(e, row) {
  const rows = [...e.target.closest(".list-inner").querySelectorAll(".msg")];
  if (!rows.length) return;
  const at = rows.indexOf(row);
  const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? rows.length - 1 : at - 1, Home: 0, End: rows.length - 1 }[e.key];
  const next = rows[Math.max(0, Math.min(rows.length - 1, to))];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function escape() {
  if (closePane()) return;
  const newest = roots(state.channel).at(-1);
  state.holdRead = "";
  if (newest && markRead(state.channel, newest.ts)) touch("read");
  touch("messages");
}

function jump() {
  const anchor = document.querySelector(".channel-title");
  const channels = state.channels.map((c) => ({ label: (c.is_im ? "@" : "#") + c.name, value: c.id, go: () => openChannel(c.id) }));
  const people = state.users.map((u) => ({ label: u.real_name || u.name, note: t("switchPerson"), value: u.id, lead: avatar(u.id, "tiny"), go: () => choosePerson(u.id) }));
  openList(anchor, { label: t("jumpTo"), filter: true, groups: [{ label: t("jumpTo"), items: channels }, { label: t("switchPerson"), items: people }], pick: (item) => item.go() });
}

const ROWS = [
  ["Ctrl K", "kSwitch"], ["Ctrl Shift F", "kSearch"], ["/", "kCompose"], ["↑ ↓", "kUpDown"], ["T", "kThread"], ["Esc", "kEscape"], ["Ctrl /", "kTheme"],
];

/** showShortcuts lists the keys. */
export function showShortcuts() {
  const id = uid("keys");
  const close = () => {
    release();
    layer.remove();
  };
  const box = h("div", { class: "modal small", role: "dialog", "aria-modal": "true", "aria-labelledby": id },
    h("div", { class: "modal-head" }, h("h2", { id, text: t("shortcuts") }), h("button", { class: "icon-btn", type: "button", "aria-label": t("close"), on: { click: close } }, icon("close"))),
    h("dl", { class: "modal-body keys" }, ROWS.map(([key, word]) => [h("dt", {}, key.split(" ").map((k) => h("kbd", { text: k }))), h("dd", { text: t(word) })])));
  const layer = h("div", { class: "modal-layer", on: { pointerdown: (e) => e.target === layer && close() } }, box);
  document.body.append(layer);
  const release = trap(box, { onEscape: close });
}

