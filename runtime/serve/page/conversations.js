// A conversation: {id, kind: "chat" | "text", title, created, changed, revision, settings, messages, text}.
// A message: {id, role, content, reasoning, calls: [{id, name, arguments, result}], stats, finish, fault}.
// Each has a key of its own in localStorage, so that tabs which write different ones do not meet.

const conversationKey = "baton.conversation.";
const newId = () => Date.now().toString(36) + Math.random().toString(36).slice(2, 8);

const conversations = {
  /// What this tab holds: shown, or still being written by the model. By id.
  open: new Map(),

  create(kind, settings) {
    const now = Date.now();
    const conversation = { id: newId(), kind, title: "", created: now, changed: now, revision: "", settings, messages: [], text: "" };
    this.open.set(conversation.id, conversation);
    return conversation;
  },

  read(id) {
    const stored = parseOr(storage?.getItem(conversationKey + id), null);
    return stored && Array.isArray(stored.messages) ? stored : null;
  },

  /// As this tab has it, or as it is stored; null if there is none.
  load(id) {
    if (!this.open.has(id)) {
      const stored = this.read(id);
      if (!stored) return null;
      for (const message of stored.messages) {
        if (!message.isRunning) continue;
        // Another tab's answer is saved every second; a page that broke down writes no more.
        message.finish = Date.now() - stored.changed < 4000 ? "elsewhere" : "stopped";
        delete message.isRunning;
      }
      this.open.set(id, stored);
    }
    return this.open.get(id);
  },

  /// Latest first.
  list() {
    const all = new Map();
    for (let i = 0; i < (storage?.length ?? 0); ++i) {
      const key = storage.key(i);
      if (!key.startsWith(conversationKey)) continue;
      const stored = this.read(key.slice(conversationKey.length));
      if (stored) all.set(stored.id, stored);
    }
    for (const [id, own] of this.open) if (!storage && !isEmpty(own)) all.set(id, own);
    return [...all.values()].sort((a, b) => b.changed - a.changed);
  },

  /// Writes what this tab has. If another one wrote since, neither is lost: ours gets a new id.
  save(conversation) {
    const stored = this.read(conversation.id);
    if (stored && stored.revision !== conversation.revision) {
      this.open.delete(conversation.id);
      conversation.id = newId();
      conversation.title = `${conversation.title} (2)`;
      this.open.set(conversation.id, conversation);
      this.onMoved(conversation);
    }
    conversation.revision = newId();
    conversation.changed = Date.now();
    if (!store(conversationKey + conversation.id, JSON.stringify(conversation)))
      toast("The browser's storage is full: delete conversations to keep this one.");
  },

  remove(id) {
    this.open.delete(id);
    storage?.removeItem(conversationKey + id);
  },

  /// Set by the page: called with a conversation that has a new id.
  onMoved() {},
};

function isEmpty(conversation) {
  return conversation.messages.length === 0 && conversation.text === "";
}

/// The first words of what the user wrote.
function titleOf(conversation) {
  const first = conversation.messages.find(message => message.role === "user")?.content ?? conversation.text;
  const words = first.trim().replace(/\s+/g, " ");
  return words.length > 60 ? words.slice(0, 59) + "…" : words;
}

// What is written but not sent belongs to its tab, and survives a reload.
const drafts = {
  key: id => `baton.draft.${id}`,
  read(id) {
    try {
      return sessionStorage.getItem(this.key(id)) ?? "";
    } catch {
      return "";
    }
  },
  write(id, text) {
    try {
      if (text) sessionStorage.setItem(this.key(id), text);
      else sessionStorage.removeItem(this.key(id));
    } catch { /* It is in the field still. */ }
  },
};
