// Files under a message: pictures inline, text as a snippet that unfolds.

import { h, safeURL, sameOrigin } from "./dom.js";
import { icon } from "./icons.js";
import { t, locale } from "./i18n.js";
import { openImage } from "./lightbox.js";

const FOLDED = 8; // lines of a text shown at first
const MOST = 400000; // characters of a text ever drawn

/** files draws the files of a message. */
export const files = (list) => h("div", { class: "files" }, (list || []).map(one));

function one(f) {
  if (!sameOrigin(f.url)) return card(f);
  if (/^image\/(png|jpe?g|gif|webp|svg\+xml)$/.test(f.mimetype || "")) return picture(f);
  if (/^text\/|json|yaml/.test(f.mimetype || "")) return snippet(f);
  return card(f);
}

const title = (f) => h("bdi", { class: "file-title", text: f.title || f.name || t("file") });

function size(n) {
  if (!Number.isFinite(n)) return "";
  const unit = n < 1000 ? "byte" : n < 1e6 ? "kilobyte" : "megabyte";
  const value = n / { byte: 1, kilobyte: 1000, megabyte: 1e6 }[unit];
  return new Intl.NumberFormat(locale(), { style: "unit", unit, maximumFractionDigits: value < 10 ? 1 : 0 }).format(value);
}

function save(f) {
  const href = sameOrigin(f.url) ? `${f.url}?download=1` : safeURL(f.url);
  return href && h("a", { class: "icon-btn", href, download: f.name || "", "aria-label": `${t("download")} ${f.name || ""}`, title: t("download") }, icon("download"));
}

function card(f) {
  return h("div", { class: "file-card" }, icon("file", 28), h("div", {}, title(f), h("div", { class: "quiet", text: size(f.size) })), save(f));
}

function picture(f) {
  const open = () => openImage(f.url, f.title || f.name);
  return h("figure", { class: "file-image" }, h("figcaption", {}, title(f)),
    h("button", { class: "image-open", type: "button", "aria-label": `${t("openImage")}: ${f.title || f.name || ""}`, on: { click: open } }, h("img", { src: f.url, alt: "", loading: "lazy" })));
}

function snippet(f) {
  const pre = h("pre", { class: "snippet-text", dir: "auto" });
  const lines = f.lines || (f.preview || "").split("\n").length;
  const preview = (f.preview || "").split("\n").slice(0, FOLDED).join("\n");
  pre.textContent = preview;
  let open = false;
  const more = h("button", { class: "snippet-more", type: "button", "aria-expanded": "false", on: { click: flip } });
  const label = () => (more.textContent = open ? t("showLess") : t("showAll", { n: lines }));
  async function flip() {
    open = !open;
    more.setAttribute("aria-expanded", String(open));
    label();
    pre.textContent = open ? await whole(f.url).catch(() => f.preview || "") : preview;
  }
  label();
  const folds = lines > FOLDED || (f.size || 0) > preview.length + FOLDED;
  return h("div", { class: "snippet" }, h("div", { class: "snippet-head" }, icon("file", 20), title(f), h("span", { class: "quiet", text: size(f.size) }), save(f)), pre, folds && more);
}

async function whole(url) {
  const res = await fetch(url, { signal: AbortSignal.timeout(15000) });
  if (!res.ok) throw new Error(String(res.status));
  return (await res.text()).slice(0, MOST);
}
