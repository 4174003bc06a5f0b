"""The openai package: chat and text completions."""

import asyncio
import json
import math
import threading
import time
import typing

import openai
import pydantic
from clients_server import (CLOCK, FORECAST, KEY, NAME, QUESTION, Server, expect, expect_equal, expect_forecast,
                            expect_raises)

CHAT = [{"role": "system", "content": "Answer briefly."}, {"role": "user", "content": "What is the capital of France?"}]
TOOLS = [{"type": "function", "function": {"name": "forecast", "description": "The weather to come.",
                                           "parameters": FORECAST}},
         {"type": "function", "function": {"name": "clock", "parameters": CLOCK}}]


def client_of(server: Server, **options):
    return openai.OpenAI(base_url=server.url + "/v1", api_key=options.pop("key", KEY), max_retries=0, **options)


def chat(server, messages=CHAT, **keys):
    keys.setdefault("max_tokens", 24)
    keys.setdefault("temperature", 0)
    return client_of(server).chat.completions.create(model=NAME, messages=messages, **keys)


def complete(server, prompt, **keys):
    keys.setdefault("max_tokens", 12)
    keys.setdefault("temperature", 0)
    return client_of(server).completions.create(model=NAME, prompt=prompt, **keys)


def joined(stream):
    """A message of a stream's deltas: text, calls, finish reasons by choice, and usage."""
    texts, calls, reasons, usage = {}, {}, {}, None
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            texts[choice.index] = texts.get(choice.index, "") + (choice.delta.content or "")
            for call in choice.delta.tool_calls or []:
                own = calls.setdefault((choice.index, call.index), {"id": call.id, "name": "", "arguments": ""})
                own["name"] += call.function.name or ""
                own["arguments"] += call.function.arguments or ""
            if choice.finish_reason:
                expect(choice.index not in reasons, "two finish reasons of one choice")
                reasons[choice.index] = choice.finish_reason
    return texts, calls, reasons, usage


def check_models(server):
    client = client_of(server)
    expect_equal([model.id for model in client.models.list()], [NAME], "models")
    expect_equal(client.models.retrieve(NAME).id, NAME, "the model")
    expect_raises(openai.NotFoundError, lambda: client.models.retrieve("other"), "another model")


def check_keys(server):
    expect_raises(openai.AuthenticationError, lambda: client_of(server, key="wrong").models.list(), "a wrong key")


def check_chat(server):
    whole = chat(server)
    choice = whole.choices[0]
    expect_equal((whole.object, whole.model, choice.message.role, choice.index),
                 ("chat.completion", NAME, "assistant", 0), "an answer")
    expect(choice.finish_reason in ("stop", "length"), f"finish reason {choice.finish_reason}")
    expect(whole.usage.prompt_tokens > 0 and 0 < whole.usage.completion_tokens <= 24, f"usage {whole.usage}")
    expect_equal(chat(server).choices[0].message.content, choice.message.content, "the same again")
    stream = chat(server, stream=True, stream_options={"include_usage": True})
    texts, calls, reasons, usage = joined(stream)
    expect_equal((texts, calls, reasons), ({0: choice.message.content}, {}, {0: choice.finish_reason}), "a stream")
    expect_equal((usage.prompt_tokens, usage.completion_tokens),
                 (whole.usage.prompt_tokens, whole.usage.completion_tokens), "usage of a stream")


def check_parts(server):
    """Texts of a list of parts are lines."""
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    expect_equal(chat(server, [{"role": "user", "content": parts}]).choices[0].message.content,
                 chat(server, [{"role": "user", "content": "one\ntwo"}]).choices[0].message.content, "parts")


def check_begun_answer(server):
    """The last message is the beginning of the answer."""
    begun = [*CHAT, {"role": "assistant", "content": "The capital"}]
    whole = chat(server, CHAT, max_tokens=60).choices[0].message.content
    if whole.startswith("The capital"):
        expect_equal(chat(server, begun, max_tokens=60).choices[0].message.content, whole[len("The capital"):],
                     "the rest")
    expect(chat(server, begun).choices[0].message.content is not None, "a begun answer")


def check_several_choices(server):
    keys = {"n": 3, "temperature": 1, "seed": 5}
    whole = chat(server, **keys)
    expect_equal([choice.index for choice in whole.choices], [0, 1, 2], "indices")
    texts, _, reasons, _ = joined(chat(server, stream=True, **keys))
    expect_equal(texts, {choice.index: choice.message.content for choice in whole.choices}, "streamed choices")
    expect_equal(reasons, {choice.index: choice.finish_reason for choice in whole.choices}, "their finish reasons")


def check_seed(server):
    keys = {"temperature": 1.5, "max_tokens": 20}
    text = lambda seed: chat(server, seed=seed, **keys).choices[0].message.content
    expect_equal(text(7), text(7), "one seed")
    expect(len({text(seed) for seed in range(4)}) > 1, "all seeds give one answer")
    free = {chat(server, **keys).choices[0].message.content for _ in range(4)}
    expect(len(free) > 1, "without a seed all answers are one")


def check_logprobs(server):
    whole = chat(server, logprobs=True, top_logprobs=3).choices[0]
    tokens = whole.logprobs.content
    expect(len(tokens) > 0, "no logprobs")
    raw = b"".join(bytes(token.bytes) for token in tokens)
    expect_equal(raw.decode(errors="replace"), whole.message.content, "bytes of tokens")
    for token in tokens:
        expect(token.logprob <= 0 and len(token.top_logprobs) == 3, f"a token {token}")
        expect_equal(token.token, token.top_logprobs[0].token, "the most likely token")
        expect(sum(math.exp(likely.logprob) for likely in token.top_logprobs) < 1.001, "probabilities above 1")
    streamed = [token for chunk in chat(server, logprobs=True, top_logprobs=3, stream=True)
                for choice in chunk.choices if choice.logprobs for token in choice.logprobs.content]
    expect_equal([token.token for token in streamed], [token.token for token in tokens], "streamed logprobs")
    expect(chat(server).choices[0].logprobs is None, "logprobs that nobody wants")


def check_stop(server):
    text = chat(server, max_tokens=30).choices[0].message.content
    word = text[len(text) // 2:len(text) // 2 + 3]
    stopped = chat(server, max_tokens=30, stop=[word, "\u2028"]).choices[0]
    expect_equal((stopped.message.content, stopped.finish_reason), (text[:text.index(word)], "stop"), f"stop {word!r}")
    texts, _, reasons, _ = joined(chat(server, max_tokens=30, stop=word, stream=True))
    expect_equal((texts[0], reasons[0]), (text[:text.index(word)], "stop"), "a streamed stop")


def check_required_call(server):
    keys = {"tools": TOOLS, "tool_choice": "required", "max_tokens": 200, "parallel_tool_calls": False}
    for temperature in (0, 1):
        keys |= {"messages": [{"role": "user", "content": QUESTION}], "seed": 3, "temperature": temperature}
        whole = chat(server, **keys).choices[0]
        expect_equal(whole.finish_reason, "tool_calls", "finish reason of a call")
        expect_equal(len(whole.message.tool_calls), 1, "calls that are not parallel")
        call = whole.message.tool_calls[0]
        expect_equal((call.type, bool(call.id)), ("function", True), "a call")
        if call.function.name == "forecast":
            expect_forecast(call.function.arguments, "arguments")
        else:
            expect_equal((call.function.name, list(json.loads(call.function.arguments))), ("clock", ["zone"]), "clock")
        _, calls, reasons, _ = joined(chat(server, stream=True, **keys))
        expect_equal([(own["name"], own["arguments"]) for own in calls.values()],
                     [(call.function.name, call.function.arguments)], "a streamed call")
        expect_equal(reasons, {0: "tool_calls"}, "its finish reason")


def named_call(server, name, **keys):
    return chat(server, [{"role": "user", "content": QUESTION}], tools=TOOLS, max_tokens=200,
                tool_choice={"type": "function", "function": {"name": name}}, **keys)


def check_named_call(server):
    for name in ("forecast", "clock"):
        message = named_call(server, name).choices[0].message
        expect_equal([call.function.name for call in message.tool_calls], [name], "the named tool")
        _, calls, _, _ = joined(named_call(server, name, stream=True))
        expect_equal([own["arguments"] for own in calls.values()], [message.tool_calls[0].function.arguments],
                     "streamed arguments")
    expect_forecast(named_call(server, "forecast").choices[0].message.tool_calls[0].function.arguments, "arguments")


def check_tool_result(server):
    message = named_call(server, "forecast").choices[0].message
    conversation = [{"role": "user", "content": QUESTION}, message.model_dump(exclude_none=True),
                    {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "Rain."}]
    answer = chat(server, conversation, tools=TOOLS, tool_choice="none").choices[0].message
    expect(answer.content is not None and not answer.tool_calls, f"an answer behind a result: {answer}")
    shown = server.ask("/apply-template", {"messages": conversation, "tools": TOOLS})["prompt"]
    expect("Rain." in shown and "forecast" in shown, f"the prompt lacks the call or its result: {shown!r}")


def check_free_choice(server):
    """May call, or not; either way the answer is well formed."""
    whole = chat(server, [{"role": "user", "content": QUESTION}], tools=TOOLS, max_tokens=60).choices[0]
    expect(whole.message.content is not None or whole.message.tool_calls, "neither text nor calls")
    none = chat(server, [{"role": "user", "content": QUESTION}], tools=TOOLS, tool_choice="none", max_tokens=60)
    expect(not none.choices[0].message.tool_calls, "a call that was not wanted")


class Forecast(pydantic.BaseModel):
    """Its answers have few words, so that the random ones end."""
    city: typing.Literal["Oslo", "Rome"]
    days: typing.Literal[1, 2, 3]


def check_json_schema(server):
    schema = {"type": "json_schema", "json_schema": {"name": "forecast", "strict": True, "schema": FORECAST}}
    for temperature in (0, 2):
        whole = chat(server, max_tokens=100, seed=1, temperature=temperature, response_format=schema).choices[0]
        expect_forecast(whole.message.content, "an answer of a schema")
        expect_equal(whole.finish_reason, "stop", "its finish reason")
    parsed = client_of(server).chat.completions.parse(
        model=NAME, messages=[{"role": "user", "content": QUESTION}], max_tokens=100, response_format=Forecast)
    expect(isinstance(parsed.choices[0].message.parsed, Forecast), f"no forecast: {parsed.choices[0].message}")


def check_json_object(server):
    whole = chat(server, max_tokens=60, response_format={"type": "json_object"}).choices[0]
    expect(whole.message.content.lstrip().startswith("{"), f"no object: {whole.message.content!r}")
    if whole.finish_reason == "stop":
        json.loads(whole.message.content)


def check_other_constraints(server):
    for extra, fits in (({"guided_choice": ["yes", "no"]}, lambda text: text in ("yes", "no")),
                        ({"guided_regex": "[0-9]{3}-[a-c]"}, lambda text: len(text) == 5 and text[4] in "abc"),
                        ({"grammar": 'root ::= "x" [y-z]'}, lambda text: text in ("xy", "xz")),
                        ({"structured_outputs": {"json": FORECAST}}, lambda text: "city" in json.loads(text))):
        text = chat(server, max_tokens=100, extra_body=extra).choices[0].message.content
        expect(fits(text), f"{extra}: {text!r}")


def check_completions(server):
    whole = complete(server, "Once upon a time")
    expect_equal((whole.object, whole.choices[0].index), ("text_completion", 0), "a completion")
    chunks = list(complete(server, "Once upon a time", stream=True))
    expect_equal("".join(chunk.choices[0].text for chunk in chunks), whole.choices[0].text, "a streamed completion")
    expect_equal(chunks[-1].choices[0].finish_reason, whole.choices[0].finish_reason, "its finish reason")


def check_echo(server):
    """What evaluations ask for: log-probabilities of the prompt."""
    prompt = "The cat sat on the mat"
    whole = complete(server, prompt, echo=True, logprobs=2, max_tokens=3).choices[0]
    logprobs = whole.logprobs
    expect(whole.text.startswith(prompt), f"echo: {whole.text!r}")
    expect_equal("".join(logprobs.tokens), whole.text, "tokens of an echo")
    count = len(logprobs.tokens)
    expect_equal([len(logprobs.token_logprobs), len(logprobs.top_logprobs), len(logprobs.text_offset)], [count] * 3,
                 "lengths")
    expect(logprobs.token_logprobs[0] is None and all(value <= 0 for value in logprobs.token_logprobs[1:]),
           f"logprobs {logprobs.token_logprobs}")
    for offset, token in zip(logprobs.text_offset, logprobs.tokens):
        expect_equal(whole.text[offset:offset + len(token)], token, f"the token at {offset}")
    scored = complete(server, prompt, echo=True, logprobs=2, max_tokens=0).choices[0]
    expect_equal(scored.text, prompt, "a text that is only scored")
    expect_equal(scored.logprobs.token_logprobs, logprobs.token_logprobs[:-3], "its logprobs")
    # Drawn greedily, a continuation is as likely as it is when it is scored.
    again = complete(server, whole.text, echo=True, logprobs=0, max_tokens=0).choices[0].logprobs
    if again.tokens == logprobs.tokens:
        for one, other in zip(again.token_logprobs[1:], logprobs.token_logprobs[1:]):
            expect(abs(one - other) < 1e-4, f"logprobs {one} and {other}")


def check_lists_of_prompts(server):
    prompts = ["Once upon", "The sun is", "def f(x):"]
    alone = [complete(server, prompt).choices[0].text for prompt in prompts]
    whole = complete(server, prompts)
    expect_equal([(choice.index, choice.text) for choice in whole.choices], list(enumerate(alone)), "a list")
    tokens = [server.ask("/tokenize", {"prompt": prompt})["tokens"] for prompt in prompts]
    expect_equal([choice.text for choice in complete(server, tokens).choices], alone, "lists of tokens")
    expect_equal(complete(server, tokens[1]).choices[0].text, alone[1], "a list of tokens")
    several = complete(server, prompts, n=2, temperature=1, seed=2)
    expect_equal([choice.index for choice in several.choices], list(range(6)), "indices of prompts and choices")
    texts = [""] * 3
    for chunk in complete(server, prompts, stream=True):
        for choice in chunk.choices:
            texts[choice.index] += choice.text
    expect_equal(texts, alone, "streamed prompts")


def check_left_streams(server):
    """Whoever leaves takes the request along."""
    for _ in range(3):
        stream = chat(server, stream=True, max_tokens=300, extra_body={"ignore_eos": True})
        for _, _ in zip(range(2), stream):
            pass
        stream.close()
    server.wait_until_idle()


def check_watched_engine(server):
    """Whoever looks at the engine holds no request up, however short it is."""
    wanted = chat(server, max_tokens=2).choices[0].message.content
    ends = threading.Event()

    def watch():
        while not ends.wait(0.01):
            server.ask("/engine")

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for _ in range(20):
            found = client_of(server, timeout=20).chat.completions.create(
                model=NAME, messages=CHAT, max_tokens=2, temperature=0)
            expect_equal(found.choices[0].message.content, wanted, "a watched answer")
            time.sleep(0.05)
    finally:
        ends.set()
        watcher.join()
    expect(server.ask("/engine")["timeline"], "no timeline")


def check_errors(server):
    bad = lambda what, param, **keys: expect_raises(
        openai.BadRequestError, lambda: chat(server, **keys), what, param=param, status_code=400)
    bad("a temperature", "temperature", temperature=-1)
    bad("a role", "messages[0].role", messages=[{"role": "nobody", "content": "a"}])
    bad("an image", "messages[0].content[0]",
        messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}])
    bad("no messages", "messages", messages=[])
    bad("a tool that is not there", "tool_choice", tools=TOOLS,
        tool_choice={"type": "function", "function": {"name": "other"}})
    bad("a format", "response_format.type", response_format={"type": "xml"})
    bad("logprobs", "top_logprobs", top_logprobs=2)
    bad("n", "n", n=1000)
    error = expect_raises(openai.BadRequestError, lambda: chat(server, extra_body={"temperatur": 1}), "a misspelling")
    expect("temperature" in error.message, f"the misspelt key: {error.message}")
    expect_raises(openai.BadRequestError, lambda: complete(server, "a " * 100000), "a long prompt", param="prompt")
    expect_raises(openai.BadRequestError, lambda: chat(server, [{"role": "user", "content": "a " * 100000}]),
                  "long messages", param="messages")
    expect_raises(openai.BadRequestError, lambda: complete(server, []), "no prompt", param="prompt")
    expect_raises(openai.BadRequestError, lambda: complete(server, [10 ** 8]), "a token", param="prompt")
    expect_raises(openai.NotFoundError, lambda: client_of(server).get("/nothing", cast_to=object), "a path")


def check_embeddings(server):
    """The package asks for base64 unless told otherwise."""
    embeddings = client_of(server).embeddings
    texts = ["one", "another", "one"]
    found = embeddings.create(model=NAME, input=texts)
    expect_equal([each.index for each in found.data], [0, 1, 2], "indices")
    vectors = [each.embedding for each in found.data]
    expect(vectors[0] == vectors[2] != vectors[1], "vectors of texts")
    expect(all(abs(math.fsum(x * x for x in vector) - 1) < 1e-6 for vector in vectors), "lengths")
    expect(found.usage.prompt_tokens == found.usage.total_tokens > 0, f"{found.usage}")
    numbers = embeddings.create(model=NAME, input="one", encoding_format="float").data[0].embedding
    expect(all(abs(x - y) < 1e-9 for x, y in zip(numbers, vectors[0], strict=True)), "numbers")
    expect_equal(len(embeddings.create(model=NAME, input="one", dimensions=7).data[0].embedding), 7, "dimensions")
    expect_raises(openai.BadRequestError, lambda: embeddings.create(model=NAME, input=[]), "no text", param="input")
    expect_raises(openai.BadRequestError, lambda: embeddings.create(model=NAME, input="a " * 100000), "a long text",
                  param="input", code="context_length_exceeded")


def check_many_at_once(server):
    """Ten requests together are answered as each is alone."""
    bodies = [{"messages": [{"role": "user", "content": f"Count from {i}."}], "max_tokens": 10 + i} for i in range(10)]
    alone = [chat(server, **body).choices[0].message.content for body in bodies]

    async def together():
        client = openai.AsyncOpenAI(base_url=server.url + "/v1", api_key=KEY, max_retries=0)

        async def whole(body):
            answer = await client.chat.completions.create(model=NAME, temperature=0, **body)
            return answer.choices[0].message.content

        async def streamed(body):
            stream = await client.chat.completions.create(model=NAME, temperature=0, stream=True, **body)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

        return await asyncio.gather(*(whole(body) for body in bodies), *(streamed(body) for body in bodies))

    expect_equal(asyncio.run(together()), alone * 2, "twenty at once")
