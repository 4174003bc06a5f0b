// The conversation that is shown.

const finishTexts = {
  length: "Cut off: the most tokens, or the model's last position, were reached.",
  stopped: "Stopped.",
  elsewhere: "Another tab's answer, which comes here as it is saved.",
};

function statsText(stats) {
  const parts = [`${stats.isExact ? "" : "about "}${countText(stats.tokens, "token")}`];
  if (stats.rate !== null) parts.push(`${rateText(stats.rate)} tokens/s`);
  parts.push(`first after ${timeText(stats.first)}`);
  return parts.join(" · ");
}

function statsHint(stats) {
  if (stats.prompt === null) return "";
  return `${countText(stats.prompt, "token")} of prompt, ${wholeText(stats.cached ?? 0)} of them read from the prefix cache`;
}

function faultCard(fault, retry) {
  const names = { unreachable: "No connection", broken: "The answer broke off", key: "A key is needed", refused: "The server refused", failed: "The server failed" };
  return element("div", { class: "fault", role: "alert" },
    element("div", {}, element("b", {}, names[fault.kind] ?? "Failed"), element("p", {}, fault.text)),
    element("button", { type: "button", onclick: retry }, "Try again"));
}

/// One message on the page. update() shows what changed since.
class MessageView {
  constructor(message) {
    this.message = message;
    const isUser = message.role === "user";
    this.body = element("div", { class: isUser ? "bubble" : "markdown" });
    this.actions = element("div", { class: "actions" });
    this.node = element("article", { class: `message ${message.role}`, "aria-label": isUser ? "You" : "Answer" });
    if (isUser) {
      this.node.append(this.body, this.actions);
    } else {
      this.thoughts = element("div", { class: "thoughts" });
      this.thoughtsTitle = element("summary", {});
      this.reasoning = element("details", { class: "reasoning", hidden: true }, this.thoughtsTitle, this.thoughts);
      this.calls = element("div", { class: "calls" });
      this.end = element("div", { class: "end" });
      this.stats = element("span", { class: "stats" });
      this.node.append(this.reasoning, this.body, this.calls, this.end, element("footer", {}, this.actions, this.stats));
      this.markdown = new MarkdownView(this.body);
      this.callViews = [];
    }
    this.drawActions();
    this.update();
  }

  drawActions() {
    const { message } = this;
    const copy = iconButton("copy", "Copy", () => copyText(message.content, copy));
    const buttons = [copy, iconButton("edit", "Edit", () => this.edit())];
    if (message.role === "assistant")
      buttons.push(iconButton("again", "Answer again", () => chat.answerAgain(message)),
        iconButton("more", "Go on with this answer", () => chat.goOn(message), { "data-act": "more" }));
    buttons.push(iconButton("remove", "Delete", () => chat.removeMessage(message)));
    this.actions.replaceChildren(...buttons);
  }

  update(stats = this.message.stats) {
    const { message } = this;
    if (this.editor) return;
    if (message.role === "user") {
      this.body.textContent = message.content;
      return;
    }
    this.node.classList.toggle("running", Boolean(message.isRunning));
    this.node.classList.toggle("waiting", Boolean(message.isRunning) && !message.content && !message.reasoning && !message.calls);
    this.markdown.update(message.content);
    this.updateReasoning();
    this.updateCalls();
    const more = this.actions.querySelector("[data-act=more]");
    more.hidden = !message.content || message.finish === "stop" || Boolean(message.calls) || chat.conversation?.messages.at(-1) !== message;
    this.stats.textContent = stats ? statsText(stats) : "";
    this.stats.title = stats ? statsHint(stats) : "";
    const note = !message.isRunning && finishTexts[message.finish];
    this.end.replaceChildren(...[
      message.fault && faultCard(message.fault, () => chat.retry(message)),
      note && element("p", { class: "note" }, note),
    ].filter(Boolean));
  }

  updateReasoning() {
    const { reasoning, content, isRunning } = this.message;
    this.reasoning.hidden = !reasoning;
    if (!reasoning) return;
    const words = reasoning.trim().split(/\s+/).length;
    this.thoughtsTitle.textContent = isRunning && !content && !this.message.calls ? `Thinking… ${countText(words, "word")}` : `Thought in ${countText(words, "word")}`;
    this.thoughts.textContent = reasoning.trim();
  }

  updateCalls() {
    const calls = this.message.calls ?? [];
    while (this.callViews.length < calls.length) {
      const view = this.callView(calls[this.callViews.length]);
      this.callViews.push(view);
      this.calls.append(view.node);
    }
    calls.forEach((call, i) => {
      const { title, body } = this.callViews[i];
      title.textContent = call.name || "…";
      const value = parseOr(call.arguments, null);
      body.textContent = value === null ? call.arguments : JSON.stringify(value, null, 2);
    });
    if (calls.length > 0 && !this.message.isRunning && !this.send) {
      this.send = element("button", { type: "button", class: "primary", onclick: () => chat.sendResults(this.message) }, "Send results");
      this.calls.append(this.send);
    }
    if (this.send) this.send.hidden = Boolean(this.message.isRunning) || chat.conversation?.messages.at(-1) !== this.message;
    for (const { result } of this.callViews) result.disabled = Boolean(this.message.isRunning);
  }

  /// The model asks for a function's result; nobody but the user can give it here.
  callView(call) {
    const title = element("code", {}), body = element("code", {});
    const result = element("textarea", { rows: 2, placeholder: "What the function returns", "aria-label": "Result of the call" });
    result.value = call.result ?? "";
    result.addEventListener("input", () => {
      call.result = result.value;
      chat.saveSoon();
    });
    const node = element("div", { class: "call" }, element("div", { class: "call-head" }, "Call of ", title),
      element("pre", { tabindex: "0" }, body), result);
    return { node, title, body, result };
  }

  edit() {
    if (this.editor || runs.of(chat.conversation)) return;
    const { message } = this;
    const area = element("textarea", { "aria-label": "Edit the message" });
    area.value = message.content;
    const close = () => {
      this.editor.remove();
      this.editor = null;
      this.body.hidden = this.actions.hidden = false;
      this.update();
    };
    const save = () => {
      message.content = area.value;
      close();
      chat.changed();
    };
    const isUser = message.role === "user";
    const send = () => {
      const before = chat.conversation.messages.map(own => own === message ? { ...own } : own);
      save();
      chat.answerAfter(message, before);
    };
    const submit = isUser ? send : save;
    this.editor = element("div", { class: "editor" }, area, element("div", { class: "buttons" },
      isUser && element("button", { type: "button", class: "primary", onclick: send }, "Send"),
      element("button", { type: "button", class: isUser ? "" : "primary", onclick: save }, isUser ? "Save only" : "Save"),
      element("button", { type: "button", onclick: close }, "Cancel")));
    area.addEventListener("keydown", event => {
      if (event.key === "Escape") close();
      else if (event.key === "Enter" && !event.isComposing && (isUser ? !event.shiftKey : event.ctrlKey)) submit();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    area.addEventListener("input", () => growWithText(area));
    this.body.hidden = this.actions.hidden = true;
    this.body.before(this.editor);
    growWithText(area);
    area.focus();
  }
}

const suggestions = [
  ["Explain something", "Explain how a transformer produces the next token, in three short paragraphs."],
  ["Write code", "Write a Python function that merges overlapping intervals, with two examples."],
  ["Compare in a table", "Compare quicksort, mergesort and heapsort in a table: time, memory, stability."],
  ["Tell a story", "Tell a short story about a lighthouse keeper who receives an unexpected letter."],
];

/// The conversation that is shown.
const chat = {
  conversation: null,
  /// By message.
  views: new Map(),
  saveTimer: 0,
  frame: 0,

  build() {
    const input = byId("input");
    input.addEventListener("input", () => {
      growWithText(input);
      drafts.write(this.draftId(), input.value);
      this.showButtons();
    });
    input.addEventListener("keydown", event => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        this.send();
      } else if (event.key === "ArrowUp" && input.value === "") {
        const last = this.conversation.messages.findLast(message => message.role === "user");
        if (!last || runs.of(this.conversation)) return;
        event.preventDefault();
        this.views.get(last).edit();
      }
    });
    byId("composer").addEventListener("submit", event => {
      event.preventDefault();
      if (runs.of(this.conversation)) runs.stop(this.conversation);
      else this.send();
    });
    byId("scroll").addEventListener("scroll", () => { byId("to-end").hidden = this.isAtEnd(); }, { passive: true });
    byId("to-end").addEventListener("click", () => this.scrollToEnd());
  },

  /// A conversation without messages is not in the list yet, and any tab may have one.
  draftId() { return isEmpty(this.conversation) ? "new" : this.conversation.id; },

  show(conversation) {
    this.conversation = conversation;
    this.views.clear();
    byId("messages").replaceChildren(...conversation.messages.map(message => this.viewOf(message).node));
    const input = byId("input");
    const draft = drafts.read(this.draftId());
    // Writing the same would move the cursor.
    if (input.value !== draft) input.value = draft;
    this.showEmpty();
    this.showButtons();
    this.showContext();
    requestAnimationFrame(() => {
      growWithText(input);
      this.scrollToEnd();
    });
  },

  viewOf(message) {
    if (!this.views.has(message)) this.views.set(message, new MessageView(message));
    return this.views.get(message);
  },

  showEmpty() {
    const box = byId("welcome");
    box.hidden = this.conversation.messages.length > 0;
    if (box.hidden) return;
    box.replaceChildren(
      element("h1", {}, "What shall it be?"),
      element("p", {}, serverState.model ? `${serverState.model.id} answers, compiled by Baton into one program.` : "Waiting for the server."),
      element("div", { class: "suggestions" }, ...suggestions.map(([title, text]) =>
        element("button", { type: "button", onclick: () => this.suggest(text) }, element("b", {}, title), element("span", {}, text)))));
  },

  suggest(text) {
    const input = byId("input");
    input.value = text;
    input.dispatchEvent(new Event("input"));
    input.focus();
  },

  showButtons() {
    const isRunning = Boolean(runs.of(this.conversation));
    const button = byId("send");
    setIcon(button, isRunning ? "stop" : "send", isRunning ? "Stop (Esc)" : "Send (Enter)");
    button.classList.toggle("stop", isRunning);
    button.disabled = !isRunning && byId("input").value.trim() === "";
    byId("messages").classList.toggle("busy", isRunning);
  },

  /// How much of the model's positions the conversation takes.
  showContext() {
    const most = serverState.model?.max_model_len;
    const used = this.conversation.messages.findLast(message => message.stats?.total)?.stats.total;
    const box = byId("context");
    box.hidden = !most || !used;
    if (box.hidden) return;
    box.replaceChildren(element("span", { class: "meter" }, element("span", { style: `width: ${Math.min(100, 100 * used / most)}%` })),
      `${wholeText(used)} of ${wholeText(most)} positions`);
    box.classList.toggle("near", used > 0.85 * most);
  },

  isAtEnd() {
    const box = byId("scroll");
    return box.scrollHeight - box.scrollTop - box.clientHeight < 60;
  },

  scrollToEnd() {
    const box = byId("scroll");
    box.scrollTop = box.scrollHeight;
  },

  /// Once a frame, however many tokens come.
  showStream(conversation, stats) {
    if (conversation !== this.conversation) return;
    this.latestStats = stats;
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      // Who scrolled up reads there.
      const follow = this.isAtEnd();
      const message = this.conversation.messages.at(-1);
      if (message?.isRunning) this.views.get(message)?.update(this.latestStats);
      if (follow) this.scrollToEnd();
      byId("to-end").hidden = this.isAtEnd();
    });
  },

  /// An answer begins or ends.
  showEdge(conversation) {
    if (conversation !== this.conversation) return;
    const follow = this.isAtEnd();
    for (const view of this.views.values()) view.update();
    if (follow) this.scrollToEnd();
    this.showButtons();
    this.showContext();
    if (runs.of(conversation)) {
      announce("The model answers.");
      return;
    }
    const { content, fault } = conversation.messages.at(-1) ?? {};
    announce(fault ? fault.text : content ?? "");
  },

  /// What the user changed.
  changed() {
    const { conversation } = this;
    // Answers behind a message keep what they said; their title is the first question's.
    if (!conversation.isNamed) conversation.title = titleOf(conversation);
    conversations.save(conversation);
    this.showEmpty();
    shell.showList();
  },

  saveSoon() {
    const { conversation } = this;
    clearTimeout(this.saveTimer);
    this.saveTimer = setTimeout(() => {
      conversations.save(conversation);
      shell.showAddress();
    }, 300);
  },

  append(message) {
    this.conversation.messages.push(message);
    byId("messages").append(this.viewOf(message).node);
    return message;
  },

  send() {
    const input = byId("input");
    const content = input.value.trim();
    if (content === "" || runs.of(this.conversation)) return;
    drafts.write(this.draftId(), "");
    shell.catchUp();
    this.append({ id: newId(), role: "user", content });
    input.value = "";
    growWithText(input);
    this.startAnswer();
  },

  startAnswer() {
    this.append({ id: newId(), role: "assistant", content: "" });
    this.changed();
    shell.showAddress();
    this.run();
  },

  run() {
    runs.answer(this.conversation);
    this.scrollToEnd();
  },

  /// Leaves out what stands behind a message.
  cutBehind(message) {
    const { messages } = this.conversation;
    for (const gone of messages.splice(messages.indexOf(message) + 1)) {
      this.views.get(gone)?.node.remove();
      this.views.delete(gone);
    }
  },

  /// Answers a message, in place of what stands behind it; `before` is what "Undo" brings back.
  answerAfter(message, before) {
    const { conversation } = this;
    if (runs.of(conversation)) return;
    this.cutBehind(message);
    this.startAnswer();
    if (before.indexOf(message) !== before.length - 1)
      toast("What stood behind is replaced.", "Undo", () => this.restore(conversation, before));
  },

  answerAgain(message) {
    const { messages } = this.conversation;
    if (runs.of(this.conversation)) return;
    const question = messages[messages.indexOf(message) - 1];
    if (question) {
      this.answerAfter(question, messages.slice());
      return;
    }
    this.cutBehind(message);
    message.content = "";
    this.run();
  },

  goOn(message) {
    if (!runs.of(this.conversation) && this.conversation.messages.at(-1) === message) this.run();
  },

  /// A broken answer begins anew, as it may lack a part in the middle of a word.
  retry(message) {
    if (this.conversation.messages.at(-1) === message && !message.content) this.goOn(message);
    else this.answerAgain(message);
  },

  sendResults(message) {
    if (!runs.of(this.conversation) && this.conversation.messages.at(-1) === message) this.startAnswer();
  },

  removeMessage(message) {
    const { conversation } = this;
    if (runs.of(conversation)) return;
    const before = conversation.messages.slice();
    conversation.messages.splice(before.indexOf(message), 1);
    this.views.get(message).node.remove();
    this.views.delete(message);
    for (const view of this.views.values()) view.update();
    this.changed();
    toast("Message deleted.", "Undo", () => this.restore(conversation, before));
  },

  restore(conversation, messages) {
    runs.stop(conversation);
    conversation.messages = messages;
    conversations.save(conversation);
    if (this.conversation === conversation) this.show(conversation);
    shell.showList();
  },
};
