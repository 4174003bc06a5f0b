"""A server under test, and what is asked of it."""

import json
import os
import signal
import subprocess
import time
import urllib.request

KEY = "a-key"
NAME = "tested"
CITIES = ["Oslo", "Rome", "Lima"]

# A small number of days, and a city of a list: what a constrained answer can be checked for.
FORECAST = {"type": "object", "additionalProperties": False, "required": ["city", "days"],
            "properties": {"city": {"type": "string", "enum": CITIES},
                           "days": {"type": "integer", "minimum": 1, "maximum": 5}}}
CLOCK = {"type": "object", "additionalProperties": False, "required": ["zone"],
         "properties": {"zone": {"type": "string", "enum": ["CET", "UTC"]}}}
QUESTION = "What will the weather be in Oslo for two days?"


class Failure(Exception):
    """What differs, in words."""


def expect(condition, message):
    if not condition:
        raise Failure(message)


def expect_equal(found, wanted, what):
    expect(found == wanted, f"{what}: {found!r} is not {wanted!r}")


def expect_forecast(text, what):
    """Arguments that keep to FORECAST, as text."""
    value = json.loads(text) if isinstance(text, str) else text
    expect(isinstance(value, dict) and sorted(value) == ["city", "days"] and value["city"] in CITIES
           and isinstance(value["days"], int) and 1 <= value["days"] <= 5, f"{what}: {text!r} is no forecast")


def expect_raises(kind, action, what, **attributes):
    """An error of the client's, with these attributes."""
    try:
        action()
    except kind as error:
        for name, value in attributes.items():
            expect_equal(getattr(error, name), value, f"{what}: {name} of {error}")
        return error
    raise Failure(f"{what}: no {kind.__name__}")


class Server:
    """A program that serves, until close()."""

    def __init__(self, program, weights, *flags):
        self.process = subprocess.Popen(
            [program, "serve", "--weights", weights, "--port", "0", "--name", NAME, "--api-key", KEY, *flags],
            stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url.startswith("http://"):
            self.process.kill()
            raise Failure(f"{program} serve: exited with {self.process.wait()}, said {self.url!r}")

    def ask(self, path, body=None, is_json=True):
        """The JSON of an answer, or its bytes."""
        request = urllib.request.Request(
            self.url + path, None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer) if is_json else answer.read()

    def wait_until_idle(self, seconds=20):
        """Requests of clients that left are taken out."""
        end = time.monotonic() + seconds
        while (state := self.ask("/engine"))["running"] + state["waiting"] > 0:
            expect(time.monotonic() < end, f"requests of clients that left run on: {state}")
            time.sleep(0.05)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failure("the server does not end") from None
        expect_equal(status, 0, "the server's exit status")


def without_proxies():
    """Clients read the environment, which may send them elsewhere."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            del os.environ[name]
