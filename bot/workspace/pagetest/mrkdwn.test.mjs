// mrkdwn parsing, without a browser: node --test.

import test from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

// The page's modules are .js without a package.json beside them: load the text
// as a module, so that any Node since 18 does.
const source = readFileSync(new URL("../page/js/render/mrkdwn.js", import.meta.url), "utf8");
const { parse } = await import("data:text/javascript;base64," + Buffer.from(source).toString("base64"));

// short writes a tree in one line: b(…), code(…), [url](…), @ID.
function short(nodes) {
  return nodes.map((n) => {
    if (n.t === "text") return n.v;
    if (n.t === "br") return "⏎";
    if (n.t === "link") return `[${n.url}](${short(n.c)})`;
    if (n.t === "user") return `@${n.id}`;
    if (n.t === "channel") return `#${n.id}`;
    if (n.t === "broadcast") return `!${n.v}`;
    if (n.t === "emoji") return `:${n.name}:`;
    return `${n.t}(${short(n.c)})`;
  }).join("");
}

for (const [text, want] of [
  ["*bold* _it_ ~gone~ `x`", "b(bold) i(it) s(gone) code(x)"],
  ["2*3*4 snake_case_name", "2*3*4 snake_case_name"],
  ["*not\nbold*", "*not⏎bold*"],
  ["* bullet * here", "* bullet * here"],
  ["*a _b_ `c`*", "b(a i(b) code(c))"],
  ["`*raw* &lt;x&gt;`", "code(*raw* <x>)"],
  ["a\n```\nline *1*\nline 2\n```\nb", "apre(line *1*\nline 2)b"],
  ["&gt; one\n&gt; two\nafter", "quote(one⏎two)after"],
  ["&gt;&gt;&gt; all\nof it", "quote(all⏎of it)"],
  ["<https://a.test/?a=1&amp;b=2|*see*>", "[https://a.test/?a=1&b=2](b(see))"],
  ["<javascript:alert(1)|x>", "<javascript:alert(1)|x>"],
  ["<data:text/html,x>", "<data:text/html,x>"],
  ["<@U1|ann> in <#C1|lab>, <!here>", "@U1 in #C1, !here"],
  ["see https://a.test/x. Then", "see [https://a.test/x](https://a.test/x). Then"],
  ["&amp;lt; is not a tag", "&lt; is not a tag"],
  ["12:30:45 and :tada:", "12:30:45 and :tada:"],
  ["", ""],
]) {
  test(JSON.stringify(text), () => assert.equal(short(parse(text)), want));
}

test("plain text knows emoji only", () => {
  assert.equal(short(parse("*a* <@U1> :tada:", { plain: true })), "*a* <@U1> :tada:");
});

test("hostile text takes linear time", () => {
  const started = performance.now();
  for (const text of ["*a ", "<", "`", ":a", "> ", "*_~", "&", "```", "<@", "https://"]) parse(text.repeat(40000 / text.length));
  assert.ok(performance.now() - started < 5000, `${performance.now() - started} ms`);
});
