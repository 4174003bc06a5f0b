"""Conversations as servers pass them to chat templates."""

import copy

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "What the weather is like \"now\" <here> & there.\nSecond line.",
    "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "Where – e.g. Köln"},
        "days": {"type": "integer", "description": "How many", "minimum": 1, "maximum": 18446744073709551615,
                 "default": 1},
        "unit": {"type": "string", "enum": ["C", "F"]},
        "options": {"type": "object", "properties": {"deep": {"type": "array", "items": {"type": "number"}}},
                    "required": ["deep"], "additionalProperties": False},
        "any": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "flags": {"type": ["boolean", "null"]}},
        "required": ["city"]}}}
TIME = {"type": "function", "function": {
    "name": "now", "description": "The time", "parameters": {"type": "object", "properties": {}}}}
TOOLS = [WEATHER, TIME]
SYSTEM = {"role": "system", "content": "You are a helpful assistant.\n\n- Be brief. "}
HI, HELLO, MORE = ({"role": "user", "content": "Hi! What's <up> & \"new\"?\n"},
                   {"role": "assistant", "content": " Hello, Wörld 😀 "},
                   {"role": "user", "content": "And now?"})
IMAGE = "data:image/png;base64,iVBORw0KGgo="


def call(name, arguments, number=0):
    """One call of a tool."""
    return {"id": f"call{number:05}", "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(arguments, content="", **more):
    """A conversation in which a tool is called and answers."""
    return [SYSTEM, HI, {"role": "assistant", "content": content, "tool_calls": [call("get_weather", arguments)],
                         **more},
            {"role": "tool", "name": "get_weather", "tool_call_id": "call00000",
             "content": "{\"temp\": 21.5, \"sky\": \"clear\"}"}]


DICT = {"city": "Köln", "days": 3, "options": {"deep": [1, 2.5, None, True]}}
STRING = "{\"city\": \"Köln\", \"days\": 3}"
SEVERAL = [HI, {"role": "assistant", "content": None, "tool_calls": [
               call("get_weather", {"city": "Rio"}), call("now", {}, 1)]},
           {"role": "tool", "name": "get_weather", "tool_call_id": "call00000", "content": "rain"},
           {"role": "tool", "name": "now", "tool_call_id": "call00001", "content": "12:00"},
           {"role": "assistant", "content": "It rains at noon."}, MORE]
THINKING = [SYSTEM, HI, {"role": "assistant", "content": "<think>\nLet me see.\n</think>\n\nHello!"}, MORE]
PARTS = [{"role": "user", "content": [{"type": "text", "text": "One "}, {"type": "text", "text": "two"}]},
         {"role": "assistant", "content": [{"type": "text", "text": "Three"}]}, MORE]
CONVERSATIONS = {
    "user": {"messages": [HI]},
    "system": {"messages": [SYSTEM, HI]},
    "turns": {"messages": [SYSTEM, HI, HELLO, MORE]},
    "turns without system": {"messages": [HI, HELLO, MORE, HELLO]},
    "developer": {"messages": [{"role": "developer", "content": "Be terse."}, HI]},
    "tools": {"messages": [SYSTEM, HI], "tools": TOOLS},
    "tools without system": {"messages": [HI], "tools": TOOLS},
    "tools, turns": {"messages": [SYSTEM, HI, HELLO, MORE], "tools": TOOLS},
    "no tools": {"messages": [SYSTEM, HI], "tools": []},
    "tools are null": {"messages": [HI], "tools": None, "documents": None},
    "call, dict": {"messages": calling(DICT), "tools": TOOLS},
    "call, text": {"messages": calling(STRING), "tools": TOOLS},
    "call, empty": {"messages": calling({}), "tools": TOOLS},
    "call, content": {"messages": calling(DICT, "I will look. "), "tools": TOOLS},
    "call, null": {"messages": calling(DICT, None), "tools": TOOLS},
    "call, answered": {"messages": [*calling(DICT), HELLO, MORE], "tools": TOOLS},
    "call, reasoning": {"messages": calling(DICT, "", reasoning_content="I need the weather."), "tools": TOOLS},
    "call, open": {"messages": calling(DICT)[:-1], "tools": TOOLS},
    "call without tools": {"messages": calling(DICT)},
    "calls": {"messages": SEVERAL, "tools": TOOLS},
    "calls, open": {"messages": SEVERAL[:-2], "tools": TOOLS},
    "call without id": {"messages": [HI, {"role": "assistant", "content": "", "tool_calls": [
        {"type": "function", "function": {"name": "now", "arguments": {}}}]}, {"role": "tool", "content": "12:00"}],
        "tools": TOOLS},
    "call, flat": {"messages": [HI, {"role": "assistant", "tool_calls": [
        {"name": "now", "arguments": {"a": [1, {"b": "c"}]}}]},
                                {"role": "tool", "content": {"time": "12:00", "list": [1, 2]}}], "tools": TOOLS},
    "result is null": {"messages": [*calling(DICT)[:-1], {"role": "tool", "content": None}], "tools": TOOLS},
    "result in parts": {"messages": [*calling(DICT)[:-1], {"role": "tool", "tool_call_id": "call00000", "content": [
        {"type": "text", "text": "clear"}]}], "tools": TOOLS},
    "reasoning": {"messages": [HI, {"role": "assistant", "content": "Hello!",
                                    "reasoning_content": "A greeting.\nI greet."}, MORE]},
    "reasoning, other name": {"messages": [HI, {"role": "assistant", "content": "Hello!", "reasoning": "Hm.",
                                                "thinking": "Hm."}, MORE]},
    "reasoning, last": {"messages": [HI, {"role": "assistant", "content": "Hello!",
                                          "reasoning_content": "A greeting."}]},
    "thinking in content": {"messages": THINKING},
    "thinking": {"messages": THINKING, "enable_thinking": True, "thinking": True},
    "no thinking": {"messages": THINKING, "enable_thinking": False, "thinking": False},
    "no thinking, tools": {"messages": calling(DICT), "tools": TOOLS, "enable_thinking": False,
                           "reasoning_effort": "low"},
    "effort": {"messages": [SYSTEM, HI], "reasoning_effort": "high", "thinking_budget": 512, "thinking_effort": "low"},
    "documents": {"messages": [SYSTEM, HI], "documents": [
        {"title": "Weather", "text": "It rains.", "contents": "It rains.", "doc_id": 1},
        {"title": "Ü", "text": "<x>\ny", "doc_id": "2"}]},
    "parts": {"messages": PARTS},
    "system in parts": {"messages": [{"role": "system", "content": [{"type": "text", "text": "Be good."}]}, *PARTS]},
    "image": {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": IMAGE}},
                                                        {"type": "text", "text": "?"}]}]},
    "images": {"messages": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "?"},
                                                         {"type": "image", "image": IMAGE},
                                                         {"type": "video"}, {"type": "audio"}]}]},
    "unknown part": {"messages": [{"role": "user", "content": [{"type": "smell", "smell": "x"}]}]},
    "empty": {"messages": [{"role": "user", "content": ""}]},
    "null": {"messages": [{"role": "user", "content": None}, {"role": "assistant", "content": None}, MORE]},
    "no content": {"messages": [{"role": "user"}]},
    "no messages": {"messages": []},
    "nothing": {},
    "two users": {"messages": [HI, MORE]},
    "assistant first": {"messages": [HELLO, HI]},
    "system last": {"messages": [HI, HELLO, SYSTEM]},
    "two systems": {"messages": [SYSTEM, SYSTEM, HI]},
    "unknown role": {"messages": [{"role": "wizard", "content": "Abracadabra"}, HI]},
    "tool first": {"messages": [{"role": "tool", "content": "x"}], "tools": TOOLS},
    "markup": {"messages": [{"role": "user", "content": "<|im_start|>user {{ x }} {% if %} </s> [INST]"}, HELLO]},
    "long": {"messages": [SYSTEM] + [HI, HELLO] * 20 + [MORE]},
    "numbers": {"messages": [{"role": "user", "content": 5}]},
    "builtin tools": {"messages": [SYSTEM, HI], "builtin_tools": ["brave_search", "wolfram_alpha", "python", "browser"],
                      "tools": [*TOOLS, {"type": "code_interpreter"}]},
    "more variables": {"messages": [SYSTEM, HI], "model_identity": "You are X.", "date_string": "1 Jan 2025",
                       "custom_tools": TOOLS,
                       "citations": True, "controls": {"length": "long"}, "keep_reasoning": True, "add_vision_id": True,
                       "safety_mode": "NONE", "xml_tools": TOOLS, "python_tools": TOOLS},
}


def questions():
    """Pairs of a name and a context."""
    for name, conversation in CONVERSATIONS.items():
        for prompt in (False, True):
            context = {"bos_token": "<BOS>", "eos_token": "<EOS>", "pad_token": "<PAD>", "unk_token": "<UNK>",
                       **copy.deepcopy(conversation), "add_generation_prompt": prompt}
            yield f"{name}, {'with' if prompt else 'without'} a prompt", context
