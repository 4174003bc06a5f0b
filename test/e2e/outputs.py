"""An output that exists and is no plain file is refused, and stays what it is.

Outputs are renamed into place; that would replace a device such as /dev/null
for the whole machine. A pipe stands in for one here.
"""

import argparse
import os
import stat

import programs
from programs import expect, run


def test(arguments, scratch):
    pipe = os.path.join(scratch, "pipe")
    os.mkfifo(pipe)
    for stage in ("model", "event", "llvm", "object", "exe"):
        result = run([arguments.batonc, arguments.folder, f"--emit={stage}", "-o", pipe], check=False)
        lines = result.stderr.splitlines()
        expect(result.returncode == 1 and len(lines) == 1 and pipe in lines[0]
               and "not a plain file" in lines[0], f"--emit={stage} to a pipe: {result}")
        expect(stat.S_ISFIFO(os.lstat(pipe).st_mode), f"--emit={stage} replaced the pipe")
        expect(os.listdir(scratch) == ["pipe"], f"--emit={stage} left {os.listdir(scratch)}")
    print("every stage refuses a pipe")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
