"""Task bodies of a schedule on ranks: one rank's losses in training, and its tokens in decoding.

Bodies whose tasks make rows of the same rows have some of the rows each along dp and fsdp,
and all of them along tp; a stage of pp has the bodies of its layers. Ranks along tp that
decode have a part of each row.
"""

import argparse
import json
import os

import programs
from programs import Program, expect, run
from training import write_tokens

MESHES = (["--mesh=dp=2"], ["--mesh=fsdp=2", "--zero=3"], ["--mesh=tp=2"],
          ["--mesh=pp=2", "--pipeline=1f1b", "--microbatches=2"])


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    write_tokens(path("tokens.u16"), ((7 * i * i + 3 * i) % 131 for i in range(2000)))

    def losses(name, flags, *batch):
        run([arguments.batonc, arguments.folder, "--mode=train", "--optimize=1", "--quiet",
             f"--schedule={arguments.schedule}", *flags, "-o", path(name)])
        out = run([path(name), "train", "--weights", arguments.folder, "--data", path("tokens.u16"),
                   "--steps", 3, "--out", path(f"{name}-run"), "--seq", 32, *batch,
                   "--validation-fraction", 0, "--quiet"]).stdout
        return [json.loads(line)["loss"] for line in out.splitlines() if '"step"' in line]

    expected = losses("one", [], "--batch", 4)
    expect(len(expected) == 3, f"one rank: {expected}")
    for number, flags in enumerate(MESHES):
        batch = ("--batch", 2, "--accumulate", 2) if "--microbatches=2" in flags else ("--batch", 4)
        found = losses(f"mesh{number}", flags, *batch)
        expect(len(found) == 3 and all(abs(a / b - 1) < 1e-5 for a, b in zip(found, expected, strict=True)),
               f"{' '.join(flags)}: losses {found}, one rank's {expected}")

    schedule = f"--schedule={arguments.decoding}"
    one, ranks = [Program(arguments.batonc, arguments.folder, path(name), schedule, *flags)
                  .generate([1, 2, 3], 12)["tokens"]
                  for name, flags in (("alone", ()), ("ranks", ("--mesh=tp=2",)))]
    expect(ranks == one, f"tokens of two ranks {ranks}, of one {one}")
    print(f"{len(MESHES)} meshes have one rank's losses, two ranks its tokens")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--schedule", required=True)
    parser.add_argument("--decoding", required=True, help="the schedule of programs that decode")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
