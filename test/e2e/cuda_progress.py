"""Copying weights to a device shows how far it is, where there is a terminal.

With a driver without a GPU (graph_driver.cpp) and weights of several staging buffers
the line grows from one to the next; the emulated device has nothing to copy, and
shows the end at once. The line is gone behind it, and not there without a terminal
or with --quiet. A run of training shows the same of weights and states, from tensor to
tensor, once; on the CPU there is none.

Skipped (77) where NVRTC is neither installed nor fetched by tools/install-cuda.
"""

import argparse
import json
import os
import re
import shutil
import struct
import sys

import programs
from programs import QUICK, expect, run
from terminals import watch
from training import write_tokens

STAGING_BYTES = 64 << 20
CLEARED = "\r\x1b[K"


def enlarge(source, folder):
    """The checkpoint with so many more words that its table takes two staging buffers and
    a half; its file ends in a hole."""
    shutil.copytree(source, folder)
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    path = os.path.join(folder, "model.safetensors")
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        weights = file.read()
    name, table = next((name, entry) for name, entry in header.items() if name.endswith("wte.weight"))
    words, width = table["shape"]
    size = (table["data_offsets"][1] - table["data_offsets"][0]) // words
    words = STAGING_BYTES * 5 // 2 // size
    header[name] = table | {"shape": [words, width], "data_offsets": [len(weights), len(weights) + words * size]}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + weights)
        file.truncate(file.tell() + words * size)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config | {"vocab_size": words}, file)


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    enlarge(arguments.folder, path("large"))

    def shown_by(command, what, terminals=("stderr",)):
        """The percentages of the line, which stands alone."""
        environment = dict(os.environ, LD_LIBRARY_PATH=arguments.driver, FAKE_DRIVER_LOG=path("log"))
        _, text = watch(command, {name: None for name in terminals}, environment)
        found = re.findall(rf"\rcopying {what} to the device \[([#.]{{30}})\] +(\d+) %", text)
        expect(all(bar.count("#") == int(percent) * 30 // 100 for bar, percent in found), f"bars: {text!r}")
        expect(not found or CLEARED in text[text.rindex("copying"):], f"the line stays: {text!r}")
        return [int(percent) for _, percent in found]

    def shown(program, weights, *flags, terminals=("stderr",)):
        return shown_by([path(program), "generate", "--weights", weights, "--tokens", "1", "--max-new-tokens", 2,
                         "--json", "--no-cache", *flags], "weights", terminals)

    run([arguments.batonc, arguments.folder, "-o", path("emulated"), "--quiet", QUICK, "--target=cuda:emulated"])
    expect(shown("emulated", arguments.folder)[-1:] == [100], "no line for the emulated device")
    run([arguments.batonc, arguments.folder, "-o", path("host"), "--quiet", QUICK])
    expect(shown("host", arguments.folder) == [], "a line without a device")

    write_tokens(path("tokens.u16"), ((7 * i) % 97 for i in range(64)))
    for target in ("cpu", "cuda:emulated"):
        program = target.replace(":", "-")
        run([arguments.batonc, arguments.folder, "-o", path(program), "--quiet", QUICK, "--mode=train",
             f"--target={target}"])
        train = [path(program), "train", "--weights", arguments.folder, "--data", path("tokens.u16"), "--batch", 1,
                 "--seq", 8, "--steps", 1, "--warmup", 0, "--out"]
        grown = shown_by([*train, path(f"{program}-run")], "weights and states")
        expect(grown == sorted(set(grown)) and (grown[-1:] == [100] and len(grown) > 2) == (target != "cpu"),
               f"training on {target}: the line grows like {grown}")
        expect(shown_by([*train, path(f"{program}-quiet"), "--quiet"], "weights and states") == [],
               f"training on {target}: a line with --quiet")

    result = run([arguments.batonc, path("large"), "-o", path("program"), "--quiet", QUICK, "--target=cuda:sm_80"],
                 check=False)
    if "NVRTC" in result.stderr and "was not found" in result.stderr:
        print(result.stderr.strip())
        sys.exit(77)
    expect(result.returncode == 0, result.stderr)
    grown = shown("program", path("large"))
    expect(len(grown) >= 2 and grown == sorted(set(grown)) and 10 < grown[0] < 60 and grown[-1] == 100,
           f"the line grows like {grown}")
    expect(shown("program", path("large"), "--quiet") == [], "a line with --quiet")
    expect(shown("program", path("large"), terminals=()) == [], "a line without a terminal")
    print(f"copied with a line that grows: {grown} %")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--driver", required=True, help="folder with libcuda.so.1")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
