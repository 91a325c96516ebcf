// One short line at the foot of the page, read out to screen readers.

import { h } from "./dom.js";

let timer;

/** toast shows a line for a few seconds. */
export function toast(text, kind = "") {
  let el = document.getElementById("toast");
  if (!el) document.body.append((el = h("div", { id: "toast", role: "status", "aria-live": "polite" })));
  el.className = "show " + kind;
  el.textContent = text;
  clearTimeout(timer);
  timer = setTimeout(() => (el.className = ""), 4000);
}
