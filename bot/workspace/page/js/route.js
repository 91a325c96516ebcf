// What is open, in the address: #/CHANNEL, #/CHANNEL/TS for a message,
// #/CHANNEL/tTS for a thread, #/CHANNEL/tTS/TS for a reply; ?as=NAME is the
// person. /archives/CHANNEL/pTS, the form of a permalink, is understood too.

const TS = /^\d{1,12}\.\d{6}$/;

/** read parses the address; absent parts are "". */
export function read() {
  const link = /^\/archives\/(\w+)\/p(\d+)(\d{6})$/.exec(location.pathname);
  if (link && !location.hash) {
    const ts = `${link[2]}.${link[3]}`;
    const thread = new URLSearchParams(location.search).get("thread_ts") || "";
    return { channel: link[1], thread: TS.test(thread) ? thread : "", focus: ts, as: "" };
  }
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = decodeURIComponent(path).split("/");
  const out = { channel: parts[0] || "", thread: "", focus: "", as: new URLSearchParams(query).get("as") || "" };
  for (const part of parts.slice(1)) {
    if (part.startsWith("t") && TS.test(part.slice(1))) out.thread = part.slice(1);
    else if (TS.test(part)) out.focus = part;
  }
  return out;
}

/** format is the hash for what is open. */
export function format({ channel, thread, focus, as }) {
  const path = [channel, thread && `t${thread}`, focus].filter(Boolean).join("/");
  return `#/${path}${as ? `?as=${encodeURIComponent(as)}` : ""}`;
}

/** write puts it into the address; push makes a step for the back button. */
export function write(open, push) {
  const url = "/" + format(open);
  if (location.pathname + location.hash === url) return;
  history[push ? "pushState" : "replaceState"](null, "", url);
}

/** permalink is a link to share: it names no person. */
export const permalink = (channel, ts, thread) =>
  location.origin + "/" + format({ channel, thread: thread && thread !== ts ? thread : "", focus: ts });
