"""Headless Chromium, driven through pipes with the DevTools protocol: messages are JSON that
ends with a NUL, so the standard library is enough (https://chromedevtools.github.io/devtools-protocol)."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time

# Name: (key, code, Windows' virtual key code, text)
KEYS = {
    "Enter": ("Enter", "Enter", 13, "\r"), "Escape": ("Escape", "Escape", 27, None),
    "ArrowUp": ("ArrowUp", "ArrowUp", 38, None), "Tab": ("Tab", "Tab", 9, None),
    "/": ("/", "Slash", 191, "/"), "k": ("k", "KeyK", 75, "k"),
}
MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}


class Timeout(Exception):
    """What was waited for, and what there was instead."""


def find_browser():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """`with Browser(path, profile) as browser: tab = browser.open(address)`"""

    def __init__(self, path, profile):
        self.command = [path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                        f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"]
        self.numbers, self.replies, self.rest, self.events = itertools.count(1), {}, b"", []

    def __enter__(self):
        theirs_in, self.out = os.pipe()
        self.input, theirs_out = os.pipe()
        # Chromium reads descriptor 3 and writes 4. The shell puts them there, whatever their numbers are.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "bash", *self.command],
            pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.input)

    def receive(self, seconds):
        """Takes the messages that come within some seconds, the first ones at once."""
        if not select.select([self.input], [], [], seconds)[0]:
            return
        data = os.read(self.input, 1 << 20)
        if not data:
            raise Timeout("the browser has ended")
        *messages, self.rest = (self.rest + data).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.replies[message["id"]] = message
            else:
                self.events.append(message)

    def call(self, method, session=None, seconds=60, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        end = time.monotonic() + seconds
        while number not in self.replies:
            if time.monotonic() > end:
                raise Timeout(f"{method} is not answered")
            self.receive(0.2)
        reply = self.replies.pop(number)
        if "error" in reply:
            raise Timeout(f"{method}: {reply['error']['message']}")
        return reply["result"]

    def open(self, address, width=1280, height=860):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, target, session)
        tab.call("Runtime.enable")
        tab.call("Page.enable")
        tab.resize(width, height)
        tab.go(address)
        return tab


class Tab:
    def __init__(self, browser, target, session):
        self.browser, self.target, self.session = browser, target, session

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def faults(self):
        """What scripts threw, and what the console calls an error, as the policy against foreign content does."""
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            if event["method"] == "Runtime.exceptionThrown":
                details = event["params"]["exceptionDetails"]
                found.append(details.get("exception", {}).get("description") or details["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] == "error":
                found.append(str(event["params"]["args"]))
        return found

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme):
        """What the system's theme is: "light" or "dark"."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def go(self, address):
        self.call("Page.navigate", url=address)

    def front(self):
        self.browser.call("Target.activateTarget", targetId=self.target)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def reload(self):
        self.call("Page.reload")

    def js(self, expression):
        """The value of an expression of JavaScript, a promise's included."""
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in reply:
            details = reply["exceptionDetails"]
            raise Timeout(f"{expression}: {details.get('exception', {}).get('description') or details['text']}")
        return reply["result"].get("value")

    def wait(self, expression, seconds=20):
        """Until the expression is true; its value."""
        end = time.monotonic() + seconds
        while True:
            try:
                value = self.js(expression)
            except Timeout:  # The page is on its way.
                value = None
            # A node comes as {}.
            if value not in (None, False, 0, ""):
                return value
            if time.monotonic() > end:
                text = self.js("document.body.innerText.slice(0, 1500)")
                raise Timeout(f"waited {seconds} s for: {expression}\nfaults: {self.faults()}\nthe page:\n{text}")
            self.browser.receive(0.03)

    def press(self, name, *modifiers):
        key, code, number, text = KEYS[name]
        bits = sum(MODIFIERS[modifier] for modifier in modifiers)
        more = {"text": text} if text and not bits & ~MODIFIERS["Shift"] else {}
        own = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": bits}
        self.call("Input.dispatchKeyEvent", type="keyDown" if more else "rawKeyDown", **own, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", **own)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def click(self, selector, index=0):
        """Where the element is seen, as a pointer does: what lies above it would get the click."""
        place = self.wait(f"""(() => {{
          const node = document.querySelectorAll({json.dumps(selector)})[{index}];
          if (!node) return null;
          node.scrollIntoView({{block: "nearest"}});
          const box = node.getBoundingClientRect();
          return box.width && {{x: box.x + box.width / 2, y: box.y + box.height / 2}};
        }})()""")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **place)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
