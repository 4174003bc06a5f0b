// For models without a chat template.

/// For models without a chat template: a text that the model continues.
const textView = {
  conversation: null,
  frame: 0,

  build() {
    const area = byId("text-area");
    area.addEventListener("input", () => {
      const { conversation } = this;
      conversation.text = area.value;
      delete conversation.before;
      if (!conversation.isNamed) conversation.title = titleOf(conversation);
      chat.saveSoon();
      this.showState();
    });
    area.addEventListener("keydown", event => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.run();
    });
    byId("text-run").addEventListener("click", () => runs.of(this.conversation) ? runs.stop(this.conversation) : this.run());
    byId("text-undo").addEventListener("click", () => {
      const { conversation } = this;
      conversation.text = conversation.before;
      delete conversation.before;
      delete conversation.fault;
      conversations.save(conversation);
      this.show(conversation);
    });
  },

  show(conversation) {
    this.conversation = conversation;
    byId("text-area").value = conversation.text;
    this.showState();
  },

  run() {
    const { conversation } = this;
    if (runs.of(conversation) || conversation.text === "") return;
    runs.continueText(conversation);
    shell.showAddress();
  },

  showState(stats = this.conversation.stats) {
    const { conversation } = this;
    const isRunning = Boolean(runs.of(conversation));
    const area = byId("text-area");
    area.readOnly = isRunning;
    byId("text-run").replaceChildren(icon(isRunning ? "stop" : "send"), isRunning ? "Stop" : "Continue");
    byId("text-run").disabled = !isRunning && conversation.text === "";
    byId("text-undo").disabled = isRunning || conversation.before === undefined;
    byId("text-stats").textContent = stats ? statsText(stats) : "";
    byId("text-stats").title = stats ? statsHint(stats) : "";
    byId("text-fault").replaceChildren(...conversation.fault ? [faultCard(conversation.fault, () => this.run())] : []);
  },

  showStream(conversation, stats) {
    if (conversation !== this.conversation || this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const area = byId("text-area");
      const follow = area.scrollHeight - area.scrollTop - area.clientHeight < 60;
      area.value = this.conversation.text;
      if (follow) area.scrollTop = area.scrollHeight;
      this.showState(stats);
    });
  },

  showEdge(conversation) {
    if (conversation !== this.conversation) return;
    byId("text-area").value = conversation.text;
    this.showState();
    announce(runs.of(conversation) ? "The model continues the text." : "The model has stopped.");
    shell.showList();
  },
};
