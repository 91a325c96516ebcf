// Makes page/emoji.svg: one <symbol> for each name of page/js/render/emoji.js,
// drawn from @iconify-json/fluent-emoji-flat (Microsoft Fluent Emoji, MIT).
//
//   npm install --no-save @iconify-json/fluent-emoji-flat@1.2.6
//   node sprite.mjs NODE_MODULES > ../page/emoji.svg
//
// The answer is the same for the same package version, so the file is checked
// by making it again.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const pkg = join(process.argv[2] || "node_modules", "@iconify-json/fluent-emoji-flat");
const read = (name) => JSON.parse(readFileSync(join(pkg, name), "utf8"));
const { icons, aliases = {} } = read("icons.json");
const chars = read("chars.json");
const source = readFileSync(new URL("../page/js/render/emoji.js", import.meta.url), "utf8");
const table = /const CHARS = \{([\s\S]*?)\n\};/.exec(source)[1];

// The icon set keys by code point, with or without the variation selector.
function icon(char) {
  const code = [...char].map((c) => c.codePointAt(0).toString(16).padStart(4, "0"));
  for (const key of [code.join("-"), code.filter((c) => c !== "fe0f").join("-"), [...code, "fe0f"].join("-")]) {
    const name = chars[key];
    if (name) return icons[name] || icons[aliases[name]?.parent];
  }
  return null;
}

const symbols = [];
const byChar = new Set();
for (const [, quoted, bare, char] of table.matchAll(/(?:"([^"]+)"|([\w]+)): "([^"]+)"/g)) {
  const found = icon(char);
  const name = quoted || bare;
  if (!found) {
    process.stderr.write(`no drawing for :${name}: ${char}\n`);
    continue;
  }
  if (byChar.has(char)) continue;
  byChar.add(char);
  const box = `${found.left || 0} ${found.top || 0} ${found.width || 32} ${found.height || 32}`;
  symbols.push(`<symbol id="e-${name}" viewBox="${box}">${found.body.replace(/id="([^"]+)"|url\(#([^)]+)\)/g, (all, id, ref) => (id ? `id="${name}-${id}"` : `url(#${name}-${ref})`))}</symbol>`);
}
process.stdout.write(`<svg xmlns="http://www.w3.org/2000/svg"><!-- Made by pagetest/sprite.mjs. DO NOT EDIT. Drawings: Fluent Emoji, (c) Microsoft Corporation, MIT; see emoji-LICENSE.txt. -->\n${symbols.join("\n")}\n</svg>\n`);
