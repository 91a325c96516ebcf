// The table block: the first row is its head.

import { h } from "../dom.js";
import { t } from "../i18n.js";
import { richText } from "./richtext.js";

/** table renders a table block. */
export function table(block, dir) {
  const rows = block.rows || [];
  const settings = block.column_settings || [];
  const cell = (tag) => (c, i) =>
    h(tag, {
      dir: "auto",
      scope: tag === "th" ? "col" : null,
      class: [align(settings[i]), settings[i]?.is_wrapped ? "wrapped" : ""].join(" ").trim() || null,
    }, content(c, dir));
  const row = (tag) => (r) => h("tr", {}, (r || []).map(cell(tag)));
  return h("div", { class: "table-wrap", tabindex: "0", role: "group", "aria-label": t("table") },
    h("table", { class: "block-table" },
      rows.length > 1 && h("thead", {}, row("th")(rows[0])),
      h("tbody", {}, rows.slice(rows.length > 1 ? 1 : 0).map(row("td")))));
}

const align = (s) => (["right", "center"].includes(s?.align) ? `align-${s.align}` : "");

function content(c, dir) {
  if (!c) return "";
  if (c.type === "rich_text") return richText(c, dir);
  return String(c.text ?? c.value ?? "");
}
