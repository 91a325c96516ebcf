// input blocks: a label, a control, a hint and, after a refused form, an error.

import { h, svg, uid } from "../dom.js";
import { t } from "../i18n.js";
import { textObject } from "./tree.js";
import { control } from "./controls.js";
import { act } from "./pending.js";

/** input draws an input block. ctx.input(block, element, payload) records it. */
export function input(b, ctx) {
  const el = b.element || {};
  const error = ctx.errors?.[b.block_id];
  const [fieldId, labelId, hintId, errorId] = ["field", "label", "hint", "error"].map(uid);
  const notes = [error && errorId, b.hint && hintId].filter(Boolean).join(" ");
  const send = b.dispatch_action ? (payload) => act(ctx, b, el, payload) : null;
  const node = control(el, {
    ctx, block: b, value: ctx.state?.[b.block_id]?.[el.action_id], id: fieldId, labelledBy: labelId, labelText: b.label?.text,
    describedBy: notes || null, invalid: Boolean(error), required: !b.optional,
    input: (payload) => ctx.input?.(b, el, payload),
    commit: send, enter: b.dispatch_action ? null : ctx.enter,
  });
  return h("div", { class: "block input" + (error ? " invalid" : "") },
    h("label", { class: "input-label", id: labelId, for: fieldId, dir: "auto" }, textObject(b.label, ctx.dir), b.optional && h("span", { class: "quiet", text: " " + t("optional") })),
    node || h("span", { class: "unknown", text: t("unknownBlock", { type: String(el.type).slice(0, 40) }) }),
    error && h("div", { class: "input-error", id: errorId, role: "alert", dir: "auto" }, svg(["M10 2.5 18 17H2z", "M10 8v4", "M10 14.2v.1"], 16), h("span", { text: error })),
    b.hint && h("div", { class: "input-hint", id: hintId, dir: "auto" }, textObject(b.hint, ctx.dir)));
}
