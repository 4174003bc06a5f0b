"""Random requests come to a program of --max-batch and are cancelled, while it runs.

Each has a random length, prompts often begin alike, some have several continuations or scored
prompts; one process for each model has them all, on each number of workers (arrivals.cpp, linked in
the place of the runtime's main). There are runs with so few pages that texts are put off and
computed again. The logits of all rows that have any are, bit for bit, those of the program of one
sequence behind the same tokens, and requests have the same tokens in every run.

With --device the same on CUDA, emulated, with fewer requests; the program of one sequence is the CPU's.
"""

import argparse
import os
import zlib

import programs
from programs import Program, run

# As batches.py has them: the program is compiled once.
CAPACITIES = ["--max-batch=5", "--max-rows=24", "--kv-type=f32"]


def use_linker(arguments, path):
    """Has batonc link the driver into programs: before the runtime, whose main is left out then."""
    with open(path, "w") as file:
        file.write(f"""#!/bin/sh
case " $* " in *" -c "*) exec {arguments.compiler} "$@" ;; esac
exec {arguments.compiler} {arguments.driver} "$@"
""")
    os.chmod(path, 0o755)
    os.environ["BATON_CLANGXX"] = path


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    count, workers = (8, "1,3,2,8") if arguments.device else (30, "1,2,3,8")
    device = ["--batch-invariant", "--target=cuda:emulated"] if arguments.device else []
    use_linker(arguments, path("linker"))
    one = Program(arguments.batonc, arguments.folder, path("one"))
    many = Program(arguments.batonc, arguments.folder, path("many"), *CAPACITIES, *device)
    # Other requests for each model.
    seed = zlib.crc32(os.path.basename(arguments.folder).encode())
    for program in (many, one):
        print(run([program.path, arguments.folder, path("texts"), seed, count, workers]).stdout.strip())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--compiler", required=True, help="clang++")
    parser.add_argument("--driver", required=True, help="the object of arrivals.cpp")
    parser.add_argument("--device", action="store_true")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
