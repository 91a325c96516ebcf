// The bar above everything: search and help.

import { h, bdi } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./i18n.js";
import { state, on } from "./store.js";
import { channel } from "./directory.js";
import { openPane } from "./open.js";
import { showShortcuts } from "./keys.js";

/** mountTopbar builds the bar and keeps its words in step. */
export function mountTopbar(root) {
  on(["open", "channels", "words"], () => {
    const c = channel(state.channel);
    const name = c ? (c.is_im ? c.name : `#${c.name}`) : "";
    root.replaceChildren(
      h("button", { class: "top-search", type: "button", on: { click: () => openPane("search", { q: "" }) } }, icon("search", 15), bdi(t("searchIn", { name }))),
      h("button", { class: "icon-btn", type: "button", "aria-label": t("shortcuts"), title: t("shortcuts"), on: { click: showShortcuts } }, icon("keyboard", 18)));
  });
}
