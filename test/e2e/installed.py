"""An installation can be moved, and what it writes needs nothing of it.

Installed, moved, and used under its new name; the executable then runs with an
empty environment, from another folder, after the installation is gone, and asks
the system for its C library only.
"""

import argparse
import os
import re
import shutil

import programs
from programs import QUICK, expect, run

# For tools/test --changed: what is installed.
INPUTS = ["test/golden/check.py", "build/bin/batonc", "build/bin/baton-opt", "build/bin/diff-run"]

# The C library's parts and the program loader.
SYSTEM = re.compile(r"(lib(c|m|dl|pthread|rt)\.so\.\d+|ld-linux-x86-64\.so\.2)$")


def needed(executable):
    """Names of the shared libraries that an executable asks for."""
    text = run(["readelf", "--dynamic", "--wide", executable]).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", text)


def test(arguments, scratch):
    case = programs.golden(arguments.folder)
    path = lambda name: os.path.join(scratch, name)

    run([arguments.cmake, "--install", arguments.build, "--prefix", path("installed")])
    # Nothing may still be found where it was installed, or where it was built.
    os.rename(path("installed"), path("moved"))
    for folder, _, files in os.walk(path("moved")):
        for name in files:
            expect(not os.path.islink(os.path.join(folder, name)), f"{name} is a link")

    os.mkdir(path("work"))
    batonc = path("moved/bin/batonc")
    for tool in (batonc, path("moved/bin/baton-opt")):
        paths = run(["readelf", "--dynamic", "--wide", tool]).stdout
        expect(arguments.build not in paths, f"{tool} looks for libraries in the build tree")
    run([batonc, arguments.folder, "-o", "program", "--quiet"], cwd=path("work"))
    moved_opt = run([path("moved/bin/baton-opt"), "--version"])
    expect("LLVM" in moved_opt.stdout, "baton-opt does not start")

    for sanitizer in ("thread", "address"):
        run([batonc, arguments.folder, "-o", "program-" + sanitizer, "--quiet",
             f"--sanitize={sanitizer}", QUICK], cwd=path("work"))

    shutil.rmtree(path("moved"))
    libraries = needed(path("work/program"))
    others = [name for name in libraries if not SYSTEM.match(name)]
    expect(libraries and not others, f"the executable needs {others} besides {libraries}")

    os.mkdir(path("elsewhere"))
    tokens = ",".join(map(str, case["tokens"]))
    run([path("work/program"), "logits", "--weights", arguments.folder, "--tokens",
         tokens, "--out", "logits.npy", "--no-cache"], cwd=path("elsewhere"), env={})
    print(programs.check(path("elsewhere/logits.npy"), arguments.folder))
    print(f"needs {', '.join(libraries)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    arguments.folder = os.path.abspath(arguments.folder)
    programs.main(lambda scratch: test(arguments, scratch), own_cache=True)
