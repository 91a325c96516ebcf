// Stateful form controls, shared by elements that act at once and by input
// blocks of a form. commit(payload) is called when a choice is made or a text
// is finished, input(payload) on every keystroke.

import { h, svg, uid } from "../dom.js";
import { t } from "../i18n.js";
import { textObject } from "./tree.js";
import { openList } from "../popup.js";
import { groupsOf, directoryOf, optionLabel, pickedField, valueOf } from "./options.js";

const CHEVRON = "m5 8 5 5 5-5";

/** control draws a control or returns null for a type it does not know. */
export function control(el, opt) {
  const draw = DRAW[el.type];
  return draw ? draw(el, { ...opt, now: valueOf(el, opt.value) }) : null;
}

const single = (el, o) => select(el, o, groupsOf(el), (v) => v?.option ?? null, (now) => now?.value);
const several = (el, o) => multi(el, o, groupsOf(el), (it) => it.option, (now) => (now || []).map((x) => x.value));
const pickId = (el, o) => select(el, o, directoryOf(el, o.ctx.dir), (it) => it?.value ?? null, (now) => now);
const pickIds = (el, o) => multi(el, o, directoryOf(el, o.ctx.dir), (it) => it.value, (now) => now || []);

const DRAW = {
  plain_text_input: text, email_text_input: text, url_text_input: text, number_input: text,
  static_select: single, external_select: external, multi_static_select: several, multi_external_select: several,
  users_select: pickId, channels_select: pickId, conversations_select: pickId,
  multi_users_select: pickIds, multi_channels_select: pickIds, multi_conversations_select: pickIds,
  radio_buttons: radios, checkboxes,
  datepicker: (el, o) => native(el, o, "date"), timepicker: (el, o) => native(el, o, "time"), datetimepicker: moment,
};

const aria = (o) => ({ id: o.id, "aria-invalid": o.invalid ? "true" : null, "aria-describedby": o.describedBy, "aria-labelledby": o.labelledBy, "aria-required": o.required ? "true" : null });

function text(el, o) {
  const many = el.type === "plain_text_input" && el.multiline;
  const kind = { email_text_input: "email", url_text_input: "url" }[el.type] || "text";
  const send = (fn) => (e) => fn?.({ value: e.currentTarget.value || null });
  const node = h(many ? "textarea" : "input", {
    ...aria(o), class: "field-input", type: many ? null : kind, rows: many ? 4 : null, dir: "auto", autocomplete: "off",
    inputmode: el.type === "number_input" ? (el.is_decimal_allowed ? "decimal" : "numeric") : null,
    placeholder: el.placeholder?.text, maxlength: el.max_length || null,
    "aria-label": o.labelledBy ? null : el.placeholder?.text || t("textField"),
    data: { action: el.action_id || "" },
    on: {
      input: (e) => { send(o.input)(e); counter(e.currentTarget, el); },
      change: send(o.commit),
      keydown: (e) => e.key === "Enter" && !many && !e.isComposing && o.enter?.(e),
    },
  });
  node.value = o.now ?? "";
  return node;
}

function counter(node, el) {
  if (!el.max_length) return;
  const left = el.max_length - node.value.length;
  let note = node.parentNode.querySelector(":scope > .counter");
  if (!note) node.after((note = h("span", { class: "counter" })));
  note.textContent = left <= 50 ? String(left) : "";
}

function shell(el, o, label, empty) {
  return h("button", {
    ...aria({ ...o, labelledBy: null }), class: "select" + (empty ? " empty" : ""), type: "button", "aria-haspopup": "listbox", "aria-expanded": "false",
    "aria-label": o.labelText ? `${o.labelText}: ${label}` : null, data: { action: el.action_id || "" },
  }, h("bdi", { class: "select-label", text: label }), svg(CHEVRON, 14));
}

function select(el, o, groups, out, keyOf) {
  const items = groups.flatMap((g) => g.items);
  const hold = h("span", { class: "select-hold" });
  let key = keyOf(o.now);
  const draw = () => {
    const it = items.find((x) => x.value === key);
    const node = shell(el, o, it?.label || optionLabel(o.now) || el.placeholder?.text || t("select"), !it);
    node.addEventListener("click", () => openList(node, {
      groups, chosen: new Set(key === undefined ? [] : [key]), filter: items.length > 8, label: o.labelText || el.placeholder?.text || t("select"),
      pick: (item) => {
        key = item.value;
        draw();
        hold.firstChild.focus({ preventScroll: true });
        const payload = { [pickedField(el.type)]: out(item) };
        o.input?.(payload);
        o.commit?.(payload);
      },
    }));
    hold.replaceChildren(node);
  };
  draw();
  return hold;
}

function external(el, o) {
  const node = single({ ...el, options: o.now ? [o.now] : [] }, o);
  node.addEventListener("click", async (e) => {
    if (!o.ctx.options || node.dataset.loaded) return;
    e.stopPropagation();
    const answer = await o.ctx.options(o.block, el, "");
    const next = single({ ...el, options: answer.options, option_groups: answer.option_groups }, o);
    next.dataset.loaded = "1";
    node.replaceWith(next);
    next.querySelector("button").click();
  }, { capture: true });
  return node;
}

function multi(el, o, groups, out, keysOf) {
  const items = groups.flatMap((g) => g.items);
  const chosen = new Set(keysOf(o.now));
  const label = () => items.filter((x) => chosen.has(x.value)).map((x) => x.label).join(", ");
  const node = shell(el, o, label() || el.placeholder?.text || t("select"), !chosen.size);
  node.addEventListener("click", () => openList(node, {
    groups, chosen, multi: true, filter: items.length > 8, label: o.labelText || t("select"),
    pick: () => {
      node.querySelector(".select-label").textContent = label() || el.placeholder?.text || t("select");
      const payload = { [pickedField(el.type)]: items.filter((x) => chosen.has(x.value)).map(out) };
      o.input?.(payload);
      o.commit?.(payload);
    },
  }));
  return node;
}

function choices(el, o, type, isOn, read) {
  const group = uid("choice");
  const box = h("div", { ...aria(o), class: "choices", role: type === "radio" ? "radiogroup" : "group", "aria-label": o.labelledBy ? null : t("select"), data: { action: el.action_id || "" } });
  for (const option of el.options || []) {
    const field = h("input", { type, name: group, value: option.value });
    field.checked = isOn(option);
    field.addEventListener("change", () => {
      const values = [...box.querySelectorAll("input:checked")].map((x) => x.value);
      const payload = { [pickedField(el.type)]: read((el.options || []).filter((x) => values.includes(x.value))) };
      o.input?.(payload);
      o.commit?.(payload);
    });
    box.append(h("label", { class: "choice" }, field, h("span", { class: "choice-body", dir: "auto" },
      h("span", {}, textObject(option.text, o.ctx.dir)),
      option.description && h("span", { class: "choice-note" }, textObject(option.description, o.ctx.dir)))));
  }
  return box;
}

function radios(el, o) {
  return choices(el, o, "radio", (x) => x.value === o.now?.value, (picked) => picked[0] || null);
}

function checkboxes(el, o) {
  const on = new Set((o.now || []).map((x) => x.value));
  return choices(el, o, "checkbox", (x) => on.has(x.value), (picked) => picked);
}

function native(el, o, type) {
  const node = h("input", { ...aria(o), class: "field-input narrow", type, "aria-label": o.labelledBy ? null : el.placeholder?.text || t(type), data: { action: el.action_id || "" } });
  node.value = o.now ?? "";
  node.addEventListener("change", () => {
    const payload = { [pickedField(el.type)]: node.value || null };
    o.input?.(payload);
    o.commit?.(payload);
  });
  return node;
}

function moment(el, o) {
  const local = (s) => new Date(s * 1000 - new Date(s * 1000).getTimezoneOffset() * 60000).toISOString().slice(0, 16);
  const node = native(el, { ...o, now: o.now ? local(o.now) : "", input: null, commit: null }, "datetime-local");
  node.addEventListener("change", () => {
    const at = Math.floor(Date.parse(node.value) / 1000);
    const payload = { selected_date_time: Number.isNaN(at) ? null : at };
    o.input?.(payload);
    o.commit?.(payload);
  });
  return node;
}
