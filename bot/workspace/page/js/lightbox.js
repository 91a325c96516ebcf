// A picture at its full size.

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./i18n.js";
import { trap } from "./focus.js";

/** openImage shows a picture over the page until closed. */
export function openImage(url, alt) {
  const close = () => {
    release();
    layer.remove();
  };
  const layer = h("div", { class: "modal-layer lightbox", role: "dialog", "aria-modal": "true", "aria-label": alt || t("image"), on: { click: (e) => e.target.tagName !== "IMG" && close() } },
    h("button", { class: "icon-btn", type: "button", "aria-label": t("close") }, icon("close", 22)),
    h("img", { src: url, alt: alt || "" }));
  document.body.append(layer);
  const release = trap(layer, { onEscape: close });
}
