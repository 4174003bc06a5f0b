"""`FILE serve --models FOLDER` answers for several models what each of them answers alone.

Models are small and random, and share one program. What is asked of the router, whole and as a
stream, is asked of a server of the model alone as well. Then there are more models than may be
loaded, processes that are killed or cannot begin, clients that leave, and ends of the router,
by which no process is left.
"""

import argparse
import collections
import contextlib
import json
import os
import signal
import socket
import threading
import time

import programs
from programs import Failure, Program, expect, run
from serving import Server, in_parallel

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INPUTS = ["tools/random-checkpoint", "models/examples/bytes/*"]
# Says that it is a program, and is none.
BROKEN = """#!/bin/sh
if [ "$1" = info ]; then exec %s info --json; fi
echo "error: no luck today" >&2
exit 3
"""


def ask(prompt, model, count=12, **more):
    return {"model": model, "prompt": prompt, "max_tokens": count, "temperature": 0, **more}


def text_of(found):
    return found["choices"][0]["text"]


def streamed(events):
    """The texts of the choices: whose next piece comes first is nobody's promise."""
    texts = collections.defaultdict(str)
    for event in events:
        for choice in event["choices"]:
            texts[choice["index"]] += choice["text"]
    return [texts[index] for index in sorted(texts)]


def wait_until(condition, seconds=30):
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def open_files(process):
    """What a process has open; it may close some meanwhile."""
    found = []
    for name in os.listdir(f"/proc/{process}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/{process}/fd/{name}"))
    return found


def children_of(process):
    """Processes that another has started, by their ids."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == process and state != "Z":
            found.append(int(name))
    return found


def is_alive(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def child_of(server, model):
    """The process of a model that is loaded."""
    for child in children_of(server.process.pid):
        with open(f"/proc/{child}/cmdline") as file:
            words = file.read().split("\0")
        if model in words:
            return child
    raise Failure(f"{model} has no process")


def port_of(process):
    """Where a process listens."""
    sockets = set()
    for name in os.listdir(f"/proc/{process}/fd"):
        try:
            sockets.add(os.readlink(f"/proc/{process}/fd/{name}"))
        except OSError:
            continue
    with open(f"/proc/{process}/net/tcp") as file:
        for fields in map(str.split, list(file)[1:]):
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                return int(fields[1].rpartition(":")[2], 16)
    raise Failure(f"process {process} does not listen")


def loaded(server):
    return {model["id"] for model in server.get("/v1/models")["data"] if model["loaded"]}


def metric(server, name):
    """Its values by model."""
    found = {}
    for line in server.get("/metrics").splitlines():
        if line.startswith(f'{name}{{model_name="'):
            label, _, value = line.removeprefix(f'{name}{{model_name="').partition('"')
            found[label] = float(value.rpartition(" ")[2])
    return found


def make_folder(folder, program, checkpoints, flags="--no-cache --kv-memory 8MiB"):
    for name, weights in checkpoints.items():
        os.makedirs(os.path.join(folder, name))
        os.symlink(program, os.path.join(folder, name, "program"))
        os.symlink(weights, os.path.join(folder, name, "weights"))
        with open(os.path.join(folder, name, "flags.txt"), "w") as file:
            file.write(f"# For tests.\n{flags}\n")
    return folder


def test_routing(server, program, checkpoints):
    """Before and behind the first requests, which load models."""
    found = server.get("/v1/models")
    expect([model["id"] for model in found["data"]] == list(checkpoints) and found["object"] == "list"
           and not any(model["loaded"] for model in found["data"]), f"models: {found}")
    expect(server.get("/v1/models/blue") == found["data"][0], "one model")
    expect(server.ask("/v1/models/red")[0] == 404, "a model that there is not")
    expect(server.get("/engine?model=blue")["loaded"] is False, "the engine of a model that is not loaded")
    for path, body, status, words in [
            ("/v1/completions", ask("x", "red"), 404, "blue, green, grey"),
            ("/v1/completions", {"prompt": "x"}, 400, "model: expected one of blue, green, grey"),
            ("/v1/completions", {"model": 3, "prompt": "x"}, 400, "model: expected a text"),
            ("/v1/completions", b"{", 400, "no JSON"),
            ("/v1/completions", b"[1]", 400, "no JSON object"),
            ("/v1/completions", b'{"prompt": "\xff"}', 400, "no JSON"),
            ("/v1/completions", b"[" * 1000000, 400, "no JSON object"),
            ("/v1/messages", {"model": "red", "messages": []}, 404, "blue, green, grey"),
            ("/nothing", {}, 404, "there is no /nothing"), ("/health", {}, 405, "does not take POST")]:
        found = server.ask(path, body)
        expect(found[0] == status and words in found[2]["error"]["message"], f"{path} {str(body)[:60]}: {found[0]} {found[2]}")
    found = server.ask("/v1/completions", ask("x", "red"))[2]["error"]
    expect(found["code"] == "model_not_found" and found["type"] == "not_found_error", f"an error: {found}")
    expect(not children_of(server.process.pid), "what is refused loads nothing")
    expect(server.get("/health") == {"status": "ok"}, "health")

    for name in ("blue", "green"):
        with Server(program, checkpoints[name], "--name", name) as alone:
            for path, body in [
                    ("/v1/completions", ask("once", name)), ("/v1/completions", ask(["a", "b"], name, n=2, logprobs=2, seed=4)),
                    ("/v1/completions", ask("x", name, 30, temperature=1, seed=9, guided_regex="(ab)+")),
                    ("/tokenize", {"model": name, "content": "héllo"}), ("/detokenize", {"tokens": [104, 105], "model": name}),
                    ("/v1/completions", ask("x", name, temperature="hot")), ("/tokenize", {"model": name, "content": "y" * 3_000_000})]:
                expected, found = alone.ask(path, body), server.ask(path, body)
                for result in (expected, found):
                    for key in ("id", "created", "timings"):
                        result[2].pop(key, None)
                expect(found[0] == expected[0] and found[2] == expected[2], f"{path} of {name}: {str(found)[:500]}, alone {str(expected)[:500]}")
            body = ask("stream", name, 40)
            expect(streamed(server.events("/v1/completions", body)) == streamed(alone.events("/v1/completions", body))
                   == [text_of(server.get("/v1/completions", body))], f"a stream of {name}")
    headers = server.ask("/v1/completions", ask("x", "blue", mirostat_tau=3))[1]
    expect(headers.get("X-Baton-Ignored") == "mirostat_tau", f"what is ignored: {headers}")
    texts = [text_of(server.get("/v1/completions", ask("differ", name, 30))) for name in ("blue", "green")]
    expect(texts[0] != texts[1], "models answer alike")
    expect(loaded(server) == {"blue", "green"}, f"loaded: {loaded(server)}")
    expect(server.get("/engine?model=blue")["model"] == "blue" and server.get("/engine")["model"] == "green", "engines")
    found = in_parallel([lambda name=name: text_of(server.get("/v1/completions", ask("differ", name, 30)))
                         for name in ("blue", "green") * 12])
    expect(found == texts * 12, "many at once")

    # Nobody else asks a model's process.
    child = child_of(server, "blue")
    with socket.create_connection(("127.0.0.1", port_of(child))) as connection:
        connection.sendall(b"GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n")
        expect(b" 401 " in connection.recv(4096), "a model's process answers others")
    inherited = open_files(child)
    own = {os.readlink(f"/proc/{server.process.pid}/fd/{name}") for name in os.listdir(f"/proc/{server.process.pid}/fd")}
    expect(not any(name in own for name in inherited if name.startswith("socket:")), f"a model's process has sockets of the router: {inherited}")


def test_metrics(server):
    text = server.get("/metrics")
    heads = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    expect(len(heads) == len(set(heads)) > 20, f"metrics that stand twice: {heads}")
    for name in ("vllm:generation_tokens_total", "baton:router_loads_total"):
        expect(all(metric(server, name)[model] > 0 for model in ("blue", "green")), f"{name}:\n{text}")
    current = None
    for line in text.splitlines():
        if line.startswith("#"):
            current = line.split()[2]
        else:
            expect(line.startswith(current), f"{line} stands below {current}")


def test_disconnect(server):
    def stream():
        server.events("/v1/completions", ask("gone", "blue", 1900, n=4), limit=3)

    def leave():
        """Before the answer begins."""
        connection = server.connect()
        connection.request("POST", "/v1/completions", json.dumps(ask("gone", "blue", 1900, n=4)))
        time.sleep(0.1)
        connection.sock.shutdown(socket.SHUT_RDWR)
        connection.close()

    for go in (stream, leave):
        before = metric(server, "vllm:generation_tokens_total")["blue"]
        for _ in range(6):
            go()
        expect(wait_until(lambda: server.get("/engine?model=blue")["running"] == 0), "requests without clients go on")
        count = metric(server, "vllm:generation_tokens_total")["blue"] - before
        expect(count < 6 * 4 * 1500, f"requests without clients went on: {count} tokens")
        expect(wait_until(lambda: metric(server, "baton:router_requests_running")["blue"] == 0), "requests count as running")


def test_deaths(server):
    """Of processes that serve."""
    child = child_of(server, "blue")
    # A stream has begun, another request has not.
    found = []
    thread = threading.Thread(target=lambda: found.append(server.ask("/v1/completions", ask("die", "blue", 1900, n=4))))
    thread.start()
    connection = server.connect()
    connection.request("POST", "/v1/completions", json.dumps(ask("die", "blue", 1900, stream=True, n=4)))
    answer = connection.getresponse()
    answer.readline()
    expect(wait_until(lambda: metric(server, "baton:router_requests_running")["blue"] == 2), "two requests run")
    os.kill(child, signal.SIGKILL)
    rest = answer.read().decode()
    thread.join()
    connection.close()
    last = json.loads(rest.strip().rpartition("\n")[2].removeprefix("data: "))["error"]["message"]
    expect("the model blue has failed: it was ended by signal 9" in last, f"a stream of a process that dies: {last}")
    expect(found[0][0] == 502 and "the model blue has failed: it was ended by signal 9" in found[0][2]["error"]["message"], f"a request: {found}")
    text_of(server.get("/v1/completions", ask("again", "green")))
    expect(server.ask("/v1/completions", ask("again", "blue"))[0] == 200 and child_of(server, "blue") != child, "the next request")


def test_eviction(program, folder):
    """Three models, of which two may be loaded."""
    with Server(program, None, "--models", folder, "--models-max", 2, "--models-wait", 120) as server:
        for name in ("blue", "green", "blue", "grey"):
            server.get("/v1/completions", ask("x", name))
        expect(loaded(server) == {"blue", "grey"}, f"green was used least recently: {loaded(server)}")
        expect(metric(server, "baton:router_unloads_total") == {"blue": 0, "green": 1, "grey": 0}, "what made room")
        expect(len(children_of(server.process.pid)) == 2, "processes")
        # Both are busy: the third waits, and both finish.
        bodies = [ask("busy", name, 1900, n=4) for name in ("blue", "grey")]
        expected = [streamed(server.events("/v1/completions", body)) for body in bodies]
        found = [None, None]

        def stream(place):
            found[place] = streamed(server.events("/v1/completions", bodies[place]))

        threads = [threading.Thread(target=stream, args=[place]) for place in range(2)]
        for thread in threads:
            thread.start()
        expect(wait_until(lambda: all(metric(server, "baton:router_requests_running")[name] for name in ("blue", "grey"))), "both are busy")
        server.get("/v1/completions", ask("x", "green"))
        for thread in threads:
            thread.join()
        expect(found == expected, "a stream was cut off")
        expect("green" in loaded(server) and len(children_of(server.process.pid)) <= 2, f"loaded: {loaded(server)}")
        # Who waits and leaves loads nothing.
        other = next(iter({"blue", "grey"} - loaded(server)))
        status, _, _ = server.ask("/v1/completions", ask("x", other))
        expect(status == 200, "models in turn")

        # Without a pause of the others there is room all the same.
        stop = threading.Event()

        def keep_busy(name):
            while not stop.is_set():
                server.ask("/v1/completions", ask("busy", name, 200))

        names = sorted(loaded(server))
        third = next(iter({"blue", "green", "grey"} - set(names)))
        threads = [threading.Thread(target=keep_busy, args=[name]) for name in names for _ in range(3)]
        for thread in threads:
            thread.start()
        status, _, found = server.ask("/v1/completions", ask("x", third))
        stop.set()
        for thread in threads:
            thread.join()
        expect(status == 200, f"a model that others keep out: {status} {found}")

    with Server(program, None, "--models", folder, "--models-max", 1, "--models-wait", 0.5) as server:
        connection = server.connect()
        connection.request("POST", "/v1/completions", json.dumps({**ask("busy", "blue", 1900, n=8, stream=True), "prompt": ["busy"] * 64}))
        connection.getresponse().readline()
        status, headers, found = server.ask("/v1/completions", ask("x", "green"))
        expect(status == 503 and headers.get("Retry-After") and "no room for the model green" in found["error"]["message"], f"no room: {status} {found}")
        connection.close()
        needed = metric(server, "baton:router_memory_bytes")["blue"]
    with Server(program, None, "--models", folder, "--models-memory", int(needed * 2.5)) as server:
        for name in ("blue", "green", "grey"):
            server.get("/v1/completions", ask("x", name))
        expect(loaded(server) == {"green", "grey"}, f"memory for two: {loaded(server)}")
    with Server(program, None, "--models", folder, "--models-memory", int(needed / 2)) as server:
        status, _, found = server.ask("/v1/completions", ask("x", "blue"))
        expect(status == 500 and "--models-memory" in found["error"]["message"], f"memory for none: {status} {found}")


def test_faults(program, checkpoints, scratch):
    """Of what is in the folder."""
    folder = os.path.join(scratch, "faults")
    make_folder(folder, program, {"good": checkpoints["blue"], "broken": checkpoints["blue"], "flagged": checkpoints["blue"]})
    path = os.path.join(folder, "broken", "program")
    os.unlink(path)
    with open(path, "w") as file:
        file.write(BROKEN % program)
    os.chmod(path, 0o755)
    os.makedirs(os.path.join(folder, "empty"))
    os.makedirs(os.path.join(folder, ".hidden"))
    with open(os.path.join(folder, "flagged", "flags.txt"), "w") as file:
        file.write("--port 80")
    with Server(program, None, "--models", folder, "--api-key", "secret", "--cors-origin", "https://a.example") as server:
        key = {"Authorization": "Bearer secret", "Origin": "https://a.example"}
        expect(server.ask("/v1/models")[0] == 401 and server.ask("/v1/completions", ask("x", "good"))[0] == 401, "without a key")
        found = server.ask("/v1/models", headers=key)
        expect([model["id"] for model in found[2]["data"]] == ["broken", "good"], f"models: {found}")
        for turn in range(5):
            status, _, found = server.ask("/v1/completions", ask("x", "broken"), key)
            words = "cannot be loaded: no luck today" if turn < 3 else "fails again and again: no luck today"
            expect(status == 502 and words in found["error"]["message"] and "broken" in found["error"]["message"], f"turn {turn}: {status} {found}")
        status, headers, found = server.ask("/v1/completions", ask("x", "good"), key)
        expect(status == 200 and headers["Access-Control-Allow-Origin"] == "https://a.example", f"a good one: {status} {headers} {found}")
        status, said = server.end()
        expect(status == 0 and "left out: empty: there is no program" in said and "left out: flagged: flags.txt: --port" in said
               and "broken: error: no luck today" in said and ".hidden" not in said, f"what is said: {said}")
    found = run([program, "serve", "--models", os.path.join(folder, "empty"), "--port", 0], check=False)
    expect(found.returncode == 1 and "has no model" in found.stderr, f"a folder without models: {found}")
    found = run([program, "serve", "--models", folder, "--weights", checkpoints["blue"]], check=False)
    expect(found.returncode == 1 and "--weights" in found.stderr, f"weights, too: {found}")


def test_ends(program, folder):
    with Server(program, None, "--models", folder) as server:
        server.get("/v1/completions", ask("x", "green"))
        expected = text_of(server.get("/v1/completions", ask("end", "blue", 600)))
        children = children_of(server.process.pid)
        expect(len(children) == 2, f"processes: {children}")
        connection = server.connect()
        connection.request("POST", "/v1/completions", json.dumps(ask("end", "blue", 600, stream=True)))
        answer = connection.getresponse()
        text = json.loads(answer.readline().decode().removeprefix("data: "))["choices"][0]["text"]
        server.process.send_signal(signal.SIGTERM)
        for line in answer:
            if line.startswith(b"data: {"):
                text += json.loads(line.decode().removeprefix("data: "))["choices"][0]["text"]
        connection.close()
        expect(text == expected, f"a stream when the router ends: {text[:100]!r}")
        found = server.wait()
        expect(found[0] == 0, f"the router ends: {found}")
        expect(not any(map(is_alive, children)), "processes that are left")
    with Server(program, None, "--models", folder) as server:
        connection = server.connect()
        connection.request("POST", "/v1/completions", json.dumps(ask("end", "blue", 1900, n=8, stream=True)))
        connection.getresponse().readline()
        children = children_of(server.process.pid)
        found = server.end(signal.SIGINT, signal.SIGINT, timeout=20)
        expect(found[0] == 0 and not any(map(is_alive, children)), f"the router ends at once: {found}")
        connection.close()
    with Server(program, None, "--models", folder) as server:
        connection = server.connect()
        connection.request("POST", "/v1/completions", json.dumps(ask("end", "blue", 1900, n=8, stream=True)))
        connection.getresponse().readline()
        children = children_of(server.process.pid)
        expect(len(children) == 1, "a process")
        server.process.kill()
        expect(wait_until(lambda: not any(map(is_alive, children)), 10), "processes outlive a router that was killed")
        connection.close()


def test(arguments, scratch):
    checkpoints = {}
    for seed, name in enumerate(("blue", "green", "grey"), 1):
        checkpoints[name] = os.path.join(scratch, f"{name}-checkpoint")
        run([os.path.join(ROOT, "tools/random-checkpoint"), checkpoints[name], "--hidden", 64, "--layers", 2, "--seed", seed])
    program = Program(arguments.batonc, checkpoints["blue"], os.path.join(scratch, "program"), "--max-batch=8", "--max-rows=64",
                      "--max-seq=2048", *arguments.flags).path
    folder = make_folder(os.path.join(scratch, "models"), program, checkpoints)
    with Server(program, None, "--models", folder) as server:
        test_routing(server, program, checkpoints)
        test_metrics(server)
        test_disconnect(server)
        test_deaths(server)
    test_eviction(program, folder)
    test_faults(program, checkpoints, scratch)
    test_ends(program, folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("flags", nargs="*")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
