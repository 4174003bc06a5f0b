// What is around the views, and the beginning of it all.

const themes = ["auto", "light", "dark"];

/// What is around the views: the list, the theme, the address and the keyboard.
const shell = {
  view: "chat",
  listTimer: 0,

  build() {
    this.setTheme(themes.includes(storage?.getItem("baton.theme")) ? storage.getItem("baton.theme") : "auto");
    byId("theme").addEventListener("click", () => this.setTheme(themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % 3]));
    byId("menu").append(icon("menu"));
    byId("menu").addEventListener("click", () => this.toggleSide("list-open"));
    byId("settings-button").append(icon("settings"));
    byId("settings-button").addEventListener("click", () => this.toggleSide("settings-open"));
    byId("settings-close").append(icon("close"));
    byId("settings-close").addEventListener("click", () => this.toggleSide("settings-open"));
    byId("shade").addEventListener("click", () => this.closeSides());
    byId("to-end").append(icon("down"));
    byId("new").prepend(icon("plus"));
    byId("new").addEventListener("click", () => this.begin());
    byId("tab-chat").addEventListener("click", () => this.showView("chat"));
    byId("tab-engine").addEventListener("click", () => this.showView("engine"));
    byId("tab-chat").parentElement.addEventListener("keydown", event => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      this.showView(this.view === "chat" ? "engine" : "chat");
      byId(`tab-${this.view}`).focus();
    });
    byId("text-undo").prepend(icon("undo"));
    byId("key-form").addEventListener("submit", event => {
      event.preventDefault();
      store("baton.key", byId("key").value.trim());
      byId("key-dialog").close();
      this.afterKey();
    });
    byId("key-button").addEventListener("click", () => serverState.askForKey());
    addEventListener("hashchange", () => this.readAddress());
    addEventListener("keydown", event => this.press(event));
    addEventListener("storage", event => this.takeStorage(event));
    addEventListener("pagehide", () => runs.leave());
  },

  setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    store("baton.theme", theme);
    const names = { auto: "Theme: as the system's", light: "Theme: light", dark: "Theme: dark" };
    setIcon(byId("theme"), theme, names[theme]);
    timeline.draw();
  },

  isNarrow: () => matchMedia("(max-width: 800px)").matches,

  toggleSide(name) {
    const { classList } = document.body;
    const isOpen = classList.toggle(name);
    if (isOpen && this.isNarrow()) classList.remove(name === "list-open" ? "settings-open" : "list-open");
    this.showSides();
    if (isOpen && name === "settings-open") byId("settings").querySelector("textarea, input").focus({ preventScroll: true });
  },

  closeSides() {
    document.body.classList.remove("list-open", "settings-open");
    this.showSides();
  },

  showSides() {
    byId("menu").setAttribute("aria-expanded", document.body.classList.contains("list-open"));
    byId("settings-button").setAttribute("aria-expanded", document.body.classList.contains("settings-open"));
  },

  showView(view) {
    this.view = view;
    for (const name of ["chat", "engine"]) {
      byId(`tab-${name}`).setAttribute("aria-selected", name === view);
      byId(`tab-${name}`).tabIndex = name === view ? 0 : -1;
    }
    const isText = chat.conversation?.kind === "text";
    byId("chat").hidden = view !== "chat" || isText;
    byId("text").hidden = view !== "chat" || !isText;
    byId("engine").hidden = view !== "engine";
    byId("settings-button").hidden = view !== "chat";
    if (view !== "chat") document.body.classList.remove("settings-open");
    engine.show(view === "engine");
    this.showAddress();
  },

  /// The address says what is shown, so that a reload shows it again, and each tab has its own.
  showAddress() {
    const id = chat.conversation && !isEmpty(chat.conversation) ? chat.conversation.id : "";
    const parts = [this.view === "engine" && "engine", id].filter(Boolean);
    const address = parts.length > 0 ? `#${parts.join("/")}` : "";
    if (location.hash !== address) history.replaceState(null, "", address || location.pathname);
    this.showList();
  },

  readAddress() {
    const parts = location.hash.slice(1).split("/");
    const view = parts[0] === "engine" ? parts.shift() : "chat";
    this.open(parts[0] && conversations.load(parts[0]) || conversations.create(this.kind(), latestSettings()), view);
    this.focusField();
  },

  open(conversation, view = "chat") {
    chat.conversation = conversation;
    if (conversation.kind === "text") textView.show(conversation);
    else chat.show(conversation);
    settingsPanel.show(conversation);
    this.showView(view);
    if (this.isNarrow()) this.closeSides();
  },

  kind: () => serverState.model?.meta?.chat === false ? "text" : "chat",

  begin() {
    this.open(conversations.create(this.kind(), latestSettings()));
    this.focusField();
  },

  focusField() {
    // On a telephone a keyboard would cover half of the page before anybody wants to write.
    if (matchMedia("(pointer: coarse)").matches) return;
    byId(chat.conversation.kind === "text" ? "text-area" : "input").focus();
  },

  showList() {
    const list = conversations.list();
    byId("list").replaceChildren(...list.map(conversation => this.entry(conversation)));
    byId("list-empty").hidden = list.length > 0;
  },

  entry(conversation) {
    const { id } = conversation;
    const isShown = this.view === "chat" && chat.conversation?.id === id;
    const isRunning = conversations.open.has(id) && runs.of(conversations.open.get(id));
    const title = conversation.title || "Untitled";
    const open = element("button", { type: "button", class: "title", title, "aria-current": isShown ? "page" : null,
      onclick: () => this.open(conversations.load(id)) }, title);
    const node = element("li", { class: [isShown && "shown", isRunning && "running"].filter(Boolean).join(" ") }, open,
      iconButton("edit", `Rename “${title}”`, () => this.rename(node, id)),
      iconButton("remove", `Delete “${title}”`, () => this.remove(id)));
    return node;
  },

  rename(node, id) {
    const conversation = conversations.load(id);
    const input = element("input", { value: conversation.title, "aria-label": "Title" });
    let isOpen = true;
    const close = isKept => {
      // Taking the field away blurs it.
      if (!isOpen) return;
      isOpen = false;
      const title = input.value.trim();
      if (isKept && title && title !== conversation.title) {
        conversation.title = title;
        conversation.isNamed = true;
        conversations.save(conversation);
      }
      this.showList();
    };
    input.addEventListener("keydown", event => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.stopPropagation();
      close(event.key === "Enter");
    });
    input.addEventListener("blur", () => close(true));
    node.replaceChildren(input);
    input.select();
  },

  remove(id) {
    const conversation = conversations.load(id);
    runs.stop(conversation);
    conversations.remove(id);
    if (chat.conversation === conversation) this.begin();
    this.showList();
    toast("Conversation deleted.", "Undo", () => {
      conversations.open.set(id, conversation);
      conversations.save(conversation);
      this.open(conversation);
    });
  },

  /// Another tab wrote.
  takeStorage({ key, newValue }) {
    if (key === "baton.theme" && themes.includes(newValue)) this.setTheme(newValue);
    if (!key?.startsWith(conversationKey)) return;
    const id = key.slice(conversationKey.length);
    const own = conversations.open.get(id);
    if (own && !runs.of(own) && newValue !== null) {
      if (chat.conversation === own) this.catchUp();
      else conversations.open.delete(id);
    }
    clearTimeout(this.listTimer);
    this.listTimer = setTimeout(() => this.showList(), 100);
  },

  /// Takes what another tab made of the conversation, if this one is not writing it, and stays where
  /// the user reads and writes: in the settings, too, if they are what is being changed.
  catchUp(isChangingSettings = false) {
    const own = chat.conversation;
    const stored = conversations.read(own.id);
    if (!stored || stored.revision === own.revision || runs.of(own)) return;
    // What is written in a message that is edited would be gone; saved, it becomes a copy.
    if (document.querySelector(".editor")) return;
    conversations.open.delete(own.id);
    const conversation = conversations.load(own.id);
    const { scrollTop } = byId("scroll");
    const isAtEnd = chat.isAtEnd();
    const { activeElement } = document;
    chat.conversation = conversation;
    if (isChangingSettings) settingsPanel.conversation = conversation;
    else settingsPanel.show(conversation);
    if (conversation.kind === "text") textView.show(conversation);
    else chat.show(conversation);
    if (!isAtEnd) requestAnimationFrame(() => { byId("scroll").scrollTop = scrollTop; });
    activeElement?.focus?.();
  },

  afterKey() {
    serverState.greet();
    const last = chat.conversation.messages.at(-1);
    if (last?.fault?.kind === "key") chat.retry(last);
  },

  press(event) {
    if (byId("key-dialog").open) return;
    const isTyping = /^(input|textarea|select)$/i.test(event.target.tagName ?? "");
    if (event.key === "Escape") {
      const isRunning = chat.conversation && runs.of(chat.conversation);
      if (isRunning) runs.stop(chat.conversation);
      else this.closeSides();
    } else if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
      this.begin();
    } else if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      if (this.view !== "chat") this.showView("chat");
      this.focusField();
    } else {
      return;
    }
    event.preventDefault();
  },
};

conversations.onMoved = conversation => {
  if (chat.conversation === conversation) shell.showAddress();
  toast("Another tab changed this conversation: yours goes on as a copy.");
};

runs.onChange = (conversation, stats) => {
  (conversation.kind === "text" ? textView : chat).showStream(conversation, stats);
};

runs.onEdge = conversation => {
  (conversation.kind === "text" ? textView : chat).showEdge(conversation);
  shell.showList();
};

serverState.onFound.push(() => {
  // Which kind a new conversation has is known only now.
  if (isEmpty(chat.conversation) && chat.conversation.kind !== shell.kind()) shell.begin();
  else if (chat.conversation.kind === "chat") chat.showEmpty();
  chat.showContext();
});

shell.build();
settingsPanel.build();
chat.build();
textView.build();
engine.build();
shell.readAddress();
serverState.showStatus();
serverState.greet();
