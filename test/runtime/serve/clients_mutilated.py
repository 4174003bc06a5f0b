"""Requests that no client means: each is answered or refused with its reason, and none harms the next."""

import copy
import http.client
import json
import random
import urllib.error

from clients_server import CLOCK, FORECAST, NAME, Failure, expect

FUNCTION = {"name": "forecast", "description": "The weather to come.", "parameters": FORECAST}
CALL = {"id": "call_1", "type": "function",
        "function": {"name": "forecast", "arguments": '{"city": "Oslo", "days": 1}'}}
COMMON = {"model": NAME, "temperature": 0.5, "top_p": 0.9, "stop": ["x"], "seed": 1, "stream": False}
REQUESTS = {
    "/v1/chat/completions": [
        {**COMMON, "max_tokens": 2, "n": 2, "logprobs": True, "top_logprobs": 2, "logit_bias": {"65": -1.5},
         "messages": [{"role": "system", "content": "a"}, {"role": "user", "content": [{"type": "text", "text": "b"}]},
                      {"role": "assistant", "content": None, "tool_calls": [CALL]},
                      {"role": "tool", "tool_call_id": "call_1", "content": "c"}],
         "tools": [{"type": "function", "function": FUNCTION}], "tool_choice": "auto", "parallel_tool_calls": False,
         "chat_template_kwargs": {"enable_thinking": False}, "stream_options": {"include_usage": True}},
        # What may be left out is.
        {"max_tokens": 2, "messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}]},
        {**COMMON, "max_completion_tokens": 2, "messages": [{"role": "user", "content": "a"}],
         "response_format": {"type": "json_schema", "json_schema": {"name": "f", "schema": FORECAST}}}],
    "/v1/completions": [
        {**COMMON, "max_tokens": 2, "prompt": ["a", [65, 66]], "logprobs": 2, "echo": True, "n": 2},
        {**COMMON, "max_tokens": 2, "prompt": "a", "guided_regex": "[a-c]{2}"}],
    "/v1/messages": [
        {**COMMON, "max_tokens": 2, "system": [{"type": "text", "text": "a"}], "stop_sequences": ["x"],
         "messages": [{"role": "user", "content": [{"type": "text", "text": "b"}]},
                      {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": ""},
                                                        {"type": "tool_use", "id": "1", "name": "f", "input": {}}]},
                      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "c"}]}],
         "tools": [{"name": "clock", "input_schema": CLOCK}], "thinking": {"type": "enabled", "budget_tokens": 5},
         "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}],
    "/v1/responses": [
        {**COMMON, "max_output_tokens": 2, "instructions": "a", "metadata": {"a": "b"}, "top_logprobs": 1,
         "input": [{"role": "user", "content": [{"type": "input_text", "text": "b"}]},
                   {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "t"}]},
                   {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
                   {"type": "function_call_output", "call_id": "1", "output": "c"}],
         "tools": [{"type": "function", **FUNCTION}], "reasoning": {"effort": "low"}, "include": [],
         "text": {"format": {"type": "json_schema", "name": "f", "schema": CLOCK}}, "tool_choice": "auto"}],
    "/tokenize": [{"prompt": "a", "add_special_tokens": True, "with_pieces": True},
                  {"messages": [{"role": "user", "content": "a"}], "add_generation_prompt": True}],
    "/detokenize": [{"tokens": [65, 66]}],
    "/apply-template": [{"messages": [{"role": "user", "content": "a"}]}],
    "/v1/messages/count_tokens": [{"messages": [{"role": "user", "content": "a"}], "system": "b"}]}
VALUES = [None, True, False, 0, 1, -1, 2.5, 1e300, -1e300, 2 ** 63, 2 ** 64 - 1, 2 ** 70, 10 ** 400,
          "", "a", "auto", "none", "text", "\u0000", "\ud83d\ude00", "[", "{}", "x" * 5000,
          [], [[]], [{}], [None], [1, 2], ["a"],
          {}, {"": {}}, {"type": "text"}, {"type": "object"}, {"role": "user", "content": "a"}]


def places(value, path=()):
    """The keys that lead to every value."""
    yield path
    if isinstance(value, (dict, list)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*path, key))


def mutilated(rng, body):
    body = copy.deepcopy(body)
    any_value = lambda more=(): copy.deepcopy(rng.choice([*VALUES, *more]))
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        place = rng.choice([place for place in places(body) if place])
        holder = body
        for key in place[:-1]:
            holder = holder[key]
        match rng.randrange(4):
            case 0:
                del holder[place[-1]]
            case 1 if isinstance(holder, dict):
                holder[rng.choice(["type", "content", "name", "text", "function", "role", "zzz"])] = any_value()
            case 2 if isinstance(holder, list):
                holder.insert(place[-1], any_value(holder))
            case _:
                holder[place[-1]] = any_value()
        if not body:
            break
    return body


def check_mutilated_requests(server, count=150, seed=1):
    rng = random.Random(seed)
    refused = answered = 0
    for path, bodies in REQUESTS.items():
        for body in bodies:
            server.ask(path, body)
            for _ in range(count):
                wrong = mutilated(rng, body)
                # As many as fit would take their time.
                if path.startswith("/v1/") and "count" not in path:
                    wrong.setdefault("max_output_tokens" if path == "/v1/responses" else "max_tokens", 2)
                try:
                    server.ask(path, wrong, is_json=False)
                    answered += 1
                except urllib.error.HTTPError as error:
                    text = error.read().decode()
                    expect(error.code == 400, f"{path} {json.dumps(wrong)}: {error.code} {text}")
                    expect(json.loads(text)["error"]["message"], f"{path} {json.dumps(wrong)}: no reason: {text}")
                    refused += 1
                except (OSError, http.client.HTTPException) as error:
                    raise Failure(f"{path} {json.dumps(wrong)}: {error!r}") from None
            server.ask(path, body)
    expect(min(refused, answered) > count, f"{refused} were refused, {answered} answered")
    print(f"{refused} were refused, {answered} answered")
