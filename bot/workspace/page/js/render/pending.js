// What a pressed control shows until the app has answered: a spinner, then
// nothing, or a warning sign. It is kept outside the DOM, for the message may
// be redrawn meanwhile.

import { h, svg } from "../dom.js";
import { t } from "../i18n.js";

const now = new Map(); // surface:block:action:value → "busy" | the failure's sentence
const TRIANGLE = ["M10 2.5 18 17H2z", "M10 8v4", "M10 14.2v.1"];

const keyOf = (ctx, block, el) => [ctx.key, block.block_id, el.action_id, el.value || ""].join("\u0000");

/** watch puts the state of a control onto its wrapper; call it when drawn. */
export function watch(wrap, ctx, block, el) {
  wrap.dataset.pending = keyOf(ctx, block, el);
  paint(wrap);
  return wrap;
}

function paint(wrap) {
  const state = now.get(wrap.dataset.pending);
  wrap.classList.toggle("busy", state === "busy");
  for (const b of wrap.querySelectorAll("button")) b.setAttribute("aria-busy", String(state === "busy"));
  wrap.querySelector(":scope > .act-failed")?.remove();
  if (state && state !== "busy") {
    wrap.append(h("span", { class: "act-failed", role: "img", title: state, "aria-label": state }, svg(TRIANGLE, 18)));
  }
}

function set(key, state) {
  if (state) now.set(key, state);
  else now.delete(key);
  for (const wrap of document.querySelectorAll("[data-pending]")) if (wrap.dataset.pending === key) paint(wrap);
}

/**
 * act sends one interaction, once at a time, and shows how it went. It
 * resolves to true when the app acknowledged it.
 */
export async function act(ctx, block, el, payload) {
  const key = keyOf(ctx, block, el);
  if (now.get(key) === "busy") return false;
  set(key, "busy");
  try {
    const answer = await ctx.act(block, el, payload);
    set(key, answer.ok ? "" : answer.detail || t("actFailed"));
    return answer.ok;
  } catch (err) {
    set(key, err.message || t("actFailed"));
    return false;
  }
}
