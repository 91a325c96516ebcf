// Theme and language, kept in this browser.

import { h } from "./dom.js";
import { t, setLang, currentLang } from "./i18n.js";
import { touch } from "./store.js";
import { openPopup, closePopup } from "./popup.js";
import { showShortcuts } from "./keys.js";

const get = (key) => {
  try {
    return localStorage.getItem(key) || "";
  } catch {
    return "";
  }
};
const set = (key, value) => {
  try {
    localStorage.setItem(key, value);
  } catch { /* the choice then lasts as long as the page */ }
};

/** applyPreferences sets theme and language before anything is drawn. */
export function applyPreferences(serverLang) {
  const theme = get("lab.theme");
  if (["light", "dark"].includes(theme)) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  setLang(get("lab.lang") || serverLang || (navigator.language || "en").slice(0, 2));
}

/** preferences opens the menu with theme and language. */
export function preferences(anchor) {
  const theme = get("lab.theme") || "auto";
  openPopup(anchor, h("div", { class: "prefs", role: "dialog", "aria-label": t("preferences") },
    choice(t("theme"), theme, [["auto", t("themeAuto")], ["light", t("themeLight")], ["dark", t("themeDark")]], (v) => {
      set("lab.theme", v === "auto" ? "" : v);
      applyPreferences(currentLang());
    }),
    choice(t("language"), currentLang(), [["en", "English"], ["ru", "Русский"]], (v) => {
      set("lab.lang", v);
      setLang(v);
      closePopup();
      touch("words", "messages", "channels", "open");
    }),
    h("button", { class: "btn", type: "button", text: t("shortcuts"), on: { click: () => { closePopup(); showShortcuts(); } } })), { align: "end" });
  document.querySelector(".prefs input:checked")?.focus();
}

function choice(label, now, options, pick) {
  return h("fieldset", { class: "pref" }, h("legend", { text: label }),
    h("div", { class: "segments" }, options.map(([value, text]) => {
      const field = h("input", { type: "radio", name: label, value, class: "sr" });
      field.checked = value === now;
      field.addEventListener("change", () => pick(value));
      return h("label", { class: "segment" }, field, h("span", { text }));
    })));
}
