"""The openai package: responses."""

import openai
from clients_openai import Forecast, chat, client_of
from clients_server import FORECAST, NAME, QUESTION, expect, expect_equal, expect_forecast, expect_raises

TOOLS = [{"type": "function", "name": "forecast", "description": "The weather to come.", "strict": True,
          "parameters": FORECAST}]


def respond(server, given=QUESTION, **keys):
    keys.setdefault("max_output_tokens", 24)
    keys.setdefault("temperature", 0)
    return client_of(server).responses.create(model=NAME, input=given, **keys)


def check_response(server):
    whole = respond(server, "What is the capital of France?", instructions="Answer briefly.", metadata={"a": "b"})
    expect_equal((whole.object, whole.model, whole.metadata, whole.error), ("response", NAME, {"a": "b"}, None),
                 "a response")
    same = chat(server).choices[0]
    expect_equal(whole.output_text, same.message.content, "the answer of a chat completion")
    expect_equal(whole.status, {"stop": "completed", "length": "incomplete"}[same.finish_reason], "status")
    expect_equal([(item.type, item.role) for item in whole.output], [("message", "assistant")], "items")
    expect_equal(whole.usage.total_tokens, whole.usage.input_tokens + whole.usage.output_tokens, "usage")


def check_streamed_response(server):
    whole = respond(server)
    events = list(respond(server, stream=True))
    expect_equal([event.sequence_number for event in events], list(range(len(events))), "numbers of events")
    names = [event.type for event in events]
    expect_equal(names[:4] + names[-4:],
                 ["response.created", "response.in_progress", "response.output_item.added",
                  "response.content_part.added", "response.output_text.done", "response.content_part.done",
                  "response.output_item.done", f"response.{whole.status}"], "events")
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    last = events[-1].response
    expect_equal((text, last.output_text, last.usage.output_tokens),
                 (whole.output_text, whole.output_text, whole.usage.output_tokens), "a streamed response")
    with client_of(server).responses.stream(model=NAME, input=QUESTION, temperature=0, max_output_tokens=24) as stream:
        for _ in stream:
            pass
        if whole.status == "completed":
            expect_equal(stream.get_final_response().output_text, whole.output_text, "the package's own snapshot")


def check_incomplete(server):
    whole = respond(server, max_output_tokens=2, extra_body={"ignore_eos": True})
    expect_equal((whole.status, whole.incomplete_details.reason), ("incomplete", "max_output_tokens"), "a cut answer")
    expect_equal(whole.output[-1].status, "incomplete", "its last item")


def check_call(server):
    keys = {"tools": TOOLS, "max_output_tokens": 200}
    for choice in ("required", {"type": "function", "name": "forecast"}):
        whole = respond(server, tool_choice=choice, parallel_tool_calls=False, **keys)
        call = whole.output[-1]
        expect_equal((call.type, call.name, call.status), ("function_call", "forecast", "completed"), "a call")
        expect_forecast(call.arguments, "arguments")
        events = list(respond(server, tool_choice=choice, parallel_tool_calls=False, stream=True, **keys))
        arguments = "".join(event.delta for event in events if event.type == "response.function_call_arguments.delta")
        done = [event for event in events if event.type == "response.function_call_arguments.done"]
        expect_equal((arguments, [event.arguments for event in done]), (call.arguments, [call.arguments]),
                     "streamed arguments")
    answer = respond(server, [{"role": "user", "content": QUESTION}, *whole.model_dump(exclude_none=True)["output"],
                              {"type": "function_call_output", "call_id": call.call_id, "output": "Rain."}],
                     tools=TOOLS, tool_choice="none")
    expect(answer.output_text, "no answer behind a result")


def check_format(server):
    whole = respond(server, max_output_tokens=100, text={"format": {
        "type": "json_schema", "name": "forecast", "strict": True, "schema": FORECAST}})
    expect_forecast(whole.output_text, "an answer of a schema")
    parsed = client_of(server).responses.parse(model=NAME, input=QUESTION, text_format=Forecast, max_output_tokens=100)
    expect(isinstance(parsed.output_parsed, Forecast), f"no forecast: {parsed.output_text}")


def check_response_logprobs(server):
    whole = respond(server, include=["message.output_text.logprobs"], top_logprobs=2)
    logprobs = whole.output[0].content[0].logprobs
    expect_equal("".join(token.token for token in logprobs), whole.output_text, "tokens")
    expect_equal({len(token.top_logprobs) for token in logprobs}, {2}, "likely tokens")
    events = respond(server, top_logprobs=2, stream=True)
    done = [event for event in events if event.type == "response.output_text.done"]
    expect_equal([token.token for event in done for token in event.logprobs], [token.token for token in logprobs],
                 "streamed logprobs")


def check_refusals(server):
    bad = lambda what, param, **keys: expect_raises(openai.BadRequestError, lambda: respond(server, **keys), what,
                                                    param=param)
    bad("what is stored", "previous_response_id", previous_response_id="resp_1")
    bad("a conversation", "conversation", conversation="conv_1")
    bad("another tool", "tools[0].type", tools=[{"type": "web_search"}])
    bad("no input", "input", given=[])
    bad("an image", "input[0].content[0]",
        given=[{"role": "user", "content": [{"type": "input_image", "image_url": "u"}]}])
    bad("no tokens", "max_output_tokens", max_output_tokens=0)
