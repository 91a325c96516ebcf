// DOM building. Data enters the page only through text nodes and attributes
// set here; nothing in the page assigns HTML text, so no message can become
// markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * h builds one element. Props: `class`, `text`, `on` (event → handler),
 * `data` (dataset), `vars` (CSS custom properties); any other key is an
 * attribute, left out when null, undefined or false.
 */
export function h(tag, props, ...kids) {
  const el = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") el.className = value;
    else if (key === "text") el.textContent = value;
    else if (key === "on") for (const [ev, fn] of Object.entries(value)) el.addEventListener(ev, fn);
    else if (key === "data") Object.assign(el.dataset, value);
    else if (key === "vars") for (const [k, v] of Object.entries(value)) el.style.setProperty(k, v);
    else el.setAttribute(key, value === true ? "" : String(value));
  }
  append(el, kids);
  return el;
}

/** append adds strings, nodes and nested lists of them; empty values are skipped. */
export function append(el, kids) {
  for (const kid of kids.flat(Infinity)) {
    if (kid === null || kid === undefined || kid === false || kid === "") continue;
    el.append(kid instanceof Node ? kid : document.createTextNode(String(kid)));
  }
  return el;
}

/** name wraps a person's or channel's name so its direction cannot leak out. */
export const bdi = (text, cls) => h("bdi", { class: cls, text });

/** svg builds an icon from path data; it is decoration, hidden from readers. */
export function svg(paths, size = 20, viewBox = "0 0 20 20") {
  const el = document.createElementNS(SVG, "svg");
  el.setAttribute("viewBox", viewBox);
  el.setAttribute("width", size);
  el.setAttribute("height", size);
  el.setAttribute("aria-hidden", "true");
  el.setAttribute("focusable", "false");
  el.classList.add("icon");
  for (const d of [paths].flat()) {
    const p = document.createElementNS(SVG, "path");
    p.setAttribute("d", d);
    el.append(p);
  }
  return el;
}

/** use draws one symbol of a sprite file of the page. */
export function use(href, cls) {
  const el = document.createElementNS(SVG, "svg");
  el.setAttribute("class", cls);
  const u = document.createElementNS(SVG, "use");
  u.setAttribute("href", href);
  el.append(u);
  return el;
}

/** safeURL returns the URL if a person may follow it, else "". */
export function safeURL(url) {
  const text = String(url || "").trim();
  if (!/^(https?:\/\/|mailto:)/i.test(text)) return "";
  try {
    const parsed = new URL(text);
    return ["http:", "https:", "mailto:"].includes(parsed.protocol) ? parsed.href : "";
  } catch {
    return "";
  }
}

/** sameOrigin tells whether the page may load the URL by itself. */
export function sameOrigin(url) {
  try {
    return new URL(url, location.href).origin === location.origin;
  } catch {
    return false;
  }
}

let ids = 0;
/** uid gives an element id unique in this page. */
export const uid = (prefix) => `${prefix}-${++ids}`;
