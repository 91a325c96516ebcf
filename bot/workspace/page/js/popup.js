// Menus that hang under a control: one at a time, closed by Escape, by a click
// elsewhere or when their anchor goes away.

import { h, uid } from "./dom.js";
import { t } from "./i18n.js";

let open = null;

/** closePopup closes whatever menu is open and gives the focus back. */
export function closePopup(refocus = true) {
  if (!open) return;
  const { el, anchor, onClose } = open;
  open = null;
  el.remove();
  anchor.setAttribute("aria-expanded", "false");
  if (refocus && anchor.isConnected) anchor.focus({ preventScroll: true });
  onClose?.();
}

/** openPopup shows content under the anchor; a second call on it closes it. */
export function openPopup(anchor, content, { onClose, align = "start" } = {}) {
  const again = open?.anchor === anchor;
  closePopup(false);
  if (again) return;
  const el = h("div", { class: "popup" }, content);
  (anchor.closest(".modal-layer") || document.body).append(el);
  anchor.setAttribute("aria-expanded", "true");
  open = { el, anchor, onClose };
  place(el, anchor, align);
}

function place(el, anchor, align) {
  const a = anchor.getBoundingClientRect();
  const w = el.offsetWidth;
  const tall = el.offsetHeight;
  const below = innerHeight - a.bottom - 12;
  const up = below < tall && a.top > below;
  const left = align === "end" ? a.right - w : a.left;
  el.style.left = `${Math.max(8, Math.min(left, innerWidth - w - 8))}px`;
  el.style.maxHeight = `${Math.max(120, (up ? a.top : below + 12) - 16)}px`;
  el.style.top = up ? `${Math.max(8, a.top - tall - 4)}px` : `${a.bottom + 4}px`;
}

addEventListener("pointerdown", (e) => {
  if (open && !open.el.contains(e.target) && !open.anchor.contains(e.target)) closePopup(false);
});
addEventListener("resize", () => closePopup(false));
addEventListener("keydown", (e) => {
  if (e.key === "Escape" && open) {
    e.stopPropagation();
    e.preventDefault();
    closePopup();
  }
}, true);

/**
 * openList shows a listbox. groups: [{label, items:[{label, note, value,
 * danger}]}]; chosen: a Set of values; multi keeps it open; filter shows a
 * search field. pick(item) is called for a choice.
 */
export function openList(anchor, { groups, chosen = new Set(), filter = false, multi = false, pick, label, align, role = "listbox" }) {
  const listId = uid("list");
  const list = h("div", { class: "menu", role, id: listId, "aria-label": label, "aria-multiselectable": multi || null, tabindex: "-1" });
  const field = filter && h("input", {
    class: "menu-filter", type: "text", placeholder: t("search"), "aria-label": t("search"), role: "combobox",
    "aria-controls": listId, "aria-expanded": "true", autocomplete: "off",
  });
  let rows = [];
  let at = -1;
  const mark = (i) => {
    at = rows.length ? (i + rows.length) % rows.length : -1;
    rows.forEach((r, n) => r.el.classList.toggle("active", n === at));
    rows[at]?.el.scrollIntoView({ block: "nearest" });
    (field || list).setAttribute("aria-activedescendant", rows[at]?.el.id || "");
  };
  const choose = (row) => {
    if (multi) {
      chosen.has(row.item.value) ? chosen.delete(row.item.value) : chosen.add(row.item.value);
      pick(row.item, chosen);
      draw();
      return;
    }
    closePopup();
    pick(row.item);
  };
  const draw = () => {
    const q = (field?.value || "").toLowerCase();
    rows = [];
    list.replaceChildren(...groups.flatMap((g) => {
      const items = g.items.filter((it) => it.label.toLowerCase().includes(q));
      if (!items.length) return [];
      const els = items.map((item) => {
        const on = chosen.has(item.value);
        const el = h("div", {
          class: "menu-item" + (on ? " chosen" : "") + (item.danger ? " danger" : ""), role: role === "menu" ? "menuitem" : "option", id: uid("opt"),
          "aria-selected": role === "menu" ? null : String(on),
          on: { click: () => choose(row), pointermove: () => mark(rows.indexOf(row)) },
        }, item.lead, h("bdi", { class: "menu-label", text: item.label }), item.note && h("bdi", { class: "menu-note", text: item.note }));
        const row = { item, el };
        rows.push(row);
        return el;
      });
      return [g.label && h("div", { class: "menu-group", role: "presentation", text: g.label }), ...els].filter(Boolean);
    }));
    if (!rows.length) list.append(h("div", { class: "menu-none", text: t("noResults") }));
    mark(Math.max(0, rows.findIndex((r) => chosen.has(r.item.value))));
  };
  const keys = (e) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (step) mark(at + step);
    else if (e.key === "Home" && !field) mark(0);
    else if (e.key === "End" && !field) mark(rows.length - 1);
    else if (e.key === "Enter" || (e.key === " " && !field)) rows[at] && choose(rows[at]);
    else if (e.key === "Tab") return closePopup();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  draw();
  openPopup(anchor, h("div", { class: "menu-wrap", on: { keydown: keys } }, field, list), { align });
  (field || list).focus({ preventScroll: true });
  mark(at);
}
