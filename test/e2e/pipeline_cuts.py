"""Stages of as many layers as --pipeline-cuts says, against one rank and the even cut.

In training, losses and gradients are one rank's to 1e-5; gradients of a step have the
same bits for every cut. Decoded logits have one rank's bits. Cuts that are none of the
model's layers are refused in one line.
"""

import argparse
import os
import re

import programs
from data_parallel import LENGTH, Trainer, compare
from programs import QUICK, expect, run
from training import read_bytes, write_tokens

MICROBATCHES, BATCH = 3, 2


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    write_tokens(path("tokens.u16"), ((7 * i * i + i // 5) % arguments.vocabulary
                                      for i in range(8 * MICROBATCHES * BATCH * (LENGTH + 1))))
    one = Trainer(arguments, scratch, "one")
    wanted = one.train(1, "--batch", BATCH, "--accumulate", MICROBATCHES)

    def layers(*flags):
        """Of each stage's stacks that run forward."""
        text = run([arguments.batonc, arguments.folder, "--mode=train", "--mesh=pp=2", "--emit=dist", "--quiet",
                    *flags]).stdout
        return [int(number) for number in re.findall(r"model\.stack [^\n]* repeat (\d+)(?! reverse)", text)
                if number]

    gradients = {}
    for cut, flags in (("even", []), ("2,1", ["--pipeline-cuts=2,1"]), ("1,2", ["--pipeline-cuts=1,2"])):
        for schedule in ("1f1b", "zb-h1"):
            many = Trainer(arguments, scratch, f"{cut}-{schedule}".replace(",", "-"), "--mesh=pp=2",
                           f"--pipeline={schedule}", f"--microbatches={MICROBATCHES}", *flags)
            found = many.train(1, "--batch", BATCH)
            compare(f"{cut}, {schedule}", wanted, found)
            gradients[cut, schedule] = read_bytes(found[1])
        if cut != "even":
            found, expected = layers(*flags), [int(number) for number in cut.split(",")]
            expect(found[0] == expected[0] and expected[1] in found, f"{cut}: stages have {found} layers")
    expect(len(set(gradients.values())) == 1, "gradients depend on the cut")

    def logits(name, *flags):
        run([arguments.batonc, arguments.folder, "--dtype=f32", QUICK, "--quiet", "-o", path(name), *flags])
        run([path(name), "logits", "--weights", arguments.folder, "--tokens", "5,99,1,42,7", "--out",
             path("logits.npy"), "--quiet"])
        return read_bytes(path("logits.npy"))

    alone = logits("decodes")
    for cut in ("2,1", "1,2"):
        expect(logits("stages", "--mesh=pp=2", f"--pipeline-cuts={cut}") == alone, f"{cut}: other logits")

    def refused(message, *flags):
        result = run([arguments.batonc, arguments.folder, "--mode=train", "--quiet", "-o", path("none"), *flags],
                     check=False)
        expect(result.returncode == 1 and len(result.stderr.splitlines()) == 1 and
               re.search(message, result.stderr), f"expected {message}: {result}")

    refused("cannot be cut into 2,2 layers: it has 3, and there are 2 positions", "--mesh=pp=2",
            "--pipeline-cuts=2,2")
    refused("cannot be cut into 1,1,1 layers: it has 3, and there are 2 positions", "--mesh=pp=2",
            "--pipeline-cuts=1,1,1")
    refused("--pipeline-cuts: a stage of 0 layers, expected at least 1", "--mesh=pp=2", "--pipeline-cuts=3,0")
    refused("--pipeline-cuts: there is one stage; --mesh=pp=N makes several", "--pipeline-cuts=2,1")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--vocabulary", type=int, default=131)
    parser.add_argument("folder", help="of three layers")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
