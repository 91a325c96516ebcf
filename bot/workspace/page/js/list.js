// A scrolling list of messages kept in step with the store: it stays at the
// bottom when it was there, and does not move under a reader otherwise.

import { h } from "./dom.js";
import { t } from "./i18n.js";
import { icon } from "./icons.js";
import * as time from "./time.js";
import { keyOf } from "./store.js";
import { create, update } from "./message.js";

const GROUP = 300; // seconds within which one author's messages join
const EDGE = 300; // px from the top at which older messages are asked for
const NEAR = 60; // px from the bottom that count as being there

/** List is one such list: el is its element, show(messages, options) draws it. */
export class List {
  constructor(where, label) {
    this.where = where;
    this.rows = new Map();
    this.inner = h("div", { class: "list-inner", role: "log", "aria-label": label, "aria-relevant": "additions", tabindex: "0" });
    this.head = h("div", { class: "list-head" });
    this.scroller = h("div", { class: "list-scroll", on: { scroll: () => this.scrolled() } }, this.head, this.inner);
    this.pill = h("button", { class: "new-pill", type: "button", hidden: true, on: { click: () => this.toBottom() } }, h("span", {}), icon("down", 14));
    this.el = h("div", { class: "list" }, this.scroller, this.pill);
    this.stuck = true;
    this.newest = "";
    // Pictures and unfolding snippets change heights after drawing.
    new ResizeObserver(() => this.stuck && this.toBottom()).observe(this.inner);
    new ResizeObserver(() => this.stuck && this.toBottom()).observe(this.scroller);
  }

  scrolled() {
    const s = this.scroller;
    this.stuck = s.scrollHeight - s.scrollTop - s.clientHeight < NEAR;
    if (this.stuck) this.pill.hidden = true;
    if (s.scrollTop < EDGE) this.onTop?.();
  }

  toBottom() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.stuck = true;
    this.pill.hidden = true;
  }

  /** reset forgets all rows: another channel, thread or person comes. */
  reset() {
    this.rows.clear();
    this.inner.replaceChildren();
    this.newest = "";
    this.stuck = true;
    this.pill.hidden = true;
  }

  /** show draws messages. unreadFrom is the ts after which the "New" line stands. */
  show(messages, { unreadFrom = "", me = "", rootDivider = null } = {}) {
    const anchor = this.stuck ? null : this.anchor();
    const want = this.plan(messages, unreadFrom, me, rootDivider);
    const keep = new Set(want);
    for (const el of [...this.inner.children]) if (!keep.has(el)) el.remove();
    want.forEach((el, i) => {
      if (this.inner.children[i] !== el) this.inner.insertBefore(el, this.inner.children[i] || null);
    });
    const last = messages.at(-1);
    const grew = last && this.newest && Number(last.ts) > Number(this.newest);
    this.newest = last?.ts || "";
    if (this.stuck || (grew && last.user === me)) this.toBottom();
    else {
      if (anchor?.el.isConnected) this.scroller.scrollTop += anchor.el.offsetTop - anchor.top;
      if (grew) this.announce();
    }
  }

  announce() {
    this.pill.firstChild.textContent = t("newMessages");
    this.pill.hidden = false;
  }

  anchor() {
    const top = this.scroller.scrollTop;
    const el = [...this.inner.children].find((x) => x.offsetTop + x.offsetHeight > top);
    return el ? { el, top: el.offsetTop } : null;
  }

  plan(messages, unreadFrom, me, rootDivider) {
    const want = [];
    const seen = new Set();
    let prev = null;
    let marked = false;
    messages.forEach((m, i) => {
      if (!rootDivider && (!prev || time.dayKey(prev.ts) !== time.dayKey(m.ts))) want.push(this.line("day " + time.dayKey(m.ts), "day", time.dayName(m.ts), seen));
      if (!marked && unreadFrom && Number(m.ts) > Number(unreadFrom) && m.user !== me) {
        marked = true;
        want.push(this.line("new", "new-line", t("newMark"), seen));
        prev = null;
      }
      const key = keyOf(m);
      seen.add(key);
      if (!this.rows.has(key)) this.rows.set(key, create());
      const el = this.rows.get(key);
      update(el, m, { grouped: i > 0 && joins(prev, m), where: this.where });
      want.push(el);
      prev = m;
      if (rootDivider && i === 0) {
        want.push(this.line("root", "count-line", rootDivider, seen));
        prev = null;
      }
    });
    for (const key of [...this.rows.keys()]) if (!seen.has(key)) this.rows.delete(key);
    return want;
  }

  line(key, cls, text, seen) {
    seen.add(key);
    if (!this.rows.has(key)) this.rows.set(key, h("div", { class: cls, role: "separator" }, h("span", {})));
    const el = this.rows.get(key);
    if (el.firstChild.textContent !== text) el.firstChild.textContent = text;
    el.setAttribute("aria-label", text);
    return el;
  }

  /** reveal scrolls a message into view and lights it up for a moment. */
  reveal(ts) {
    const el = this.rows.get("m" + ts) || this.rows.get("e" + ts);
    if (!el) return false;
    this.stuck = false;
    el.scrollIntoView({ block: "center" });
    el.classList.remove("lit");
    void el.offsetWidth;
    el.classList.add("lit");
    el.focus({ preventScroll: true });
    return true;
  }
}

function joins(prev, m) {
  return prev && prev.user === m.user && prev.username === m.username && Boolean(prev.ephemeral) === Boolean(m.ephemeral)
    && !prev.reply_count && Number(m.ts) - Number(prev.ts) < GROUP && time.dayKey(prev.ts) === time.dayKey(m.ts) && m.subtype !== "tombstone";
}
