// Modal views: the one on top of the person's stack is on the screen.

import { h, uid } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./i18n.js";
import { post, get } from "./api.js";
import { state, on, touch } from "./store.js";
import { dir, avatar } from "./directory.js";
import { sync } from "./render/blocks.js";
import { textObject } from "./render/tree.js";
import { openImage } from "./lightbox.js";
import { closePopup } from "./popup.js";
import { trap } from "./focus.js";

const forms = new Map(); // view id → {values, errors, trouble, busy}
let layer = null; // what is shown: {id, el, release, …}

/** mountModals keeps the dialog in step with the stack of views. */
export function mountModals() {
  on(["views", "words"], draw);
}

function form(view) {
  if (!forms.has(view.id)) forms.set(view.id, { values: structuredClone(view.state?.values || {}), errors: {}, trouble: "", busy: false });
  return forms.get(view.id);
}

function draw() {
  const view = state.views.at(-1);
  if (layer && layer.id !== view?.id) remove();
  for (const id of forms.keys()) if (!state.views.some((v) => v.id === id)) forms.delete(id);
  if (!view) return;
  if (!layer) build(view);
  paint(view);
}

function remove() {
  closePopup(false);
  const { el, release } = layer;
  layer = null;
  release();
  el.remove();
}

function build(view) {
  const titleId = uid("view");
  const title = h("h2", { id: titleId, dir: "auto" });
  const body = h("div", { class: "modal-body", tabindex: "-1" });
  const blocks = h("div", { class: "blocks" });
  const trouble = h("div", { class: "modal-trouble", role: "alert", hidden: true });
  body.append(trouble, blocks);
  const submit = h("button", { class: "btn solid primary", type: "submit" });
  const cancel = h("button", { class: "btn", type: "button", on: { click: () => shut(false) } });
  const foot = h("div", { class: "modal-foot" }, cancel, submit);
  const back = h("button", { class: "icon-btn modal-back", type: "button", "aria-label": t("back"), on: { click: () => shut(false) } }, icon("back"));
  const head = h("div", { class: "modal-head" }, back, avatar(state.app?.bot_user_id, "small"), title,
    h("button", { class: "icon-btn", type: "button", "aria-label": t("close"), on: { click: () => shut(true) } }, icon("close")));
  const inner = h("form", { class: "modal-form", novalidate: true, on: { submit: (e) => { e.preventDefault(); send(); } } }, head, body, foot);
  const box = h("div", { class: "modal", role: "dialog", "aria-modal": "true", "aria-labelledby": titleId }, inner);
  const el = h("div", { class: "modal-layer" }, box);
  document.body.append(el);
  layer = { id: view.id, el, box, title, body, blocks, trouble, submit, cancel, foot, back, release: () => {} };
  paint(view);
  layer.release = trap(box, { onEscape: () => shut(true) });
}

function paint(view) {
  const f = form(view);
  const l = layer;
  l.title.replaceChildren(...textObject(view.title, dir));
  l.back.hidden = state.views.length < 2;
  l.submit.hidden = !view.submit;
  l.submit.textContent = view.submit?.text || t("submit");
  l.submit.classList.toggle("busy", f.busy);
  l.submit.setAttribute("aria-busy", String(f.busy));
  l.cancel.textContent = view.close?.text || t(view.submit ? "cancel" : "close");
  l.trouble.hidden = !f.trouble;
  l.trouble.textContent = f.trouble;
  sync(l.blocks, view.blocks, context(view, f));
}

function context(view, f) {
  const record = (block, el, payload) => {
    f.values[block.block_id] = { ...f.values[block.block_id], [el.action_id]: { type: el.type, ...payload } };
  };
  return {
    dir, surface: "modal", key: view.id, state: f.values, errors: f.errors, openImage, input: record, enter: (e) => { e.preventDefault(); send(); },
    act: (block, el, payload) => post("click", { user: state.me, view_id: view.id, block_id: block.block_id, action_id: el.action_id, ...payload, values: present(view, f) }),
    options: (block, el, value) => post("options", { user: state.me, view_id: view.id, block_id: block.block_id, action_id: el.action_id, value }),
  };
}

// Only fields still on the form are sent; a replaced question keeps nothing.
function present(view, f) {
  const ids = new Set((view.blocks || []).map((b) => b.block_id));
  return Object.fromEntries(Object.entries(f.values).filter(([id]) => ids.has(id)));
}

async function send() {
  const view = state.views.at(-1);
  if (!view || !view.submit) return;
  const f = form(view);
  if (f.busy) return;
  Object.assign(f, { busy: true, trouble: "", errors: {} });
  paint(view);
  const answer = await post("submit", { user: state.me, view_id: view.id, values: present(view, f) }).catch(() => ({ ok: false, error: "network" }));
  f.busy = false;
  if (answer.ok) {
    state.views = answer.views || (await get("views", { user: state.me }));
    touch("views");
    return;
  }
  if (answer.errors && Object.keys(answer.errors).length) f.errors = answer.errors;
  else f.trouble = answer.detail || t("modalFailed");
  if (layer?.id !== view.id) return;
  paint(state.views.find((v) => v.id === view.id) || view);
  const bad = layer.box.querySelector(".input.invalid");
  bad?.scrollIntoView({ block: "nearest" });
  (bad?.querySelector("input,textarea,button") || layer.submit).focus();
}

// The cross and Escape leave the whole stack, as in Slack; Cancel and the
// arrow leave the view on top.
async function shut(all) {
  const view = state.views.at(-1);
  if (!view) return;
  const clear = all && state.views.length > 1;
  state.views = clear ? [] : state.views.slice(0, -1);
  touch("views");
  await post("close", { user: state.me, view_id: view.id, clear }).catch(() => null);
}

/** onViewEvent takes what the workspace tells about views. */
export function onViewEvent(name, data) {
  if (data.user !== state.me) return;
  if (name === "view_closed") state.views = state.views.filter((v) => v.id !== data.view_id);
  else {
    const at = state.views.findIndex((v) => v.id === data.view.id);
    if (at >= 0) state.views[at] = data.view;
    else if (name === "view_opened") state.views.push(data.view);
  }
  touch("views");
}
