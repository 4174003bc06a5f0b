"""A server in place of a compiled program, for what no small model says when a test wants it:
reasoning, calls, Markdown, failures. Its page is that of the sources."""

import http.server
import json
import os
import re
import threading
import time

POLICY = ("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
          "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")

PHASES = ["embed_tokens", "layers.self_attn.q_proj+k_proj+v_proj", "layers.self_attn.attention",
          "layers.self_attn.o_proj.residual", "layers.mlp.gate_up", "layers.mlp.down_proj.residual",
          "lm_head", "advance"]

MARKDOWN = """# A title

Some **bold**, *italic*, ***both***, ~~gone~~ and `code *not this*` words, snake_case_names and 2 * 3 * 4.
The second line, see https://example.org/a_(b). And [a link](https://example.org "x"), [none](javascript:alert(1)).

- one
- two
  - inner **x**
  - more
- [x] done

3. three
4. four

> quoted
> > twice

| Name | Time |
|:-----|-----:|
| a    | 1    |
| b \\| c | `x`  |

```python
def f(x):  # a comment
\treturn "text" + str(42)
```

---

<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>
![picture](https://example.org/picture.png)

$$
a_1 * b_2 = c
$$"""


def page_text(folder):
    def read(name):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()

    # page.cpp says which scripts there are, in their order.
    scripts = re.findall(r"page/(\w+\.js)\.inc", read("../page.cpp"))
    return (read("page.html").replace("{{style}}", read("page.css"), 1)
            .replace("{{script}}", "".join(map(read, scripts)), 1))


class StandIn:
    """`with StandIn(folder) as server:` serves at server.address; its members change what it does."""

    def __init__(self, folder, port=0):
        self.folder, self.port = folder, port
        self.key, self.has_chat, self.has_timeline = None, True, True
        # Seconds between tokens.
        self.pause = 0.01
        self.requests, self.polls, self.cut = [], 0, 0
        self.steps = self.tokens = self.running = 0

    def __enter__(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                outer.get(self)

            def do_POST(self):
                outer.post(self)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        self.address = f"http://127.0.0.1:{self.port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler, body, status=200, kind="application/json", headers=()):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        handler.send_header("Connection", "close")
        for name, value in headers:
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = True

    def refuse(self, handler, status, message):
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": status}
        self.answer(handler, {"error": error}, status)

    def is_allowed(self, handler):
        return self.key is None or handler.headers.get("Authorization") == f"Bearer {self.key}"

    def get(self, handler):
        if handler.path == "/":
            return self.answer(handler, page_text(self.folder).encode(), kind="text/html; charset=utf-8",
                               headers=[("Content-Security-Policy", POLICY)])
        if handler.path == "/health":
            return self.answer(handler, {"status": "ok"})
        if not self.is_allowed(handler):
            return self.refuse(handler, 401, "this server wants a key: Authorization: Bearer KEY")
        if handler.path == "/v1/models":
            return self.answer(handler, {"object": "list", "data": [
                {"id": "stand-in", "object": "model", "max_model_len": 2048,
                 "meta": {"family": "llama", "vocabulary": 100, "chat": self.has_chat}}]})
        if handler.path == "/engine":
            return self.answer(handler, self.engine())
        return self.refuse(handler, 404, f"there is no {handler.path}")

    def engine(self):
        self.polls += 1
        self.steps += 40
        self.tokens += 300
        state = {"model": "stand-in", "running": 7, "waiting": 2, "max_running": 16, "max_rows": 64, "used_pages": 37,
                 "pages": 128, "steps": self.steps, "rows": self.steps * 9, "prompt_tokens": 5000,
                 "cached_tokens": 3000,
                 "generated_tokens": self.tokens, "guessed_tokens": 90, "right_guesses": 60, "preemptions": 3, "connections": 9}
        if self.has_timeline:
            workers, steps, now = 4, [], 100.0 + self.polls
            for step in range(6):
                begin, tasks = now, []
                for layer in range(5):
                    for place, phase in enumerate(PHASES):
                        length = 4e-5 * (1 + place * 3 % 5) * (1 + (step == 0))
                        tasks += [[worker, now + worker * 4e-6, now + length * (0.7 + 0.1 * worker), phase]
                                  for worker in range(workers)]
                        now += length
                steps.append({"begin": begin, "end": now, "rows": 64 if step == 0 else 7, "tasks": tasks})
                now += 0.001
            state["timeline"] = {"workers": workers, "steps": steps}
        return state

    def post(self, handler):
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        if not self.is_allowed(handler):
            return self.refuse(handler, 401, "this server wants a key: Authorization: Bearer KEY")
        self.requests.append(body)
        is_chat = handler.path == "/v1/chat/completions"
        text = body["messages"][-1]["content"] if is_chat else body["prompt"]
        if "refuse" in text:
            return self.refuse(handler, 400, "temperature: expected at most 2")
        deltas = list(self.deltas(text, is_chat))
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.close_connection = True

        def write(event):
            handler.wfile.write(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode())

        try:
            for place, delta in enumerate(deltas):
                if "fail" in text and place == 3:
                    return write({"error": {"message": "the engine has failed", "type": "server_error"}})
                if "break" in text and place == 3:
                    return None
                change = {"delta": delta} if is_chat else {"text": delta["content"]}
                write({"choices": [{"index": 0, "finish_reason": None, **change}], "usage": None})
                time.sleep(self.pause * (20 if "slow" in text else 1))
            finish = "tool_calls" if "call" in text else "length" if "length" in text else "stop"
            change = {"delta": {}} if is_chat else {"text": ""}
            write({"choices": [{"index": 0, "finish_reason": finish, **change}], "usage": None})
            write({"choices": [], "usage": {
                "prompt_tokens": 20, "completion_tokens": len(deltas), "total_tokens": 20 + len(deltas),
                "prompt_tokens_details": {"cached_tokens": 16}}})
            write("[DONE]")
        except OSError:
            self.cut += 1
        return None

    def deltas(self, text, is_chat):
        if is_chat:
            yield {"role": "assistant", "content": ""}
        if "reason" in text:
            yield from ({"reasoning_content": word + " "} for word in "First I think about it, then I know.".split())
        if "call" in text:
            function = {"name": "weather", "arguments": ""}
            yield {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}
            for part in ('{"city": ', '"Lima"', "}"):
                yield {"tool_calls": [{"index": 0, "function": {"arguments": part}}]}
            return
        answer = MARKDOWN if "markdown" in text else ("word " * 200 if "slow" in text else f"You said: {text}.")
        yield from ({"content": part} for part in re.findall(r"\s*\S+|\s+$", answer))
