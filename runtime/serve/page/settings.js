// How answers are made: the panel at the side, and what a request says of it.

const samplingFields = [
  { key: "temperature", label: "Temperature", min: 0, step: 0.1, hint: "0 always takes the likeliest token; above 1 answers vary more" },
  { key: "top_p", label: "Top p", min: 0, max: 1, step: 0.05, hint: "Only the likeliest tokens that have this probability together" },
  { key: "top_k", label: "Top k", min: 0, step: 1, hint: "Only so many of the likeliest tokens; 0 is all" },
  { key: "min_p", label: "Min p", min: 0, max: 1, step: 0.01, hint: "Only tokens at least this share as likely as the likeliest" },
  { key: "max_tokens", label: "Max tokens", min: 1, step: 1, hint: "Where an answer ends at the latest" },
  { key: "seed", label: "Seed", min: 0, step: 1, hint: "The same seed draws the same tokens" },
  { key: "repetition_penalty", label: "Repetition penalty", min: 0, step: 0.05, hint: "Above 1 makes what was said less likely" },
  { key: "presence_penalty", label: "Presence penalty", step: 0.1, hint: "Subtracted once from a token's logit if it was said" },
  { key: "frequency_penalty", label: "Frequency penalty", step: 0.1, hint: "Subtracted for each time that it was said" },
];

/// OpenAI's default of /v1/completions, 16, is over before it begins.
const usualTextTokens = 256;

/// Settings: {system, more, and a number for each of samplingFields that is set}.
function latestSettings() {
  return parseOr(storage?.getItem("baton.settings"), {});
}

/// What a request says of them. Throws Fault if `more` is no JSON object.
function settingsOf(conversation) {
  const { settings } = conversation;
  const keys = conversation.kind === "text" ? { max_tokens: usualTextTokens } : {};
  for (const { key } of samplingFields) if (typeof settings[key] === "number") keys[key] = settings[key];
  if (!settings.more?.trim()) return keys;
  const more = parseOr(settings.more, null);
  if (more === null || typeof more !== "object" || Array.isArray(more))
    throw new Fault("refused", "More keys of the request (in the settings) are no JSON object.");
  return { ...keys, ...more };
}

/// The panel at the side: shows a conversation's settings, and keeps them for the next new one.
const settingsPanel = {
  conversation: null,

  build() {
    const box = byId("sampling");
    for (const { key, label, hint, ...limits } of samplingFields) {
      const input = element("input", { id: `set-${key}`, type: "number", inputmode: "decimal", ...limits, step: "any", placeholder: "default" });
      // Arrows take the step; what is typed may lie between.
      input.addEventListener("focus", () => { if (input.value === "") input.step = limits.step; });
      input.addEventListener("input", () => { input.step = "any"; this.change(); });
      box.append(element("label", { for: input.id, title: hint }, label), input);
    }
    byId("system").addEventListener("input", () => this.change());
    byId("more").addEventListener("input", () => this.change());
    byId("reset").addEventListener("click", () => {
      for (const { key } of samplingFields) byId(`set-${key}`).value = "";
      this.change();
    });
  },

  show(conversation) {
    this.conversation = conversation;
    const { settings } = conversation;
    byId("system").value = settings.system ?? "";
    byId("more").value = settings.more ?? "";
    for (const { key } of samplingFields) byId(`set-${key}`).value = settings[key] ?? "";
    byId("set-max_tokens").placeholder = conversation.kind === "text" ? String(usualTextTokens) : "default";
    byId("system-part").hidden = conversation.kind === "text";
    this.check();
  },

  change() {
    const settings = { system: byId("system").value, more: byId("more").value };
    for (const { key } of samplingFields) {
      const { value } = byId(`set-${key}`);
      if (value !== "") settings[key] = Number(value);
    }
    shell.catchUp(true);
    const { conversation } = this;
    conversation.settings = settings;
    // A system prompt is one conversation's; how tokens are drawn is a habit.
    store("baton.settings", JSON.stringify({ ...settings, system: "" }));
    if (!isEmpty(conversation)) conversations.save(conversation);
    this.check();
  },

  check() {
    const { settings } = this.conversation;
    const text = settings.more?.trim();
    const value = text ? parseOr(text, null) : {};
    byId("more-fault").hidden = value !== null && typeof value === "object" && !Array.isArray(value);
    const count = samplingFields.filter(({ key }) => settings[key] !== undefined).length + (settings.system ? 1 : 0) + (text ? 1 : 0);
    byId("settings-button").classList.toggle("set", count > 0);
  },
};
