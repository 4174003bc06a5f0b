"""CUDA programs of --max-batch with tuned bodies, emulated: a text does not depend on what shares its steps.

Bodies on tensor cores round inputs to BF16, so that logits are near the CPU's and not equal. Of a text they are
the same bits in steps of one row, of few, and of more than the kernel for few rows takes; and results of
requests are those of each request alone, for other workers, chunks and schedules of the emulation.

With --quantised the model is a GGUF file, whose layers differ in their formats and some of whose tensors are not
quantised.
"""

import argparse
import array
import math
import os
import random
import struct

import gguf_writer
import programs
import quantised
from batches import Batch, make_requests
from programs import Program, expect

SEQUENCES, ROWS = 5, 40
# Of the kernel for few rows, in compiler/targets/cuda.json.
FEW = 16


def check_alone(program, requests, path):
    """Results of requests together are those of each alone, where no step has another text's rows."""
    together, summary = Batch(program, requests, path).run()
    for flags, seed in ((("--workers", 3, "--prefill-chunk", 5), "9"), (("--prompt-lookup", 0), "4")):
        again, _ = Batch(program, requests, path).run(*flags, environment=dict(os.environ, BATON_EMULATION_SEED=seed))
        expect(again == together, f"{flags}: other results")
    for request, result in zip(requests, together):
        (own,), _ = Batch(program, [request], path).run()
        expect(own == result, f"{request}: alone {own}, together {result}")
    print(f"{len(requests)} requests in {summary['steps']} steps: the results of each alone")


def check(arguments, model, flags, path):
    tokens = arguments.case["tokens"][:ROWS]
    host = Program(arguments.batonc, model, path("host"), *flags)
    exact = host.logits(tokens, path("logits.npy"))
    for architecture in arguments.architecture:
        program = Program(arguments.batonc, model, path("program"), f"--max-batch={SEQUENCES}", f"--max-rows={ROWS}",
                          f"--target=cuda:emulated-{architecture}", *flags)
        expected = program.logits(tokens, path("logits.npy"), "--prefill-chunk", 1)
        for chunk in (FEW, FEW + 1, ROWS):
            expect(program.logits(tokens, path("logits.npy"), "--prefill-chunk", chunk) == expected,
                   f"{architecture} {flags}: logits in chunks of {chunk} are not those of single rows")
        begin = 10 + struct.unpack("<H", exact[8:10])[0]
        one, other = (array.array("f", data[begin:]) for data in (exact, expected))
        off = math.dist(one, other) / math.hypot(*one)
        print(f"{architecture} {flags}: logits are off by {off:.1e} of their norm")
        expect(expected != exact, "no body on tensor cores: the bits are the CPU's")
        # What is rounded to bytes a little later may become another byte.
        expect(off < (0.05 if arguments.quantised == "int8" else 0.02), f"logits are off by {off} of their norm")
    if not arguments.logits:
        check_alone(program, make_requests(arguments.case, 3, random.Random(5)), path)


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    arguments.case = programs.golden(arguments.folder)
    if not arguments.quantised:
        check(arguments, arguments.folder, ["--dtype=bf16"], path)
        return
    model = path("model.gguf")
    vocabulary = 1 + max(arguments.case["tokens"])
    gguf_writer.llama(model, quantised.mixed, vocabulary=vocabulary, positions=256)
    check(arguments, model, [f"--activations={arguments.quantised}"], path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--quantised", choices=["f32", "int8"], help="inputs, as --activations of batonc")
    parser.add_argument("--logits", action="store_true", help="no requests, which take long")
    parser.add_argument("--architecture", nargs="+", default=["sm_80", "sm_90a"])
    parser.add_argument("--folder", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
