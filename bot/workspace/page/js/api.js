// The control API of the workspace (docs/reference/workspace.md). Acts resolve
// to the server's answer, refused ones too; only a broken connection rejects.

const ROOT = "/_workspace/";
const PATIENCE = 15000; // ms; the server itself gives up on an app after 3 s

async function call(path, init) {
  const res = await fetch(ROOT + path, { ...init, signal: AbortSignal.timeout(PATIENCE) });
  const body = await res.json().catch(() => null);
  if (body === null) throw new Error(`workspace answered ${res.status} to ${path.split("?")[0]}`);
  return { status: res.status, body };
}

/** get reads a list or an object; args without a value are left out. */
export async function get(path, args = {}) {
  const query = new URLSearchParams(Object.entries(args).filter(([, v]) => v !== undefined && v !== ""));
  const { status, body } = await call(`${path}?${query}`);
  if (status >= 400) throw new Error(body?.detail || body?.error || `workspace answered ${status}`);
  return body;
}

/** post does an act and resolves to {ok, error, detail, …}. */
export async function post(path, args) {
  const { body } = await call(path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(args),
  });
  return body;
}

const EVENTS = [
  "hello", "reset", "message", "message_changed", "message_deleted", "ephemeral", "ephemeral_changed", "ephemeral_deleted",
  "view_opened", "view_updated", "view_closed", "home_published", "app_connected", "app_disconnected", "channel_created", "channel_changed",
];

/**
 * listen follows the workspace as a person. The browser reconnects by itself
 * with Last-Event-ID; when it gives up (the server was restarted), listen
 * starts over after a second and reports `reset`. It returns a stop function.
 */
export function listen(as, onEvent, onLink) {
  let source;
  let timer;
  let lost = false;
  let newest = 0; // id of the last event seen
  const start = () => {
    source = new EventSource(`${ROOT}events?as=${encodeURIComponent(as)}`);
    source.onopen = () => {
      onLink(true);
      if (lost) onEvent("reset", {});
      lost = false;
    };
    source.onerror = () => {
      onLink(false);
      if (source.readyState !== EventSource.CLOSED) return;
      lost = true;
      timer = setTimeout(start, 1000);
    };
    for (const name of EVENTS) {
      source.addEventListener(name, (e) => {
        const data = JSON.parse(e.data);
        // A smaller number than ours: another server answers, ours is gone.
        if (name === "hello" && data.last_id < newest) onEvent("reset", data);
        newest = Number(e.lastEventId) || data.last_id || newest;
        onEvent(name, data);
      });
    }
  };
  start();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}
