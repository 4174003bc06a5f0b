"""The anthropic package: messages."""

import anthropic
from clients_openai import chat
from clients_server import CLOCK, FORECAST, KEY, NAME, QUESTION, expect, expect_equal, expect_forecast, expect_raises

TOOLS = [{"name": "forecast", "description": "The weather to come.", "input_schema": FORECAST},
         {"name": "clock", "input_schema": CLOCK}]
FRANCE = [{"role": "user", "content": "What is the capital of France?"}]


def client_of(server, key=KEY):
    return anthropic.Anthropic(base_url=server.url, api_key=key, max_retries=0)


def message_keys(**keys):
    """The package has no argument for the temperature."""
    extra = {"temperature": 0} | keys.pop("extra_body", {})
    return {"model": NAME, "max_tokens": 24, "messages": [{"role": "user", "content": QUESTION}],
            "extra_body": extra} | keys


def message(server, **keys):
    return client_of(server).messages.create(**message_keys(**keys))


def text_of(answer):
    return "".join(block.text for block in answer.content if block.type == "text")


def check_message(server):
    whole = message(server, system="Answer briefly.", messages=FRANCE)
    same = chat(server).choices[0]
    expect_equal((whole.type, whole.role, whole.model, text_of(whole)),
                 ("message", "assistant", NAME, same.message.content), "the answer of a chat completion")
    expect_equal(whole.stop_reason, {"stop": "end_turn", "length": "max_tokens"}[same.finish_reason], "stop reason")
    blocks = message(server, system=[{"type": "text", "text": "Answer briefly."}],
                     messages=[{"role": "user", "content": [{"type": "text", "text": FRANCE[0]["content"]}]}])
    expect_equal(text_of(blocks), text_of(whole), "an answer to blocks")


def check_streamed_message(server):
    whole = message(server)
    with client_of(server).messages.stream(**message_keys()) as stream:
        text = "".join(stream.text_stream)
        last = stream.get_final_message()
    expect_equal((text, text_of(last), last.stop_reason), (text_of(whole),) * 2 + (whole.stop_reason,), "a stream")
    expect_equal(last.usage.output_tokens, whole.usage.output_tokens, "its usage")
    names = [event.type for event in message(server, stream=True)]
    expect_equal(names[:2] + names[-3:], ["message_start", "content_block_start", "content_block_stop",
                                          "message_delta", "message_stop"], "events")


def check_count_tokens(server):
    for keys in ({}, {"system": "Answer briefly."}, {"tools": TOOLS}):
        counted = client_of(server).messages.count_tokens(
            model=NAME, messages=[{"role": "user", "content": QUESTION}], **keys).input_tokens
        usage = message(server, **keys).usage
        expect_equal(counted, usage.input_tokens + (usage.cache_read_input_tokens or 0), f"tokens with {list(keys)}")


def check_stop_sequences(server):
    text = text_of(message(server))
    word = text[len(text) // 2:len(text) // 2 + 3]
    stopped = message(server, stop_sequences=[word])
    expect_equal((text_of(stopped), stopped.stop_reason, stopped.stop_sequence),
                 (text[:text.index(word)], "stop_sequence", word), "a stop sequence")
    cut = message(server, max_tokens=2, extra_body={"ignore_eos": True})
    expect_equal((cut.stop_reason, cut.stop_sequence, cut.usage.output_tokens), ("max_tokens", None, 2), "a cut answer")


def check_tools(server):
    keys = {"tools": TOOLS, "max_tokens": 200}
    for choice in ({"type": "any", "disable_parallel_tool_use": True}, {"type": "tool", "name": "forecast"}):
        whole = message(server, tool_choice=choice, **keys)
        expect_equal(whole.stop_reason, "tool_use", "stop reason of a call")
        call = whole.content[-1]
        expect_equal(call.type, "tool_use", "a call")
        if call.name == "forecast":
            expect_forecast(call.input, "input")
        with client_of(server).messages.stream(**message_keys(tool_choice=choice, **keys)) as stream:
            last = stream.get_final_message()
        expect_equal([(block.name, block.input) for block in last.content if block.type == "tool_use"],
                     [(block.name, block.input) for block in whole.content if block.type == "tool_use"], "a stream")
    expect_equal(call.name, "forecast", "the named tool")
    answer = message(server, tools=TOOLS, tool_choice={"type": "none"}, messages=[
        {"role": "user", "content": QUESTION}, {"role": "assistant", "content": whole.content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "Rain."}]}])
    expect(text_of(answer), "no answer behind a result")


def check_thinking_is_a_key(server):
    """Of a template without it, it has no effect."""
    for thinking in ({"type": "enabled", "budget_tokens": 1024}, {"type": "disabled"}):
        whole = message(server, thinking=thinking, max_tokens=1025, stop_sequences=[".", " "])
        expect_equal(whole.type, "message", "an answer")


def check_message_errors(server):
    def bad(what, start, **keys):
        error = expect_raises(anthropic.BadRequestError, lambda: message(server, **keys), what)
        found = error.body["error"]
        expect(error.body["type"] == "error" and found["type"] == "invalid_request_error"
               and found["message"].startswith(start), f"{what}: {error.body}")

    bad("a role", "messages[0].role", messages=[{"role": "tool", "content": "a"}])
    bad("an image", "messages[0].content[0]", messages=[{"role": "user", "content": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}]}])
    bad("another tool", "tools[0].type", tools=[{"type": "web_search_20250305", "name": "web_search"}])
    bad("a tool that is not there", "tool_choice", tools=TOOLS, tool_choice={"type": "tool", "name": "other"})
    bad("a long conversation", "messages", messages=[{"role": "user", "content": "a " * 100000}])
    error = expect_raises(anthropic.AuthenticationError, lambda: client_of(server, "wrong").messages.create(
        **message_keys()), "a wrong key")
    expect_equal(error.body["error"]["type"], "authentication_error", "its type")


def check_left_messages(server):
    for _ in range(3):
        keys = message_keys(max_tokens=300, extra_body={"ignore_eos": True})
        with client_of(server).messages.stream(**keys) as stream:
            next(iter(stream.text_stream))
    server.wait_until_idle()
