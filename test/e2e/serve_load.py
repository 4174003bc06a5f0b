"""Many clients of a server, some of whom behave badly, for as long as one likes.

    serve_load.py --batonc build/bin/batonc                       a minute
    serve_load.py --batonc build/bin/batonc --streams 512 --requests 100000

Requests are seeded. Every answer that a client waits for is the text that `generate` writes, whoever
else leaves in the middle, reads slowly, is stopped, or sends half a request. In the end nothing is
left of them: no sequence, no page, no connection, no thread, and no memory.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time

import programs
from programs import Program, expect, run
from serve import ROOT, TEMPLATE, Oracle, prompt_of
from serving import Server

INPUTS = ["tools/random-checkpoint", "models/examples/bytes/*"]
# Each kind of request: its text, its tokens, and how they are drawn.
KINDS = [(f"question {number % 5}" + " again" * (number % 3) * 9, 4 + number % 11,
          {"temperature": 0.8, "top_k": 20, "seed": number} if number % 3 else {})
         for number in range(24)]


def body_of(kind, stream):
    text, count, sampling = KINDS[kind]
    return {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}],
            "max_tokens": count, "stream": stream, **({"temperature": 0} | sampling)}


def request_of(kind, stream, close=False):
    body = json.dumps(body_of(kind, stream)).encode()
    end = b"Connection: close\r\n" if close else b""
    return b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n%sContent-Length: %d\r\n\r\n%s" % (end, len(body), body)


async def read_head(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
    return int(head.split()[1]), fields


async def read_answer(reader, pause=0.0):
    """The status, and the text of an answer, whole or a stream."""
    status, fields = await read_head(reader)
    if "content-length" in fields:
        body = json.loads(await reader.readexactly(int(fields["content-length"])))
        return status, body["choices"][0]["message"]["content"] if status == 200 else body
    text, data = "", b""
    while True:
        size = int(await reader.readuntil(b"\r\n"), 16)
        data += (await reader.readexactly(size + 2))[:-2]
        if size == 0:
            break
        await asyncio.sleep(pause)
    events = data.decode().split("\n\n")
    expect(events[-2:] == ["data: [DONE]", ""], f"a stream ends with {events[-3:]}")
    for event in events[:-2]:
        for choice in json.loads(event.removeprefix("data: "))["choices"]:
            text += choice["delta"].get("content") or ""
    return status, text


class Load:
    def __init__(self, server, expected, seed):
        self.server, self.expected, self.random = server, expected, random.Random(seed)
        self.answers = self.left = self.refused = self.begun = 0

    async def connect(self):
        return await asyncio.open_connection(self.server.host.strip("[]"), self.server.port)

    async def client(self, requests):
        """Asks until all requests are made, on a connection as long as that lasts."""
        connection = None
        while self.begun < requests:
            self.begun += 1
            kind, stream = self.random.randrange(len(KINDS)), self.random.random() < 0.7
            behaviour = self.random.random()
            try:
                if connection is None:
                    connection = await self.connect()
                reader, writer = connection
                if behaviour < 0.04:
                    # Half a request.
                    writer.write(request_of(kind, stream)[:self.random.randrange(1, 200)])
                elif behaviour < 0.16:
                    # Leaves: at once, or behind a part of the answer.
                    writer.write(request_of(kind, stream))
                    if self.random.random() < 0.7:
                        await reader.read(self.random.randrange(1, 2000))
                elif behaviour < 0.18:
                    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n{]}")
                    status, found = await read_answer(reader)
                    expect(status == 400, f"nonsense: {status} {found}")
                    continue
                else:
                    writer.write(request_of(kind, stream))
                    status, found = await read_answer(reader, 0.002 if behaviour > 0.95 else 0)
                    if status == 503:
                        self.refused += 1
                        await asyncio.sleep(0.05)
                        continue
                    expect(status == 200 and found == self.expected[kind],
                           f"request {KINDS[kind]}: {status} {found!r}, expected {self.expected[kind]!r}")
                    self.answers += 1
                    continue
                self.left += 1
                writer.transport.abort()
                connection = None
            except (ConnectionError, asyncio.IncompleteReadError) as failure:
                raise programs.Failure(f"a connection broke: {failure!r}") from None
        if connection:
            connection[1].close()

    async def run(self, clients, requests):
        await asyncio.gather(*(self.client(requests) for _ in range(clients)))


STOPPED = """
import socket, sys, time
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
connection.sendall(sys.stdin.buffer.read())
print("sent", flush=True)
time.sleep(1000)
"""


def stopped_client(server):
    """A process that asks, and is stopped."""
    process = subprocess.Popen([sys.executable, "-c", STOPPED, server.host, str(server.port)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(request_of(3, True))
    process.stdin.close()
    process.stdout.readline()
    process.send_signal(signal.SIGSTOP)
    return process


def process_state(server):
    """Threads, open files and resident KiB of the server."""
    base = f"/proc/{server.process.pid}"
    with open(f"{base}/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return {"threads": int(fields["Threads"]), "files": len(os.listdir(f"{base}/fd")), "KiB": int(fields["VmRSS"].split()[0])}


def open_sockets(server):
    """The one that listens, and those of clients."""
    folder, count = f"/proc/{server.process.pid}/fd", 0
    for name in os.listdir(folder):
        try:
            count += os.readlink(f"{folder}/{name}").startswith("socket:")
        except FileNotFoundError:
            pass  # closed meanwhile
    return count


def idle_state(server):
    for _ in range(400):
        engine = server.get("/engine")
        if engine["running"] == engine["waiting"] == engine["used_pages"] == 0 and engine["connections"] == 1:
            break
        time.sleep(0.05)
    expect(engine["running"] == engine["waiting"] == engine["used_pages"] == 0 and engine["connections"] == 1,
           f"what is left when all clients are gone: {engine}")
    # The last one's own connection is closed a moment after its answer.
    for _ in range(400):
        if open_sockets(server) == 1:
            break
        time.sleep(0.05)
    return process_state(server)


def test(arguments, scratch):
    model = os.path.join(scratch, "toy")
    run([os.path.join(ROOT, "tools/random-checkpoint"), model, "--hidden", 64, "--layers", 1])
    with open(os.path.join(model, "chat_template.jinja"), "w") as file:
        file.write(TEMPLATE)
    program = Program(arguments.batonc, model, os.path.join(scratch, "program"), "--max-batch=16", "--max-rows=128",
                      "--max-seq=512", *arguments.flags).path
    oracle = Oracle(program, model)
    expected = [oracle.text(prompt_of(text), count, **sampling) for text, count, sampling in KINDS]
    with Server(program, model, "--kv-memory", "1MiB", "--quiet") as server:
        begin = time.time()
        load = Load(server, expected, arguments.seed)
        # Pages, connections and texts of all kinds have been there once.
        asyncio.run(load.run(arguments.streams, 20 * arguments.streams))
        before = idle_state(server)
        client = stopped_client(server)
        asyncio.run(load.run(arguments.streams, max(arguments.requests, 40 * arguments.streams)))
        client.kill()
        client.wait()
        client.stdout.close()
        after = idle_state(server)
        expect(after["threads"] == before["threads"] and after["files"] == before["files"], f"left behind: {before}, then {after}")
        expect(after["KiB"] <= before["KiB"] * 1.1 + 4096, f"memory grows: {before}, then {after}")
        seconds = time.time() - begin
        print(f"{load.begun} requests of {arguments.streams} clients in {seconds:.0f} s: {load.answers} answers, {load.left} "
              f"left, {load.refused} were told to come again; {before}, then {after}")
        expect(load.answers > 0.6 * load.begun, "most requests have an answer")
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    begin = time.time()
    with Server(program, model, "--kv-memory", "1MiB") as server:
        expect(server.get("/health")["status"] == "ok", "a server after one that was killed")
        print(f"serves {time.time() - begin:.2f} s after kill -9")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--streams", type=int, default=64, help="clients at once")
    parser.add_argument("--requests", type=int, default=0, help="of all clients; at least 40 of each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("flags", nargs="*")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
