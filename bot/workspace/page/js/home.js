// The app's Home tab.

import { h } from "./dom.js";
import { t } from "./i18n.js";
import { get, post } from "./api.js";
import { state, touch } from "./store.js";
import { dir } from "./directory.js";
import { sync } from "./render/blocks.js";
import { openImage } from "./lightbox.js";

let asked = "";

/** drawHome shows the published Home view, asking the app for it once. */
export async function drawHome(root) {
  if (asked !== state.me) {
    asked = state.me;
    state.home = null;
    await post("home", { user: state.me, tab: "home" }).catch(() => null);
    state.home = await get("home", { user: state.me }).catch(() => null);
    touch("home");
    return;
  }
  const view = state.home;
  if (!view) {
    root.replaceChildren(h("p", { class: "pane-none", text: t("homeEmpty") }));
    return;
  }
  if (!root.querySelector(".blocks")) root.replaceChildren(h("div", { class: "blocks" }));
  sync(root.querySelector(".blocks"), view.blocks, {
    dir, surface: "home", key: view.id, state: view.state?.values, openImage,
    act: (block, el, payload) => post("click", { user: state.me, view_id: view.id, block_id: block.block_id, action_id: el.action_id, ...payload }),
  });
}
