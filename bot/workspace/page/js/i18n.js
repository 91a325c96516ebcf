// The page's own words in English and Russian. What people and the bot write
// is never translated here.

import { en } from "./words/en.js";
import { ru } from "./words/ru.js";

const WORDS = { en, ru };
let lang = "en";

/** setLang chooses the page's language: "en" or "ru". */
export function setLang(code) {
  lang = WORDS[code] ? code : "en";
  document.documentElement.lang = lang;
}

/** currentLang is "en" or "ru". */
export const currentLang = () => lang;

/** locale is the BCP 47 tag for dates and numbers. */
export const locale = () => ({ en: "en-US", ru: "ru-RU" })[lang];

/**
 * t returns the words for a key. {name} places are filled from args. A plural
 * is a list of forms chosen by args.n.
 */
export function t(key, args = {}) {
  let text = WORDS[lang][key] ?? WORDS.en[key] ?? key;
  if (typeof text === "object") text = text[new Intl.PluralRules(locale()).select(args.n)] ?? text.other;
  return text.replace(/\{(\w+)\}/g, (_, name) => String(args[name] ?? ""));
}
