"""One golden checkpoint, compiled and held against the reference and itself.

- every logit within 2e-4 of the largest, and 64 greedy tokens the same;
- the same bits with 1, 2, 3 and 8 workers, twice, for any --prefill-chunk;
- without attention-fusion, and without any optional pass, the model agrees;
  without hyper-fusion the bits are the same.
"""

import argparse
import json
import os

import programs
from programs import USUAL, Program, expect


def test(arguments, scratch):
    case = programs.golden(arguments.folder)
    tokens = case["tokens"]
    path = lambda name: os.path.join(scratch, name)

    fused = Program(arguments.batonc, arguments.folder, path("fused"))
    reference = fused.logits(tokens, path("logits.npy"), "--workers", 2)
    print(programs.check(path("logits.npy"), arguments.folder))

    greedy = case["greedy"]
    answer = fused.generate(greedy["prompt"], len(greedy["new_tokens"]))
    with open(path("greedy.json"), "w") as file:
        json.dump(answer, file)
    print(programs.check("--greedy", path("greedy.json"), arguments.folder))

    # More workers than cores take long to wait for one another.
    for workers, chunks in ((1, (1, 7, 64)), (2, (1, 7)), (3, (7,)), (8, (64,))):
        for chunk in chunks:
            bits = fused.logits(tokens, path("again.npy"), "--workers", workers,
                                "--prefill-chunk", chunk)
            expect(bits == reference,
                   f"{workers} workers, chunks of {chunk}: the logits' bits differ")
    for workers in (1, 2, 3):
        again = fused.generate(greedy["prompt"], len(greedy["new_tokens"]),
                               "--workers", workers, "--prefill-chunk", workers)
        expect(again["tokens"] == answer["tokens"],
               f"{workers} workers: the generated tokens differ")
    print("bits are the same for 1, 2, 3, 8 workers and chunks of 1, 7, 64")

    if not arguments.quick:
        usual = Program(arguments.batonc, arguments.folder, path("usual"), USUAL)
        expect(usual.logits(tokens, path("usual.npy")) == reference, "compiled as usual, it has other bits")

    # Event words count on across 2^32.
    bits = fused.logits(tokens, path("wrap.npy"), "--event-origin", 2**32 - 5)
    expect(bits == reference, "counting across 2^32 changes the logits")

    with open(os.path.join(arguments.folder, "config.json")) as file:
        config = json.load(file)
    for passes in ("attention-fusion", "attention-fusion,hyper-fusion,linear-grouping,norm-rewrites"):
        unfused = Program(arguments.batonc, arguments.folder, path("unfused"),
                          f"--disable-pass={passes}")
        unfused.logits(tokens, path("unfused.npy"), "--workers", 2)
        print(f"without {passes}:", programs.check(path("unfused.npy"), arguments.folder))
    if "hyper_connections" in config:
        apart = Program(arguments.batonc, arguments.folder, path("apart"),
                        "--disable-pass=hyper-fusion")
        bits = apart.logits(tokens, path("apart.npy"))
        expect(bits == reference, "hyper-fusion changes the logits' bits")
        print("without hyper-fusion: the same bits")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--quick", action="store_true", help="not compiled as usual, too")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
