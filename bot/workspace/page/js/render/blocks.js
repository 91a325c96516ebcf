// Block Kit blocks. sync keeps a container in step with a list of blocks and
// touches only those that changed, so an edit neither flickers nor takes the
// focus or an open menu away.

import { h, sameOrigin, safeURL } from "../dom.js";
import { t } from "../i18n.js";
import { textObject } from "./tree.js";
import { richText } from "./richtext.js";
import { markdown } from "./markdown.js";
import { table } from "./table.js";
import { element } from "./elements.js";
import { input } from "./input.js";

const drawn = new WeakMap();

/**
 * sync draws blocks into the container. ctx: dir (names), surface ("message",
 * "modal", "home"), state and errors by block_id, act(block, element, payload).
 */
export function sync(container, blocks, ctx) {
  const focus = focused(container);
  const old = new Map([...container.children].map((el) => [el.dataset.block, el]));
  const seen = new Map();
  (blocks || []).forEach((block, i) => {
    let key = block.block_id || `#${i}`;
    if (seen.has(key)) key += `#${i}`;
    const sig = JSON.stringify([block, ctx.errors?.[block.block_id], ctx.surface === "message" ? ctx.state?.[block.block_id] : 0]);
    let el = old.get(key);
    if (!el || drawn.get(el) !== sig) {
      const next = draw(block, ctx);
      next.dataset.block = key;
      drawn.set(next, sig);
      el?.replaceWith(next);
      el = next;
    }
    seen.set(key, el);
  });
  for (const el of [...container.children]) if (seen.get(el.dataset.block) !== el) el.remove();
  [...seen.values()].forEach((el, i) => {
    if (container.children[i] !== el) container.insertBefore(el, container.children[i] || null);
  });
  if (focus && !container.contains(document.activeElement)) refocus(container, focus);
}

function focused(container) {
  const el = document.activeElement;
  if (!el || !container.contains(el)) return null;
  return { block: el.closest("[data-block]")?.dataset.block, action: el.closest("[data-action]")?.dataset.action };
}

function refocus(container, { block, action }) {
  const inBlock = [...container.children].find((el) => el.dataset.block === block) || container;
  const at = [...inBlock.querySelectorAll("[data-action]")].find((el) => el.dataset.action === action);
  (at?.matches("button,input,textarea") ? at : at?.querySelector("button,input,textarea"))?.focus({ preventScroll: true });
}

const KINDS = {
  header: (b, ctx) => h("div", { class: "block header", role: "heading", "aria-level": "3", dir: "auto" }, textObject(b.text, ctx.dir)),
  section,
  divider: () => h("div", { class: "block divider" }, h("hr")),
  context: (b, ctx) => h("div", { class: "block context" }, (b.elements || []).map((el) => contextItem(el, ctx))),
  actions: (b, ctx) => h("div", { class: "block actions" }, (b.elements || []).map((el) => element(b, el, ctx))),
  image: (b, ctx) => h("div", { class: "block" }, figure(b, ctx)),
  rich_text: (b, ctx) => h("div", { class: "block" }, richText(b, ctx.dir)),
  markdown: (b) => h("div", { class: "block" }, markdown(b.text)),
  table: (b, ctx) => h("div", { class: "block" }, table(b, ctx.dir)),
  input: (b, ctx) => input(b, ctx),
};

function draw(block, ctx) {
  const kind = Object.hasOwn(KINDS, block.type) ? KINDS[block.type] : unknown;
  return kind(block, ctx);
}

function unknown(block) {
  return h("div", { class: "block unknown" }, t("unknownBlock", { type: String(block.type || "?").slice(0, 40) }));
}

function section(b, ctx) {
  const body = h("div", { class: "section-body" });
  if (b.text) body.append(h("div", { class: "section-text", dir: "auto" }, textObject(b.text, ctx.dir)));
  if (b.fields?.length) {
    body.append(h("div", { class: "fields" }, b.fields.map((f) => h("div", { class: "field", dir: "auto" }, textObject(f, ctx.dir)))));
  }
  const acc = b.accessory && (b.accessory.type === "image" ? thumb(b.accessory, "accessory-image") : element(b, b.accessory, ctx));
  const wide = ["radio_buttons", "checkboxes"].includes(b.accessory?.type);
  return h("div", { class: "block section" + (wide ? " stacked" : "") }, body, acc && h("div", { class: "accessory" }, acc));
}

function contextItem(el, ctx) {
  if (el.type === "image") return thumb(el, "context-image");
  return h("span", { class: "context-text", dir: "auto" }, textObject(el, ctx.dir));
}

// Pictures from elsewhere are not fetched: the page makes no request outside.
function thumb(el, cls) {
  const url = el.image_url || el.slack_file?.url || "";
  if (!sameOrigin(url)) return h("span", { class: cls + " image-off", role: "img", "aria-label": el.alt_text, title: el.alt_text, text: (el.alt_text || "?").slice(0, 1) });
  return h("img", { class: cls, src: url, alt: el.alt_text || "" });
}

function figure(b, ctx) {
  const url = b.image_url || b.slack_file?.url || "";
  const title = b.title && h("figcaption", { dir: "auto" }, textObject(b.title, ctx.dir));
  if (sameOrigin(url)) {
    return h("figure", {}, title, h("button", { class: "image-open", type: "button", on: { click: () => ctx.openImage?.(url, b.alt_text) } }, h("img", { src: url, alt: b.alt_text || "" })));
  }
  const href = safeURL(url);
  const label = [h("bdi", { text: b.alt_text || t("image") }), href && h("span", { class: "quiet", text: new URL(href).host })];
  return h("figure", {}, title, h(href ? "a" : "div", { class: "image-off wide", href: href || null, target: "_blank", rel: "noopener noreferrer" }, label));
}
