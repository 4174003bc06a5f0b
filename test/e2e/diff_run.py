"""diff-run finds the op, and the layer, where a run begins to go wrong.

Every tensor of a checkpoint in turn gets one wrong element: the phase that reads
it has to be the first that differs. Runs that compute the same differ nowhere.
"""

import argparse
import json
import os
import re
import shutil
import struct

import programs
from programs import expect

UNFUSED = "--disable-pass=attention-fusion,linear-grouping,norm-rewrites"


def with_wrong_element(folder, name, scratch):
    """A copy of the checkpoint with one element of a tensor doubled and one added."""
    copy = os.path.join(scratch, "wrong")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    path = os.path.join(copy, "model.safetensors")
    with open(path, "r+b") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        entry = json.loads(file.read(length))[name]
        expect(entry["dtype"] == "F32", "the case is not stored in F32")
        # The table's row of the first token.
        row = entry["shape"][-1] if len(entry["shape"]) == 2 and "embed" in name else 0
        file.seek(8 + length + entry["data_offsets"][0] + 4 * row)
        value = struct.unpack("<f", file.read(4))[0]
        file.seek(-4, os.SEEK_CUR)
        file.write(struct.pack("<f", 2 * value + 1))
    return copy


def tensors(folder):
    with open(os.path.join(folder, "model.safetensors"), "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        return [name for name in json.loads(file.read(length)) if name != "__metadata__"]


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    folder = arguments.folder
    program = programs.Program(arguments.batonc, folder, path("program"), UNFUSED)

    def dump(weights, name, *flags):
        shutil.rmtree(path(name), ignore_errors=True)
        program.weights = weights
        # Token 1 reads the table's row 1.
        program.logits([1, 5, 1, 7, 2], path("logits.npy"), "--dump", path(name), *flags)
        return path(name)

    def diff(*command):
        result = programs.run([arguments.diff_run, *command], check=False)
        return result.returncode, result.stdout + result.stderr

    right = dump(folder, "right")
    status, said = diff(right, dump(folder, "again"))
    expect(status == 0 and said.startswith("no difference in"), said)

    names = tensors(folder)
    for name in names:
        wrong = dump(with_wrong_element(folder, name, scratch), "wrong-dump")
        status, said = diff(right, wrong, "--json")
        expect(status == 1, f"{name}: {said}")
        first = json.loads(said)["first"]
        layer = re.search(r"layers\.(\d+)\.", name)
        module = re.sub(r"\.\d+\.", ".", name.removeprefix("model.").removesuffix(".weight"))
        module = module.removesuffix(".bias")
        expect(first["phase"] == module, f"{name}: the first difference is in {first}")
        expect(first["iteration"] == (int(layer[1]) if layer else 0), f"{name}: {first}")
    print(f"{len(names)} wrong tensors found where they are read")

    # What fusion changes is rounding, in the phases that both have; chunks of
    # the prompt change nothing.
    program = programs.Program(arguments.batonc, folder, path("fused"))
    fused = dump(folder, "fused-dump")
    status, said = diff(right, fused, "--tolerance", "1e-4")
    expect(status == 0, said)
    status, said = diff(fused, dump(folder, "chunks", "--prefill-chunk=2"))
    expect(status == 0, said)

    os.remove(os.path.join(right, os.listdir(right)[0]))
    for command, pattern in [
        ((right, path("nowhere")), "nowhere"),
        ((path("wrong"), right), "no index.json"),
        ((right, right, "--tolerance", "-1"), "--tolerance"),
        ((right, right, "--tolerances", "1"), "--tolerances"),
    ]:
        status, said = diff(*command)
        expect(status == 1 and said.startswith("error: ") and pattern in said
               and said.count("\n") == 1, f"{command}: {said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--diff-run", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))


if __name__ == "__main__":
    main()
