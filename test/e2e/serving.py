"""A compiled program as a server, and a client of it (standard library only)."""

import http.client
import json
import os
import signal
import socket
import subprocess
import threading
import time

from programs import Failure, expect


class Server:
    """`FILE serve`, from its first line on. Without weights flags say what it serves."""

    def __init__(self, program, weights, *flags, environment=None, launcher=()):
        model = ["--weights", weights, "--no-cache"] if weights else []
        self.process = subprocess.Popen(
            [*launcher, program, "serve", *model, "--port", "0", *map(str, flags)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        line = self.process.stdout.readline()
        if not line.startswith("http://"):
            raise Failure(f"the server says {line!r}, {self.process.stderr.read()!r}")
        self.host, _, port = line.strip().removeprefix("http://").rpartition(":")
        self.port = int(port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def connect(self, timeout=120):
        return http.client.HTTPConnection(self.host.strip("[]"), self.port, timeout=timeout)

    def ask(self, path, body=None, headers=None, method=None):
        """Status, headers and body of an answer; the body is JSON where it says so."""
        connection = self.connect()
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method or ("GET" if body is None else "POST"), path, data,
                           {"Content-Type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        is_json = (answer.getheader("Content-Type") or "").startswith("application/json")
        return answer.status, dict(answer.getheaders()), json.loads(text) if is_json and text else text

    def get(self, path, body=None, headers=None):
        """The body of an answer that has to be one."""
        status, _, found = self.ask(path, body, headers)
        expect(status == 200, f"{path}: {status} {found}")
        return found

    def events(self, path, body, limit=None):
        """The events of a stream; leaves it behind `limit` of them."""
        connection = self.connect()
        connection.request("POST", path, json.dumps({**body, "stream": True}).encode())
        answer = connection.getresponse()
        expect(answer.status == 200, f"{path}: {answer.status}")
        found = []
        for line in answer:
            line = line.decode().strip()
            if not line.startswith("data: "):
                continue
            if line == "data: [DONE]":
                connection.close()
                return found
            found.append(json.loads(line.removeprefix("data: ")))
            if limit and len(found) >= limit:
                # What is in flight may keep the socket open otherwise.
                connection.sock.shutdown(socket.SHUT_RDWR)
                connection.close()
                return found
        connection.close()
        raise Failure(f"{path}: a stream without an end: {found[-1:]}")

    def end(self, *signals, timeout=60):
        """Asks it to end, and returns its status and what it has said."""
        for number in signals or (signal.SIGTERM,):
            self.process.send_signal(number)
            # Two at once may come as one.
            time.sleep(0.2)
        return self.wait(timeout)

    def wait(self, timeout=60):
        """The same of one that was asked before."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Failure("the server does not end") from None
        return self.process.returncode, self.process.stderr.read()

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def in_parallel(functions):
    """Their results. The first failure is everybody's."""
    results, failures = [None] * len(functions), []

    def call(place):
        try:
            results[place] = functions[place]()
        except BaseException as failure:  # noqa: B902 - whatever it is, it is handed on
            failures.append(failure)

    threads = [threading.Thread(target=call, args=[place]) for place in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return results
