// Confirmation dialogs of elements (Block Kit's confirm object) and of the page.

import { h, uid } from "./dom.js";
import { t } from "./i18n.js";
import { textObject } from "./render/tree.js";
import { trap } from "./focus.js";

/** confirmDialog asks and resolves to whether the person agreed. */
export function confirmDialog(confirm, dir) {
  return new Promise((resolve) => {
    const titleId = uid("confirm");
    const bodyId = uid("confirm");
    const done = (yes) => {
      release();
      layer.remove();
      resolve(yes);
    };
    const yes = h("button", { class: "btn solid" + (confirm.style === "danger" ? " danger" : " primary"), type: "button", text: confirm.confirm?.text || t("yes"), on: { click: () => done(true) } });
    const box = h("div", { class: "modal small", role: "alertdialog", "aria-modal": "true", "aria-labelledby": titleId, "aria-describedby": bodyId },
      h("div", { class: "modal-head" }, h("h2", { id: titleId, dir: "auto", text: confirm.title?.text || t("areYouSure") })),
      h("div", { class: "modal-body", id: bodyId, dir: "auto" }, textObject(confirm.text, dir)),
      h("div", { class: "modal-foot" },
        h("button", { class: "btn", type: "button", text: confirm.deny?.text || t("cancel"), on: { click: () => done(false) } }), yes));
    const layer = h("div", { class: "modal-layer top", on: { pointerdown: (e) => e.target === layer && done(false) } }, box);
    document.body.append(layer);
    const release = trap(box, { onEscape: () => done(false), first: yes });
  });
}
