// Interactive elements of actions blocks and section accessories: each change
// is sent to the app at once.

import { h, svg, safeURL } from "../dom.js";
import { t } from "../i18n.js";
import { textObject } from "./tree.js";
import { act, watch } from "./pending.js";
import { control } from "./controls.js";
import { openList } from "../popup.js";
import { confirmDialog } from "../confirm.js";
import { optionLabel } from "./options.js";

const DOTS = ["M5 10h.01", "M10 10h.01", "M15 10h.01"];

/** element draws one element of a block. */
export function element(block, el, ctx) {
  if (el.type === "button" || el.type === "workflow_button") return button(block, el, ctx);
  if (el.type === "overflow") return overflow(block, el, ctx);
  const fire = async (payload) => (await agreed(el, ctx)) && act(ctx, block, el, payload);
  const node = control(el, { ctx, block, value: ctx.state?.[block.block_id]?.[el.action_id], commit: fire, input: ctx.input && ((p) => ctx.input(block, el, p)) });
  if (!node) return h("span", { class: "unknown", text: t("unknownBlock", { type: String(el.type).slice(0, 40) }) });
  return watch(h("span", { class: "act", data: { action: el.action_id || "" } }, node), ctx, block, el);
}

const agreed = async (el, ctx) => !el.confirm || confirmDialog(el.confirm, ctx.dir);

function button(block, el, ctx) {
  const style = ["primary", "danger"].includes(el.style) ? " " + el.style : "";
  const href = safeURL(el.url);
  const press = async () => {
    if (!(await agreed(el, ctx))) return;
    if (href) window.open(href, "_blank", "noopener,noreferrer");
    act(ctx, block, el, el.value === undefined ? {} : { value: el.value });
  };
  const node = h("button", {
    class: "btn" + style, type: "button", "aria-label": el.accessibility_label || null, on: { click: press },
    data: { action: el.action_id || "" },
  }, h("span", { class: "btn-label", dir: "auto" }, textObject(el.text, ctx.dir)), href && svg("M8 4H4v12h12v-4M11 3h6v6M17 3 9 11", 14));
  return watch(h("span", { class: "act", data: { action: el.action_id || "" } }, node), ctx, block, el);
}

function overflow(block, el, ctx) {
  const open = (e) => openList(e.currentTarget, {
    label: t("moreActions"), role: "menu", align: "end",
    groups: [{ items: (el.options || []).map((o) => ({ label: optionLabel(o), note: o.description?.text, value: o.value, option: o })) }],
    pick: async ({ option }) => {
      if (!(await agreed(el, ctx))) return;
      const href = safeURL(option.url);
      if (href) window.open(href, "_blank", "noopener,noreferrer");
      act(ctx, block, el, { selected_option: option });
    },
  });
  const node = h("button", { class: "btn btn-icon", type: "button", "aria-label": t("moreActions"), "aria-haspopup": "menu", "aria-expanded": "false", on: { click: open } }, svg(DOTS, 18));
  return watch(h("span", { class: "act", data: { action: el.action_id || "" } }, node), ctx, block, el);
}
