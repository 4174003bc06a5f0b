// Answers as they come: requests, streams, and how fast they are.

/// Messages as the API takes them: those before `end`. A call's result is a message of its own there.
function requestMessages(conversation, end) {
  const messages = [];
  if (conversation.settings.system?.trim()) messages.push({ role: "system", content: conversation.settings.system });
  for (const message of conversation.messages.slice(0, end)) {
    if (message.role === "user") {
      messages.push({ role: "user", content: message.content });
      continue;
    }
    const calls = message.calls ?? [];
    // An answer that failed before it began is none.
    if (!message.content && calls.length === 0) continue;
    const own = { role: "assistant", content: message.content };
    if (message.reasoning) own.reasoning_content = message.reasoning;
    if (calls.length > 0)
      own.tool_calls = calls.map(call => ({ id: call.id, type: "function", function: { name: call.name, arguments: call.arguments } }));
    messages.push(own);
    for (const call of calls) messages.push({ role: "tool", tool_call_id: call.id, name: call.name, content: call.result ?? "" });
  }
  return messages;
}

/// Takes one change of a stream into a message.
function takeDelta(message, delta) {
  if (delta.reasoning_content) message.reasoning = (message.reasoning ?? "") + delta.reasoning_content;
  if (delta.content) message.content += delta.content;
  for (const part of delta.tool_calls ?? []) {
    message.calls ??= [];
    const call = message.calls[part.index ?? 0] ??= { id: "", name: "", arguments: "" };
    if (part.id) call.id = part.id;
    call.name += part.function?.name ?? "";
    call.arguments += part.function?.arguments ?? "";
  }
  return Boolean(delta.reasoning_content || delta.content || delta.tool_calls);
}

/// Tokens and times of an answer. Seconds; `tokens` are counted by the server once it is whole, and
/// are as many as changes came until then.
class Meter {
  constructor() {
    this.begin = performance.now();
    this.first = this.latest = null;
    this.changes = 0;
    this.usage = null;
  }

  take() {
    this.latest = performance.now();
    this.first ??= this.latest;
    ++this.changes;
  }

  stats() {
    if (this.first === null) return null;
    const tokens = this.usage?.completion_tokens ?? this.changes;
    const seconds = (this.latest - this.first) / 1000;
    return {
      tokens,
      isExact: this.usage !== null,
      first: (this.first - this.begin) / 1000,
      // The first token's time is the prompt's.
      rate: tokens > 1 && seconds > 0 ? (tokens - 1) / seconds : null,
      prompt: this.usage?.prompt_tokens ?? null,
      cached: this.usage?.prompt_tokens_details?.cached_tokens ?? null,
      total: this.usage?.total_tokens ?? null,
    };
  }
}

/// Answers that are being written, by their conversation's id. They go on while another one is shown.
const runs = {
  all: new Map(),
  /// Set by the page: called with a conversation when something of its answer came, and when one began or ended.
  onChange() {},
  onEdge() {},

  of(conversation) { return this.all.get(conversation); },
  stop(conversation) { this.all.get(conversation)?.abort(); },

  /// The page is about to be closed: what came of answers is kept.
  leave() {
    for (const conversation of this.all.keys()) {
      const message = conversation.messages.at(-1);
      if (message?.isRunning) {
        delete message.isRunning;
        message.finish = "stopped";
      }
      conversations.save(conversation);
    }
  },

  /// Streams `path` into `take(event)`, which says whether a token came; `show(stats)` follows.
  async stream(conversation, path, makeBody, take, finish) {
    if (this.all.has(conversation)) return;
    const controller = new AbortController();
    this.all.set(conversation, controller);
    this.onEdge(conversation);
    const meter = new Meter();
    const saving = setInterval(() => conversations.save(conversation), 1000);
    let fault = null, reason = null;
    try {
      const body = { model: serverState.model?.id, ...makeBody(), stream: true, stream_options: { include_usage: true } };
      const response = await ask(path, body, controller.signal);
      for await (const event of eventsOf(response)) {
        if (event.usage) meter.usage = event.usage;
        const choice = event.choices?.[0];
        if (!choice) continue;
        if (take(choice)) meter.take();
        reason = choice.finish_reason ?? reason;
        this.onChange(conversation, meter.stats());
      }
    } catch (failure) {
      if (failure.name === "AbortError") reason = "stopped";
      else fault = { kind: failure.kind ?? "broken", text: failure.message };
    }
    clearInterval(saving);
    this.all.delete(conversation);
    finish({ fault, reason, stats: meter.stats() });
    conversations.save(conversation);
    this.onEdge(conversation);
  },

  /// The answer to all messages of a conversation but the last one, which it becomes.
  answer(conversation) {
    const message = conversation.messages.at(-1);
    const isBegun = Boolean(message.content);
    const before = message.stats?.tokens ?? 0;
    for (const key of ["fault", "finish", ...isBegun ? [] : ["reasoning", "calls", "stats"]]) delete message[key];
    message.isRunning = true;
    return this.stream(conversation, "/v1/chat/completions",
      // A begun answer goes along, and is continued.
      () => ({ messages: requestMessages(conversation, isBegun ? undefined : -1), ...settingsOf(conversation) }),
      choice => takeDelta(message, choice.delta ?? {}),
      ({ fault, reason, stats }) => {
        delete message.isRunning;
        if (fault) message.fault = fault;
        if (reason) message.finish = reason;
        if (stats) message.stats = { ...stats, tokens: stats.tokens + (isBegun ? before : 0) };
      });
  },

  /// Continues a conversation's text.
  continueText(conversation) {
    conversation.before = conversation.text;
    delete conversation.fault;
    return this.stream(conversation, "/v1/completions",
      () => ({ prompt: conversation.before, ...settingsOf(conversation) }),
      choice => {
        conversation.text += choice.text ?? "";
        return Boolean(choice.text);
      },
      ({ fault, reason, stats }) => {
        if (fault) conversation.fault = fault;
        conversation.finish = reason;
        conversation.stats = stats;
      });
  },
};
