// The server: requests, their failures, and whether it is there.

/// What went wrong with a request. `kind`: "unreachable" (nothing answers), "key" (a key is
/// missing or wrong), "refused" (the server says why), "failed" (it says why in the
/// middle of an answer), "broken" (the answer ends early).
class Fault extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

/// localStorage, where browsers allow it. A page without still works until it is closed.
const storage = (() => {
  try {
    localStorage.setItem("baton.try", "");
    localStorage.removeItem("baton.try");
    return localStorage;
  } catch {
    return null;
  }
})();

/// Whether there was room.
function store(key, value) {
  try {
    storage?.setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

function parseOr(text, otherwise) {
  try {
    return JSON.parse(text) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/// A fault with the words of the server's answer.
async function faultOf(response) {
  if (response.status === 401) return new Fault("key", "The server wants a key.");
  const text = await response.text().catch(() => "");
  const message = parseOr(text, {}).error?.message;
  return new Fault("refused", message ? String(message) : `The server answers ${response.status} ${response.statusText}.`);
}

/// The answer of the server; with a body, a POST. Throws Fault, or what `signal` throws.
async function ask(path, body = null, signal = null) {
  const headers = {};
  const key = storage?.getItem("baton.key");
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal, cache: "no-store" });
  } catch (failure) {
    if (failure.name === "AbortError") throw failure;
    serverState.lost();
    throw new Fault("unreachable", `Nothing answers at ${location.host}. The server may have ended.`);
  }
  serverState.found();
  if (response.ok) return response;
  const fault = await faultOf(response);
  if (fault.kind === "key") serverState.askForKey();
  throw fault;
}

/// The objects of a stream of server-sent events. Throws Fault if it has no end.
async function* eventsOf(response) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (failure) {
      if (failure.name === "AbortError") throw failure;
      serverState.lost();
      throw new Fault("broken", "The connection to the server broke off.");
    }
    if (part.done) throw new Fault("broken", "The server ended the answer early.");
    rest += decoder.decode(part.value, { stream: true });
    const lines = rest.split(/\r?\n/);
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data:")) continue;
      const data = line.slice(5).trim();
      if (data === "[DONE]") return;
      const event = parseOr(data, null);
      if (event === null) throw new Fault("broken", "The server's answer cannot be read.");
      if (event.error) throw new Fault("failed", String(event.error.message ?? "The server failed."));
      yield event;
    }
  }
}

/// Whether the server is there, and what it serves.
const serverState = {
  isLost: false,
  model: null,
  retryTimer: 0,
  /// Called with the model once it is known, and each time that a lost server is back.
  onFound: [],

  lost() {
    if (this.isLost) return;
    this.isLost = true;
    this.showStatus();
    this.retryLater();
  },

  found() {
    if (!this.isLost) return;
    this.isLost = false;
    clearTimeout(this.retryTimer);
    this.showStatus();
    this.greet();
  },

  retryLater() {
    clearTimeout(this.retryTimer);
    this.retryTimer = setTimeout(() => this.retry(), 3000);
  },

  async retry() {
    try {
      await ask("/health");
    } catch {
      if (this.isLost) this.retryLater();
    }
  },

  async greet() {
    try {
      const list = await (await ask("/v1/models")).json();
      this.model = list.data[0];
    } catch {
      return;
    }
    this.showStatus();
    for (const tell of this.onFound) tell(this.model);
  },

  showStatus() {
    const banner = byId("banner");
    banner.hidden = !this.isLost;
    if (this.isLost) {
      banner.replaceChildren(
        element("span", {}, element("b", {}, "The server does not answer. "),
          `Nothing is lost: what you write stays here. Trying ${location.host} again every 3 seconds.`),
        element("button", { type: "button", onclick: () => this.retry() }, "Retry now"));
    }
    const status = byId("status");
    status.classList.toggle("lost", this.isLost);
    status.classList.toggle("ready", !this.isLost && this.model !== null);
    byId("model").textContent = this.model?.id ?? (this.isLost ? "no server" : "connecting…");
    byId("facts").textContent = this.isLost ? "no connection" : this.model
      ? [this.model.meta?.family, `${wholeText(this.model.max_model_len)} positions`].filter(Boolean).join(" · ") : "";
    document.title = this.model ? `${this.model.id} – Baton` : "Baton";
  },

  askForKey() {
    const dialog = byId("key-dialog");
    if (dialog.open) return;
    byId("key-fault").hidden = !storage?.getItem("baton.key");
    dialog.showModal();
  },
};
