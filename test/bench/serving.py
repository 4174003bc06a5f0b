#!/usr/bin/env python3
"""Compares a compiled program's `serve` with llama.cpp's server, on the same weights.

    test/bench/serving.py build/bin/batonc MODEL.gguf [--llama-server PATH] [--clients 1 8 32]
                          [--requests 6 24 64] [--rounds 2] [--workers 2] [--flags=FLAG ...]
                          [--conversations FILE.jsonl] [--temperature T]

Where there is no model of the shape that is wanted, tools/random-checkpoint MODEL.gguf --like
CONFIG.json writes one with random weights, whose tokens are bytes: prompts have fewer words then,
and as many tokens.

Lengths of prompts and answers are drawn as conversations have them (log-normal, medians of 80 and
110 tokens, at most 600 and 400), the same for both servers, from one seed. Each client asks again
as soon as it has its answer, which is a stream of tokens; none ends before its length. The servers
take turns, round by round, and the one that waits sleeps. For each number of clients there are the
median of rounds of generated tokens a second, and of all requests the times to the first token
(median and 90th percentile) and between tokens (median). Beside them stands how many answers
the two have alike, word for word: of trained weights most, of random ones few.

With --conversations FILE the requests are those of a file instead, one list of messages a line, as JSON, which the
checkpoint's chat template makes prompts of; answers end where the model ends them, and tokens are those that came. Words
drawn at random make a small model repeat itself, which guesses see (docs/batches.md): --flags=--prompt-lookup=0 has none.

With --overhead it compares `serve` with `batch` of the same program and the same requests instead.
"""

import argparse
import asyncio
import json
import math
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time

WORDS = ("the of and to in is that it was for on are with as his they be at one have this from or had by hot but some what "
         "there we can out other were all your when up use word how said an each she which do their time if will way about "
         "many then them would write like so these her long make thing see him two has look more day could go come did my "
         "sound no most number who over know water than call first people may down side been now find").split()


def make_requests(count, seed, tokens_of_word=1):
    generator = random.Random(seed)

    def length(median, most):
        return max(4, min(most, round(median * math.exp(generator.gauss(0, 0.9)))))

    return [{"prompt": " ".join(generator.choice(WORDS) for _ in range(math.ceil(length(80, 600) / tokens_of_word))),
             "max_tokens": length(110, 400), "temperature": 0, "ignore_eos": True, "stream": True} for _ in range(count)]


async def read_conversations(arguments, port):
    """Requests, whose prompts the server at `port` writes."""
    requests = []
    with open(arguments.conversations) as file:
        for line in file:
            reader, writer = await post(port, b"/apply-template", {"messages": json.loads(line)})
            prompt = json.loads((await reader.read()).split(b"\r\n\r\n", 1)[1])["prompt"]
            writer.close()
            requests.append({"prompt": prompt, "max_tokens": 300, "temperature": arguments.temperature, "seed": len(requests), "stream": True,
                             "stream_options": {"include_usage": True}})
    return requests


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """One that is running; `port` answers."""

    def __init__(self, name, command, port):
        self.name, self.port = name, port
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end(self):
        self.process.terminate()
        self.process.wait()

    async def wait(self):
        for _ in range(3000):
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.write(b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                answer = await reader.read()
                writer.close()
                if b" 200 " in answer.split(b"\r\n")[0]:
                    return
            except OSError:
                pass
            if self.process.poll() is not None:
                sys.exit(f"error: {self.name} has ended")
            await asyncio.sleep(0.1)
        sys.exit(f"error: {self.name} does not answer")


async def post(port, path, request):
    """The answer, as it comes, and its connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps(request).encode()
    writer.write(b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\n"
                 b"Content-Length: %d\r\n\r\n" % (path, len(body)) + body)
    status = await reader.readline()
    if b" 200 " not in status:
        sys.exit(f"error: {status} {(await reader.read()).decode()}")
    return reader, writer


async def tokens_of_word(port):
    """1 for tokens that are words, on the whole, as those of trained models are of WORDS."""
    reader, writer = await post(port, b"/tokenize", {"content": " ".join(WORDS)})
    answer = (await reader.read()).split(b"\r\n\r\n", 1)[1]
    writer.close()
    found = len(json.loads(answer)["tokens"]) / len(WORDS)
    return found if found > 1.5 else 1


async def ask(port, request):
    """Times of tokens behind the beginning, the text, and how many tokens it is, if the server says so."""
    begin = time.perf_counter()
    reader, writer = await post(port, b"/v1/completions", request)
    times, text, tokens = [], "", None
    while line := await reader.readline():
        if not line.startswith(b"data: {"):
            continue
        event = json.loads(line[6:])
        tokens = (event.get("usage") or {}).get("completion_tokens", tokens)
        if not event["choices"]:
            continue
        text += "".join(choice["text"] for choice in event["choices"])
        times.append(time.perf_counter() - begin)
    writer.close()
    return times, text, tokens


async def measure(port, requests, clients):
    """Tokens a second, times of each request, and its text."""
    results, waiting = [None] * len(requests), list(range(len(requests)))[::-1]

    async def client():
        while waiting:
            place = waiting.pop()
            results[place] = await ask(port, requests[place])

    begin = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    seconds = time.perf_counter() - begin
    # Not what a server sends, but what it was asked for, or says: pieces may hold several tokens.
    tokens = (request["max_tokens"] if request.get("ignore_eos") else result[2] for request, result in zip(requests, results))
    return sum(tokens) / seconds, results


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))]


def compile_program(arguments, work, clients):
    program = os.path.join(work, f"program-{clients}")
    subprocess.run([arguments.batonc, arguments.model, "-o", program, f"--max-batch={clients}", f"--max-rows={max(256, clients)}",
                    "--max-seq=1280", "--quiet", *arguments.compile], check=True)
    return program


async def compare(arguments, work):
    most = max(arguments.clients)
    program = compile_program(arguments, work, most)
    weights = ["serve", "--weights", arguments.model, "--workers", str(arguments.workers), "--quiet", *arguments.flags]
    port = free_port()
    servers = [Server("Baton", [program, *weights, "--port", str(port)], port)]
    if arguments.llama_server:
        port = free_port()
        servers.append(Server("llama.cpp", [
            arguments.llama_server, "-m", arguments.model, "--port", str(port), "-t", str(arguments.workers), "-tb", str(arguments.workers),
            "-np", str(most), "-c", str(most * 1280), "--no-webui", *arguments.llama_flags], port))
    try:
        await servers[0].wait()
        length = await tokens_of_word(servers[0].port)
        for server in servers:
            await server.wait()
            await measure(server.port, make_requests(2, 99, length), 2)
        conversations = await read_conversations(arguments, servers[0].port) if arguments.conversations else None
        print(f"{'clients':>7} {'server':>10} {'tokens/s':>9} {'first token, ms':>22} {'between, ms':>12} {'alike':>6}")
        for clients, count in zip(arguments.clients, arguments.requests):
            rates, firsts, gaps, texts = ({server.name: [] for server in servers} for _ in range(4))
            for turn in range(arguments.rounds):
                requests = (conversations * math.ceil(count / len(conversations)))[:count] if arguments.conversations else make_requests(
                    count, 1000 * clients + turn, length)
                for server in servers[::1 if turn % 2 == 0 else -1]:
                    rate, results = await measure(server.port, requests, clients)
                    rates[server.name].append(rate)
                    texts[server.name] += [text for _, text, _ in results]
                    for times, _, _ in results:
                        firsts[server.name].append(times[0] * 1000)
                        gaps[server.name] += [(later - earlier) * 1000 for earlier, later in zip(times, times[1:])]
            for server in servers:
                alike = sum(left == right for left, right in zip(texts["Baton"], texts[server.name])) / len(texts["Baton"])
                print(f"{clients:>7} {server.name:>10} {statistics.median(rates[server.name]):>9.1f} "
                      f"{statistics.median(firsts[server.name]):>11.0f} {percentile(firsts[server.name], 0.9):>10.0f} "
                      f"{statistics.median(gaps[server.name]):>12.1f} {alike:>6.0%}", flush=True)
            if len(servers) == 2:
                own, other = (statistics.median(rates[server.name]) for server in servers)
                print(f"        tokens/s {own / other:.2f} times llama.cpp's, first token "
                      f"{statistics.median(firsts['Baton']) / statistics.median(firsts['llama.cpp']):.2f} times as late", flush=True)
    finally:
        for server in servers:
            server.end()


async def measure_overhead(arguments, work):
    most = max(arguments.clients)
    program = compile_program(arguments, work, most)
    source, target = os.path.join(work, "in.jsonl"), os.path.join(work, "out.jsonl")
    port = free_port()
    server = Server("Baton", [program, "serve", "--weights", arguments.model, "--workers", str(arguments.workers), "--port", str(port),
                              "--quiet", "--no-prefix-cache"], port)
    rates = {"batch": [], "serve": []}
    try:
        await server.wait()
        requests = make_requests(max(arguments.requests), 7, await tokens_of_word(port))
        tokens = sum(request["max_tokens"] for request in requests)
        with open(source, "w") as file:
            for place, request in enumerate(requests):
                # Files of requests have no ignore_eos: a bias that no stop token outweighs is the same.
                file.write(json.dumps({"id": str(place), "prompt": request["prompt"], "max_new_tokens": request["max_tokens"]}) + "\n")
        for request in requests:
            request["ignore_eos"] = False
        for _ in range(arguments.rounds):
            if os.path.exists(target):
                os.remove(target)
            found = subprocess.run([program, "batch", "--weights", arguments.model, "--workers", str(arguments.workers), "--requests", source,
                                    "--out", target, "--json", "--quiet", "--no-prefix-cache"], capture_output=True, text=True, check=True)
            summary = json.loads(found.stdout)
            rates["batch"].append(summary["tokens_per_s"])
            # As many at once as the other has: all.
            begin = time.perf_counter()
            await measure(server.port, requests, len(requests))
            rates["serve"].append(summary["generated_tokens"] / (time.perf_counter() - begin))
    finally:
        server.end()
    own, other = (statistics.median(rates[name]) for name in ("serve", "batch"))
    print(f"{tokens} tokens asked for: serve {own:.1f} tokens/s, batch {other:.1f}: {own / other:.3f} of it "
          f"(rounds: {[round(rate, 1) for rate in rates['serve']]}, {[round(rate, 1) for rate in rates['batch']]})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batonc")
    parser.add_argument("model", help="a GGUF file, which both read")
    parser.add_argument("--llama-server", help="llama.cpp's llama-server, built for this machine")
    parser.add_argument("--llama-flags", nargs="*", default=[])
    parser.add_argument("--flags", nargs="*", default=[], help="more flags of serve, as --flags=--prompt-lookup=0")
    parser.add_argument("--conversations", help="a file of requests, a list of messages a line")
    parser.add_argument("--temperature", type=float, default=0, help="of conversations")
    parser.add_argument("--compile", nargs="*", default=[], help="more flags of batonc")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--requests", type=int, nargs="+", default=[6, 24, 64], help="for each number of clients")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--overhead", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        asyncio.run((measure_overhead if arguments.overhead else compare)(arguments, work))


if __name__ == "__main__":
    main()
