"""Commands whose streams are terminals."""

import os
import pty
import subprocess
import threading

from programs import expect


def watch(command, terminals, environment=None):
    """The texts of both streams, of which some are terminals of their own."""
    ends, texts, threads = {}, {}, []

    def read(name, end):
        text = b""
        while True:
            # A terminal whose other side is closed is an error.
            try:
                part = os.read(end, 4096)
            except OSError:
                part = b""
            if not part:
                break
            text += part
        os.close(end)
        # Terminals turn line feeds into both characters.
        texts[name] = text.decode().replace("\r\n", "\n")

    for name in ("stdout", "stderr"):
        if name in terminals and terminals[name] in ends:
            ends[name] = ends[terminals[name]]
            continue
        here, there = pty.openpty() if name in terminals else os.pipe()
        ends[name] = there
        threads.append(threading.Thread(target=read, args=(name, here)))
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, env=environment,
                               **ends)
    for end in set(ends.values()):
        os.close(end)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(process.wait() == 0, f"{command}: {texts}")
    return texts.get("stdout", ""), texts.get("stderr", "")
