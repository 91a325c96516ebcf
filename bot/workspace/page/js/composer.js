// The box one writes in, with its completion list.

import { h, bdi, uid } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./i18n.js";
import { post } from "./api.js";
import { state, on } from "./store.js";
import { avatar } from "./directory.js";
import { emoji } from "./render/emoji.js";
import { suggest } from "./completion.js";
import { toast } from "./toast.js";

const drafts = new Map(); // "person channel thread" → text
const FORMATS = [["bold", "*"], ["italic", "_"], ["strike", "~"], ["code", "`"], ["codeBlock", "```\n", "\n```"], ["quote", "> ", ""]];

/** Composer is one box: el is its element; open says where it writes to. */
export class Composer {
  constructor({ where }) {
    this.where = where;
    this.listId = uid("complete");
    this.at = 0;
    this.offer = null;
    this.el = h("div", { class: `composer ${where}` });
    this.area = h("textarea", {
      rows: 1, dir: "auto", "aria-autocomplete": "list", "aria-controls": this.listId, "aria-haspopup": "listbox", spellcheck: "true", enterkeyhint: "send",
      on: { input: () => this.changed(), keydown: (e) => this.key(e), blur: () => setTimeout(() => this.hide(), 150), click: () => this.complete(), select: () => this.complete() },
    });
    this.list = h("div", { class: "complete", role: "listbox", id: this.listId, hidden: true });
    this.note = h("div", { class: "composer-note", role: "alert", hidden: true });
    this.send = h("button", { class: "send", type: "button", on: { click: () => this.submit() } }, icon("send", 18));
    this.hint = h("div", { class: "composer-hint" });
    this.box = h("div", { class: "composer-box" });
    this.el.append(this.list, this.note, this.box, this.hint);
    this.words();
    on(["words"], () => this.words());
  }

  words() {
    const tool = (name, label, click) => h("button", { class: "icon-btn", type: "button", title: label, "aria-label": label, on: { pointerdown: (e) => e.preventDefault(), click } }, icon(name, 17));
    const keep = this.area.value;
    this.broadcast = this.where === "thread" && h("input", { type: "checkbox" });
    this.castName = this.broadcast && h("span", {});
    this.box.replaceChildren(
      h("div", { class: "composer-format", role: "group", "aria-label": t("format") }, FORMATS.map(([name, a, b]) => tool(name, t(name), () => this.wrap(a, b ?? a)))),
      this.area,
      ...(this.broadcast ? [h("label", { class: "choice cast" }, this.broadcast, this.castName)] : []),
      h("div", { class: "composer-tools" }, tool("slash", t("slash"), () => this.start("/")), tool("at", t("mention"), () => this.insert("@")), tool("smile", t("emoji"), () => this.insert(":")), h("span", { class: "spacer" }), this.send));
    this.area.value = keep;
    this.send.setAttribute("aria-label", t("send"));
    this.list.setAttribute("aria-label", t("suggestions"));
    this.hint.textContent = t("sendHint", { key: "Enter" });
    this.relabel();
  }

  relabel() {
    if (!this.to) return;
    const text = this.where === "thread" ? t("reply") : t("messageTo", { name: this.to.name });
    this.area.placeholder = text;
    this.area.setAttribute("aria-label", text);
    if (this.castName) this.castName.textContent = t("alsoSend", { name: this.to.name });
  }

  /** open points the box at a channel or thread and brings its draft back. */
  open(to) {
    this.to = to;
    this.area.value = drafts.get(this.draftKey()) || "";
    if (this.broadcast) this.broadcast.checked = false;
    this.say("");
    this.hide();
    this.relabel();
    this.grow();
  }

  draftKey() {
    return `${state.me} ${this.to.channel} ${this.to.thread || ""}`;
  }

  focus() {
    this.area.focus();
  }

  /** fill puts a text into the box and sets the caret after it. */
  fill(text) {
    this.area.value = text;
    this.area.focus();
    this.area.setSelectionRange(text.length, text.length);
    this.changed();
  }

  start(text) {
    if (!this.area.value.startsWith("/")) this.fill(text + this.area.value);
    else this.focus();
  }

  insert(text) {
    const { selectionStart: a, selectionEnd: b, value } = this.area;
    const gap = a && !/\s/.test(value[a - 1]) ? " " : "";
    this.area.focus();
    this.area.setRangeText(gap + text, a, b, "end");
    this.changed();
  }

  wrap(before, after) {
    const { selectionStart: a, selectionEnd: b, value } = this.area;
    this.area.focus();
    this.area.setRangeText(before + value.slice(a, b) + after, a, b, "end");
    const caret = a === b ? a + before.length : b + before.length + after.length;
    this.area.setSelectionRange(caret, caret);
    this.changed();
  }

  changed() {
    drafts.set(this.draftKey(), this.area.value);
    this.say("");
    this.grow();
    this.complete();
  }

  grow() {
    this.area.style.height = "auto";
    this.area.style.height = `${Math.min(this.area.scrollHeight, Math.round(innerHeight * 0.4))}px`;
    this.el.classList.toggle("filled", this.area.value.trim() !== "");
    this.send.disabled = this.area.value.trim() === "";
  }

  say(text) {
    this.note.hidden = !text;
    this.note.textContent = text;
  }

  complete() {
    if (document.activeElement !== this.area || this.area.selectionStart !== this.area.selectionEnd) return;
    const offer = suggest(this.area.value, this.area.selectionStart);
    if (JSON.stringify(offer) === JSON.stringify(this.offer)) return;
    this.offer = offer;
    this.at = 0;
    if (!offer) return this.hide();
    this.list.hidden = false;
    this.rows = offer.items.map((item, i) => h("div", {
      class: `complete-item ${item.kind}`, role: "option", id: `${this.listId}-${i}`,
      on: { pointerdown: (e) => { e.preventDefault(); this.take(i); }, pointermove: () => this.mark(i) },
    }, lead(item), h("span", { class: "complete-main" }, bdi(item.label, "complete-label"), item.hint && h("span", { class: "complete-hint", text: item.hint })), item.note && bdi(item.note, "complete-note")));
    this.list.replaceChildren(...this.rows, h("div", { class: "complete-foot", "aria-hidden": "true", text: t("navHint") }));
    this.mark(0);
  }

  mark(i) {
    this.at = (i + this.rows.length) % this.rows.length;
    this.rows.forEach((row, n) => {
      row.classList.toggle("active", n === this.at);
      row.setAttribute("aria-selected", String(n === this.at));
    });
    this.rows[this.at].scrollIntoView({ block: "nearest" });
    this.area.setAttribute("aria-activedescendant", this.rows[this.at].id);
  }

  hide() {
    this.offer = null;
    this.list.hidden = true;
    this.area.removeAttribute("aria-activedescendant");
  }

  take(i) {
    const { from, to, items } = this.offer;
    this.area.setRangeText(items[i].insert, from, to, "end");
    this.hide();
    this.changed();
  }

  key(e) {
    if (e.isComposing) return;
    if (this.offer) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      // Enter sends a command that is typed out whole; Tab always takes.
      const whole = this.offer.items[this.at]?.insert.trim() === this.area.value.slice(this.offer.from).trim();
      if (step) this.mark(this.at + step);
      else if (e.key === "Tab" && !e.shiftKey) this.take(this.at);
      else if (e.key === "Enter" && !e.shiftKey && !whole && this.wants()) this.take(this.at);
      else if (e.key === "Escape") this.hide();
      else if (e.key === "Enter" && !e.shiftKey) this.submit();
      else return;
      e.preventDefault();
      e.stopPropagation();
      return;
    }
    if (e.key === "Enter" && !e.shiftKey && !e.ctrlKey) {
      e.preventDefault();
      this.submit();
    }
  }

  // After "/lab " the list is an offer, not an answer: Enter sends "/lab".
  wants() {
    return this.offer.to > this.offer.from;
  }

  async submit() {
    const text = this.area.value.trim();
    if (!text || !this.to) return;
    const { channel, thread } = this.to;
    const key = this.draftKey();
    const broadcast = Boolean(this.broadcast?.checked);
    this.clear(key);
    try {
      const answer = await post("message", { user: state.me, channel, thread_ts: thread || "", text, broadcast });
      if (!answer.ok) this.refused(key, text, answer);
    } catch {
      this.restore(key, text);
      toast(t("netFailed"), "bad");
    }
  }

  clear(key) {
    drafts.delete(key);
    this.area.value = "";
    if (this.broadcast) this.broadcast.checked = false;
    this.say("");
    this.hide();
    this.grow();
  }

  // A failed command is told by Slackbot, and one that reached nobody is put
  // back to be tried again; any other refusal stands above the box.
  refused(key, text, answer) {
    const command = text.startsWith("/");
    if (command && answer.error === "operation_timeout") return;
    this.restore(key, text);
    if (!command && key === this.draftKey()) this.say(answer.detail || answer.error);
  }

  restore(key, text) {
    drafts.set(key, text);
    if (key !== this.draftKey() || this.area.value) return;
    this.area.value = text;
    this.grow();
  }
}

function lead(item) {
  if (item.face) return avatar(item.face, "small");
  if (item.emoji) return h("span", { class: "complete-lead" }, emoji(item.emoji));
  if (item.kind === "channel") return h("span", { class: "complete-lead" }, icon("hash", 16));
  return avatar(state.app?.bot_user_id, "small");
}
