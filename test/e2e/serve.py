"""`FILE serve` answers over HTTP what the same program generates.

The model is small and random, its tokens are bytes, and its chat template is spelled out here:
an answer is the text that `generate` writes behind the prompt. So it is alone, beside others,
whole and as a stream, and behind other clients that have left. What is wrong in a request is
named, what is wrong on a connection ends that connection only, and signals end the server when
its answers are out.
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import time

import programs
from programs import MPI, Program, expect, run
from adapter_batches import random_adapter
from serving import Server, in_parallel
from training import read_tensors

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INPUTS = ["tools/random-checkpoint", "models/examples/bytes/*"]
TEMPLATE = ("{% for message in messages %}<{{ message.role }}>{{ message.content }}</>"
            "{% endfor %}{% if add_generation_prompt %}<answer>{% endif %}")


def messages(text):
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]


def prompt_of(text):
    return f"<system>Be brief.</><user>{text}</><answer>"


class Oracle:
    """What `generate` says."""

    def __init__(self, program, weights):
        self.program, self.weights, self.known = program, weights, {}

    def text(self, prompt, count, **sampling):
        key = (prompt, count, tuple(sampling.items()))
        if key not in self.known:
            flags = [word for name, value in sampling.items() for word in (f"--{name.replace('_', '-')}", value)]
            self.known[key] = json.loads(run(
                [self.program, "generate", "--weights", self.weights, "--prompt", prompt, "--max-new-tokens", count,
                 "--json", "--quiet", "--no-cache", *flags]).stdout)["text"]
        return self.known[key]


def chat(text, count=12, **more):
    return {"messages": messages(text), "max_tokens": count, "temperature": 0, **more}


def answer_of(found):
    return found["choices"][0]["message"]["content"]


def streamed(events):
    """The text of a stream of chat completions."""
    return "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])


def test_answers(server, oracle):
    found = server.get("/v1/chat/completions", chat("hello"))
    expected = oracle.text(prompt_of("hello"), 12)
    expect(answer_of(found) == expected, f"chat: {found}, expected {expected!r}")
    expect(found["usage"] == {"prompt_tokens": len(prompt_of("hello")), "completion_tokens": 12,
                              "total_tokens": len(prompt_of("hello")) + 12,
                              "prompt_tokens_details": {"cached_tokens": 0}}, f"usage: {found['usage']}")
    expect(found["choices"][0]["finish_reason"] == "length" and found["object"] == "chat.completion", f"{found}")
    events = server.events("/v1/chat/completions", chat("hello", stream_options={"include_usage": True}))
    expect(streamed(events) == expected, f"a stream: {streamed(events)!r}")
    expect(events[0]["choices"][0]["delta"]["role"] == "assistant" and events[-2]["choices"][0]["finish_reason"] == "length"
           and events[-1]["usage"]["completion_tokens"] == 12, f"a stream's ends: {events}")
    parts = [{"type": "text", "text": "hello"}]
    found = server.get("/v1/chat/completions", {**chat(""), "messages": [messages("")[0], {"role": "user", "content": parts}]})
    expect(answer_of(found) == expected, "a message in parts")

    drawn = {"temperature": 0.9, "top_k": 30, "top_p": 0.9, "seed": 7}
    expected = oracle.text(prompt_of("hello"), 12, **drawn)
    found = server.get("/v1/chat/completions", {**chat("hello"), **drawn})
    expect(answer_of(found) == expected, f"drawn: {answer_of(found)!r}, expected {expected!r}")
    several = server.get("/v1/chat/completions", {**chat("hello"), **drawn, "n": 3})["choices"]
    for place, choice in enumerate(several):
        alone = oracle.text(prompt_of("hello"), 12, **{**drawn, "seed": 7 + place})
        expect(choice["message"]["content"] == alone and choice["index"] == place, f"n: {choice}, expected {alone!r}")

    found = server.get("/v1/completions", {"prompt": ["once", "upon", [104, 105]], "max_tokens": 9, "temperature": 0})
    expected = [oracle.text(text, 9) for text in ("once", "upon", "hi")]
    expect([choice["text"] for choice in found["choices"]] == expected, f"prompts: {found}, expected {expected}")
    found = server.get("/v1/completions", {"prompt": "once", "max_tokens": 3, "temperature": 0, "echo": True, "logprobs": 2})
    logprobs = found["choices"][0]["logprobs"]
    expect(found["choices"][0]["text"] == "once" + oracle.text("once", 3), f"echo: {found}")
    expect(logprobs["token_logprobs"][0] is None and len(logprobs["token_logprobs"]) == 7
           and all(value <= 0 for value in logprobs["token_logprobs"][1:])
           and all(2 <= len(top) <= 3 for top in logprobs["top_logprobs"][1:]), f"logprobs: {logprobs}")

    body = {"prompt": "once", "max_tokens": 9, "temperature": 0, "logprobs": 1}
    offsets = [offset for event in server.events("/v1/completions", body) for choice in event["choices"]
               for offset in choice["logprobs"]["text_offset"]]
    expected = server.get("/v1/completions", body)["choices"][0]["logprobs"]["text_offset"]
    expect(offsets == expected and len(offsets) == 9 and offsets[-1] > 0,
           f"where a stream's tokens begin: {offsets}, of the whole: {expected}")

    whole = oracle.text(prompt_of("stop"), 40)
    stop = whole[20:22]
    end = whole.find(stop)
    for events in ([server.get("/v1/chat/completions", chat("stop", 40, stop=[stop]))], None):
        text = answer_of(events[0]) if events else streamed(server.events("/v1/chat/completions", chat("stop", 40, stop=stop)))
        expect(text == whole[:end], f"stop {stop!r}: {text!r} of {whole!r}")
    found = server.get("/v1/chat/completions", chat("hello", 4, logprobs=True, top_logprobs=3))
    content = found["choices"][0]["logprobs"]["content"]
    expect(len(content) == 4 and all(len(entry["top_logprobs"]) == 3 and entry["logprob"] == entry["top_logprobs"][0]["logprob"]
                                     for entry in content), f"log-probabilities: {content}")


def test_llama(server, oracle):
    """What clients of llama.cpp's server ask."""
    text = oracle.text("once", 9)
    body = {"prompt": ["once", [111, "nce"]], "n_predict": 9, "temperature": 0, "n_probs": 2, "return_tokens": True}
    for found in server.get("/completion", body):
        expect(found["content"] == text and found["stop_type"] == "limit" and bytes(found["tokens"]).decode(errors="replace") == text,
               f"a completion: {found}, expected {text!r}")
        expect([len(entry["top_logprobs"]) for entry in found["completion_probabilities"]] == [2] * 9, f"probabilities: {found}")
    expect(server.get("/completion", {**body, "prompt": "once", "response_fields": ["content"]}) == {"content": text}, "chosen fields")
    connection = server.connect()
    connection.request("POST", "/completion", json.dumps({"prompt": "once " * 40, "n_predict": 9, "stream": True, "return_progress": True}))
    events = [json.loads(line[6:]) for line in connection.getresponse().read().decode().split("\n\n") if line]
    connection.close()
    steps = [event["prompt_progress"]["processed"] for event in events if "prompt_progress" in event]
    expect(steps[0] == 0 and steps[-1] == 200 and len(steps) > 2 and steps == sorted(set(steps)), f"a prompt's progress: {steps}")
    expect([event["stop"] for event in events if "prompt_progress" not in event] == [False] * 9 + [True], f"a stream's parts: {events}")
    expect(events[-1]["timings"]["prompt_n"] == 200 and events[-1]["timings"]["predicted_n"] == 9, f"times: {events[-1]}")
    found = server.get("/props")
    expect(found["total_slots"] == 8 and found["default_generation_settings"]["n_ctx"] == 2048, f"props: {found}")
    expect(server.get("/slots") == [{"id": slot, "n_ctx": 2048, "speculative": False, "is_processing": False}
                                    for slot in range(8)], "places when nobody asks")
    expect(server.ask("/infill", {})[0] == 501, "what there is not")
    status, _, found = server.ask("/completion", {"prompt": "x" * 2048})
    expect(status == 400 and found["error"]["code"] == "context_length_exceeded", f"a text that is too long: {found}")


def test_defaults(program, weights, oracle):
    """Keys of requests that do not have them."""
    defaults = {"temperature": 0, "max_tokens": 5, "chat_template_kwargs": {"usual": 1}}
    with Server(program, weights, "--defaults", json.dumps(defaults)) as server:
        body = {"prompt": "once"}
        expect(server.get("/v1/completions", body)["choices"][0]["text"] == oracle.text("once", 5), "defaults")
        expect(server.get("/v1/completions", {**body, "max_tokens": 3})["choices"][0]["text"] == oracle.text("once", 3), "a request's own")
        found = server.get("/v1/chat/completions", {"messages": messages("x"), "max_completion_tokens": 3})
        expect(found["usage"]["completion_tokens"] == 3, f"another word of a request: {found}")
    for wrong, words in (("[]", "--defaults: expected a JSON object"), ('{"top_p": "x"}', "--defaults: top_p: expected a number")):
        found = run([program, "serve", "--weights", weights, "--defaults", wrong], check=False)
        expect(found.returncode == 1 and words in found.stderr, f"wrong defaults: {found}")


def test_constraints(server):
    schema = {"type": "object", "properties": {"name": {"enum": ["red", "green"]}, "count": {"type": "integer", "minimum": 1, "maximum": 9}},
              "required": ["name", "count"], "additionalProperties": False}
    for seed in range(8):
        body = chat("x", 80, temperature=2, seed=seed, response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": schema}})
        choice = server.get("/v1/chat/completions", body)["choices"][0]
        found = json.loads(choice["message"]["content"])
        expect(choice["finish_reason"] == "stop" and set(found) == {"name", "count"} and found["name"] in ("red", "green")
               and 1 <= found["count"] <= 9, f"a schema: {choice}")
    found = server.get("/v1/completions", {"prompt": "x", "max_tokens": 20, "guided_regex": "(ab)+c", "temperature": 1, "seed": 3})
    text = found["choices"][0]["text"]
    expect(text.replace("ab", "") in ("c", "a", ""), f"a regular expression: {text!r}")
    found = server.get("/v1/completions", {"prompt": "x", "structured_outputs": {"choice": ["yes", "no"]}, "temperature": 1})
    expect(found["choices"][0]["text"] in ("yes", "no"), f"a choice: {found}")
    tools = [{"type": "function", "function": {"name": "look", "parameters": {
        "type": "object", "properties": {"place": {"enum": ["here", "there"]}}, "required": ["place"]}}}]
    for events in (None, True):
        body = chat("x", 100, tools=tools, tool_choice="required", parallel_tool_calls=False, temperature=1, seed=5)
        if events:
            calls = {}
            for event in server.events("/v1/chat/completions", body):
                for choice in event["choices"]:
                    for call in choice["delta"].get("tool_calls", []):
                        own = calls.setdefault(call["index"], {"name": "", "arguments": ""})
                        for key, value in call["function"].items():
                            own[key] += value
            found = list(calls.values())
        else:
            choice = server.get("/v1/chat/completions", body)["choices"][0]
            expect(choice["finish_reason"] == "tool_calls" and choice["message"]["content"] is None, f"a call: {choice}")
            found = [call["function"] for call in choice["message"]["tool_calls"]]
        expect(len(found) == 1 and found[0]["name"] == "look"
               and json.loads(found[0]["arguments"])["place"] in ("here", "there"), f"a call: {found}")


def test_files(server, program, weights, scratch):
    """Conversations in a file have the answers that the server has."""
    bodies = [chat("hello"), chat("draw", temperature=0.9, seed=3, n=2), chat("stop", 40, stop="a"),
              chat("x", 60, temperature=1, seed=1, response_format={"type": "json_object"}, logprobs=True)]
    source, target = os.path.join(scratch, "chats.jsonl"), os.path.join(scratch, "answers.jsonl")
    with open(source, "w") as file:
        for number, body in enumerate([*bodies, {"messages": []}, chat("x", stream=True)]):
            file.write(json.dumps({"custom_id": str(number), "method": "POST", "url": "/v1/chat/completions", "body": body}) + "\n")
    run([program, "batch", "--weights", weights, "--requests", source, "--out", target, "--quiet", "--no-cache"])
    with open(target) as file:
        found = [json.loads(line) for line in file]
    for body, line in zip(bodies, found):
        expected = server.get("/v1/chat/completions", body)
        answer = line["response"]["body"]
        for key in ("choices", "model", "object"):
            expect(answer[key] == expected[key], f"a file's answer: {key} of {answer}, the server's: {expected}")
        expect(answer["usage"]["completion_tokens"] == expected["usage"]["completion_tokens"] and answer["created"] == 0
               and answer["id"] == f"chatcmpl-{line['custom_id']}", f"a file's answer: {answer}")
    for line, words in zip(found[len(bodies):], ("messages: expected", "no streams in a file")):
        expect(words in line["error"]["message"], f"a wrong line: {line}")


def test_errors(server):
    cases = [
        ("/v1/chat/completions", b"{", 400, "no JSON"),
        ("/v1/chat/completions", b"[]", 400, "no JSON object"),
        ("/v1/chat/completions", b'{"messages": "\xff"}', 400, "no JSON"),
        ("/v1/chat/completions", b'{"messages":' + b"[" * 100000 + b"]" * 100000 + b"}", 400, "levels deep"),
        ("/v1/chat/completions", {}, 400, "messages: expected"),
        ("/v1/chat/completions", {"messages": [{"role": "king", "content": "x"}]}, 400, "messages[0].role"),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}, 400, "reads text only"),
        ("/v1/chat/completions", chat("x", temperature="hot"), 400, "temperature: expected a number"),
        ("/v1/chat/completions", chat("x", max_token=3), 400, "did you mean"),
        ("/v1/chat/completions", chat("x" * 5000), 400, "positions"),
        ("/v1/chat/completions", chat("x", response_format={"type": "json_schema", "json_schema": {"schema": {"type": "frog"}}}), 400, "#/type"),
        ("/v1/chat/completions", chat("x", tool_choice="required"), 400, "tool_choice"),
        ("/v1/completions", {"prompt": "x", "n": 1000}, 400, "n: expected"),
        ("/v1/completions", {"prompt": [1, 999]}, 400, "token 999"),
        ("/v1/completions", {"prompt": "x", "grammar": "root ::= ("}, 400, "grammar:"),
        ("/nothing", {}, 404, "there is no /nothing"),
        ("/health", {}, 405, "does not take POST"),
    ]
    for path, body, status, words in cases:
        found = server.ask(path, body)
        expect(found[0] == status and words in found[2]["error"]["message"], f"{path} {str(body)[:80]}: {found[0]} {found[2]}")
    found = server.ask("/v1/chat/completions", chat("x", temperature="hot"))[2]["error"]
    expect(found["param"] == "temperature" and found["type"] == "invalid_request_error", f"an error: {found}")
    headers = server.ask("/v1/chat/completions", chat("x", mirostat_tau=3))[1]
    expect(headers.get("X-Baton-Ignored") == "mirostat_tau", f"what is ignored: {headers}")


def idle_engine(server):
    """What the engine says once nothing runs, or in the end."""
    for _ in range(200):
        engine = server.get("/engine")
        if engine["running"] == engine["waiting"] == 0:
            break
        time.sleep(0.05)
    return engine


def raw(server, data):
    """What a connection answers to these bytes."""
    with socket.create_connection((server.host, server.port), timeout=20) as connection:
        connection.sendall(data)
        connection.settimeout(20)
        found = b""
        while b"\r\n\r\n" not in found:
            more = connection.recv(65536)
            if not more:
                break
            found += more
        return found


def test_connections(server, oracle):
    expect(b" 400 " in raw(server, b"HELLO\r\n\r\n"), "what is no HTTP")
    expect(b" 431 " in raw(server, b"GET /health HTTP/1.1\r\n" + b"X: y\r\n" * 20000), "a flood of headers")
    expect(b" 413 " in raw(server, b"POST /tokenize HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"), "a large body")
    found = raw(server, b"GET /health HTTP/1.1\r\nHost: a\r\n\r\nGET /nothing HTTP/1.1\r\nHost: a\r\n\r\n")
    expect(b" 200 " in found, "two requests at once")
    status, _, found = server.ask("/tokenize", {"content": "x" * 10_000_000})
    expect(status == 200 and found["count"] == 10_000_000, f"10 MB: {status}")
    with socket.create_connection((server.host, server.port)) as half_open:
        half_open.sendall(b"POST /v1/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")
        expect(answer_of(server.get("/v1/chat/completions", chat("hello"))) == oracle.text(prompt_of("hello"), 12),
               "an answer beside a half-open connection")

    # Who leaves takes its request along.
    before = server.get("/engine")["generated_tokens"]
    for _ in range(8):
        server.events("/v1/chat/completions", chat("gone", 1900), limit=3)
    engine = idle_engine(server)
    expect(engine["running"] == engine["waiting"] == 0 and engine["used_pages"] == 0, f"requests without clients: {engine}")
    expect(engine["generated_tokens"] - before < 8 * 1500, f"requests without clients went on: {engine}")


def test_many(server, oracle):
    """Many at once, some of which leave, and none waits for one that does not read."""
    texts = [f"question {number % 7}" for number in range(40)]
    for text in texts[:7]:
        oracle.text(prompt_of(text), 20)
    asleep = socket.create_connection((server.host, server.port))
    body = json.dumps(chat("slow", 1500, stream=True)).encode()
    asleep.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    def ask(number):
        if number % 5 == 4:
            return server.events("/v1/chat/completions", chat(texts[number], 1000), limit=2)
        if number % 2:
            return streamed(server.events("/v1/chat/completions", chat(texts[number], 20)))
        return answer_of(server.get("/v1/chat/completions", chat(texts[number], 20)))

    found = in_parallel([lambda number=number: ask(number) for number in range(len(texts))])
    for number, text in enumerate(found):
        if number % 5 != 4:
            expect(text == oracle.text(prompt_of(texts[number]), 20), f"request {number} beside others: {text!r}")
    asleep.close()


def test_metrics(server):
    idle_engine(server)
    text = server.get("/metrics")
    values = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            values[name.partition("{")[0]] = float(value)
    for name in ("vllm:num_requests_running", "vllm:prompt_tokens_total", "vllm:generation_tokens_total",
                 "vllm:time_to_first_token_seconds_count", "vllm:e2e_request_latency_seconds_sum", "vllm:request_success_total"):
        expect(name in values, f"metrics lack {name}:\n{text}")
    expect(values["vllm:generation_tokens_total"] > 100 and values["vllm:num_requests_running"] == 0, f"metrics:\n{text}")


def test_small(server):
    expect(server.get("/health") == {"status": "ok"}, "health")
    model = server.get("/v1/models")["data"][0]
    expect(model["id"] == "toy" and server.get("/v1/models/toy") == model, f"models: {model}")
    expect(server.ask("/v1/models/other")[0] == 404, "a model that there is not")
    tokens = server.get("/tokenize", {"content": "héllo"})["tokens"]
    expect(tokens == list("héllo".encode()), f"tokens: {tokens}")
    expect(server.get("/detokenize", {"tokens": tokens})["content"] == "héllo", "text of tokens")
    expect(server.get("/apply-template", {"messages": messages("hello")})["prompt"] == prompt_of("hello"), "a prompt")
    status, headers, _ = server.ask("/", None)
    expect(status == 200 and "text/html" in headers["Content-Type"] and "default-src 'none'" in headers["Content-Security-Policy"], f"{headers}")
    begin = server.processor_seconds()
    time.sleep(1)
    expect(server.processor_seconds() - begin <= 0.02, "an idle server works")


def test_ends(program, weights, oracle):
    """Signals, keys, and what a command line says."""
    with Server(program, weights, "--api-key", "secret", "--cors-origin", "https://a.example", "--no-page") as server:
        expect(server.ask("/v1/models")[0] == 401 and server.ask("/health")[0] == 200, "without a key")
        for headers in ({"Authorization": "Bearer secret"}, {"X-Api-Key": "secret"}):
            expect(server.ask("/v1/models", headers=headers)[0] == 200, f"with a key: {headers}")
        expect(server.ask("/v1/models", headers={"Authorization": "Bearer secre"})[0] == 401, "with another key")
        found = server.ask("/v1/models", headers={"Origin": "https://a.example"}, method="OPTIONS")
        expect(found[0] == 200 and found[1]["Access-Control-Allow-Origin"] == "https://a.example", f"a page: {found}")
        expect("Access-Control-Allow-Origin" not in server.ask("/health", headers={"Origin": "https://b.example"})[1], "another page")
        expect(server.ask("/", headers={"Authorization": "Bearer secret"})[0] == 404, "no page")
        # A stream goes on to its end.
        connection = server.connect()
        connection.request("POST", "/v1/completions", json.dumps({"prompt": "end", "max_tokens": 300, "temperature": 0, "stream": True}),
                           {"Authorization": "Bearer secret"})
        answer = connection.getresponse()
        text = json.loads(answer.readline().decode().removeprefix("data: "))["choices"][0]["text"]
        server.process.send_signal(signal.SIGTERM)
        for line in answer:
            if line.startswith(b"data: {"):
                text += json.loads(line.decode().removeprefix("data: "))["choices"][0]["text"]
        expect(text == oracle.text("end", 300), f"a stream when the server ends: {text!r}")
        found = server.wait()
        expect(found[0] == 0, f"the server ends: {found}")
    with Server(program, weights) as server:
        connection = server.connect()
        connection.request("POST", "/v1/completions", json.dumps({"prompt": "end", "max_tokens": 1900, "stream": True}))
        connection.getresponse().readline()
        found = server.end(signal.SIGINT, signal.SIGINT, timeout=20)
        expect(found[0] == 0, f"the server ends at once: {found}")
        connection.close()
    with Server(program, weights) as first:
        found = run([program, "serve", "--weights", weights, "--port", first.port], check=False)
        expect(found.returncode == 1 and f"cannot listen at 127.0.0.1:{first.port}" in found.stderr, f"a port in use: {found}")
    found = run([program, "serve", "--weights", weights, "--trace", "trace.json"], check=False)
    expect(found.returncode == 1 and "no flag" in found.stderr, f"a trace without an end: {found}")
    found = run([program, "serve", "--weights", weights, "--host", "nowhere.invalid"], check=False)
    expect(found.returncode == 1 and "nowhere.invalid" in found.stderr, f"a host that there is not: {found}")


def test_adapters(batonc, model, scratch):
    """Conversations that name an adapter as their model, in every dialect and in files."""
    path = lambda name: os.path.join(scratch, name)
    pairs = {}
    for name, (_, shape, _) in read_tensors(os.path.join(model, "model.safetensors")).items():
        if name.endswith("_proj.weight"):
            for kind, own in (("A", [4, shape[1]]), ("B", [shape[0], 4])):
                pairs["base_model.model." + name.replace(".weight", f".lora_{kind}.weight")] = ("F32", own, None)
    adapter = random_adapter(path("adapter"), pairs, 4, random.Random(5), lora_alpha=32)
    program = Program(batonc, model, path("adapted"), "--max-batch=4", "--max-rows=64", "--max-seq=512",
                      "--max-adapters=1").path
    texts = {name: json.loads(run([program, "generate", "--weights", model, "--prompt", prompt_of("hello"),
                                   "--max-new-tokens", 12, "--json", "--quiet", "--no-cache", *flags]).stdout)["text"]
             for name, flags in (("base", []), ("tuned", ["--adapter", adapter]))}
    expect(texts["base"] != texts["tuned"], "an adapter that changes nothing")
    flags = [f"--adapter=tuned={adapter}"]
    with Server(program, model, "--name=base", *flags) as server:
        for name, text in texts.items():
            body = chat("hello", model=name)
            found = server.get("/v1/chat/completions", body)
            expect(answer_of(found) == text and found["model"] == name, f"{name}: {found}, expected {text!r}")
            events = server.events("/v1/chat/completions", body)
            expect(streamed(events) == text and events[0]["model"] == name, f"{name}: a stream: {events}")
            found = server.get("/v1/messages", {"model": name, "max_tokens": 12, "temperature": 0, "system": "Be brief.",
                                                "messages": messages("hello")[1:]})
            expect(found["content"][0]["text"] == text and found["model"] == name, f"{name}: messages: {found}")
            found = server.get("/v1/responses", {"model": name, "max_output_tokens": 12, "temperature": 0,
                                                 "instructions": "Be brief.", "input": "hello"})
            expect(found["output"][-1]["content"][0]["text"] == text and found["model"] == name,
                   f"{name}: responses: {found}")
    with open(path("adapted.jsonl"), "w") as file:
        file.writelines(json.dumps({"custom_id": name, "method": "POST", "url": "/v1/chat/completions",
                                    "body": chat("hello", model=name)}) + "\n" for name in texts)
    run([program, "batch", "--weights", model, "--requests", path("adapted.jsonl"), "--out", path("adapted-out.jsonl"),
         "--quiet", "--no-cache", *flags])
    with open(path("adapted-out.jsonl")) as file:
        for result in map(json.loads, file):
            expect(answer_of(result["response"]["body"]) == texts[result["custom_id"]], f"a line of a file: {result}")


def test(arguments, scratch):
    model = os.path.join(scratch, "toy")
    run([os.path.join(ROOT, "tools/random-checkpoint"), model, "--hidden", 64, "--layers", 2])
    with open(os.path.join(model, "chat_template.jinja"), "w") as file:
        file.write(TEMPLATE)
    program = Program(arguments.batonc, model, os.path.join(scratch, "program"), "--max-batch=8", "--max-rows=64",
                      "--max-seq=2048", *arguments.flags).path
    oracle = Oracle(program, model)
    with Server(program, model, "--kv-memory", "8MiB") as server:
        test_small(server)
        test_answers(server, oracle)
        test_llama(server, oracle)
        test_constraints(server)
        test_files(server, program, model, scratch)
        test_errors(server)
        test_connections(server, oracle)
        test_many(server, oracle)
        test_metrics(server)
        # Also what a sanitizer says in the end.
        found = server.end()
        expect(found == (0, ""), f"the server ends: {found}")
    test_defaults(program, model, oracle)
    if not arguments.flags:
        test_adapters(arguments.batonc, model, scratch)
    test_ends(program, model, oracle)
    if any(flag.startswith("--mesh=") for flag in arguments.flags) and shutil.which("mpirun"):
        with Server(program, model, launcher=[*MPI, "-n", "2"]) as server:
            for text in ("hello", "again"):
                found = answer_of(server.get("/v1/chat/completions", chat(text)))
                expect(found == oracle.text(prompt_of(text), 12), f"ranks that are processes: {found!r}")
                # Between two runs of the program.
                time.sleep(0.2)
            test_constraints(server)
            server.end()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("flags", nargs="*")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
