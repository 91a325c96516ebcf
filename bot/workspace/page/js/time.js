// Instants as a person reads them, in the page's language.

import { locale, t } from "./i18n.js";

/** ms turns a Slack ts ("seconds.micros") into milliseconds. */
export const ms = (ts) => Math.round(Number(ts || 0) * 1000);

const fmt = (at, opt) => new Intl.DateTimeFormat(locale(), opt).format(at);

/** clock is the hour and minute, as beside a message. */
export const clock = (ts) => fmt(ms(ts), { hour: "numeric", minute: "2-digit" });

/** full is what a time shows when pointed at. */
export const full = (ts) =>
  fmt(ms(ts), { weekday: "long", month: "long", day: "numeric", hour: "numeric", minute: "2-digit", second: "2-digit" });

/** dayKey is equal for two instants of one local day. */
export const dayKey = (ts) => {
  const d = new Date(ms(ts));
  return `${d.getFullYear()}-${d.getMonth()}-${d.getDate()}`;
};

/** dayName is Today, Yesterday or the date. */
export function dayName(ts) {
  const now = Date.now() / 1000;
  if (dayKey(ts) === dayKey(now)) return t("today");
  if (dayKey(ts) === dayKey(now - 86400)) return t("yesterday");
  return fmt(ms(ts), { weekday: "long", month: "long", day: "numeric" });
}

/** ago says how long ago, coarsely: "just now", "2 minutes ago". */
export function ago(ts) {
  const s = Math.max(0, (Date.now() - ms(ts)) / 1000);
  if (s < 45) return t("justNow");
  const rel = new Intl.RelativeTimeFormat(locale(), { numeric: "always" });
  if (s < 3600) return rel.format(-Math.max(1, Math.round(s / 60)), "minute");
  if (s < 86400) return rel.format(-Math.round(s / 3600), "hour");
  return rel.format(-Math.round(s / 86400), "day");
}

const TOKENS = {
  date_num: { year: "numeric", month: "2-digit", day: "2-digit" },
  date: { month: "long", day: "numeric", year: "numeric" },
  date_short: { month: "short", day: "numeric", year: "numeric" },
  date_long: { weekday: "long", month: "long", day: "numeric", year: "numeric" },
  time: { hour: "numeric", minute: "2-digit" },
  time_secs: { hour: "numeric", minute: "2-digit", second: "2-digit" },
};

/** formatDate fills Slack's {date_short} {time} {ago} tokens for a unix second. */
export function formatDate(at, format) {
  return String(format).replace(/\{(\w+?)(?:_pretty)?\}/g, (all, name) => {
    if (name === "ago") return ago(at);
    return TOKENS[name] ? fmt(at * 1000, TOKENS[name]) : all;
  });
}
