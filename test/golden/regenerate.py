#!/usr/bin/env python3
"""Rewrites every golden file in this folder with the reference libraries.

    python3 test/golden/regenerate.py --regenerate

creates a virtual environment in test/golden/.venv, installs requirements.txt
into it, and runs checkpoints.py, gradients.py, adapters.py, preferences.py, distillation.py and
tokenizers_golden.py there. Building and testing the project needs neither this script nor its requirements.
"""

import argparse
import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent


def environment() -> Path:
    """The virtual environment's interpreter, created on first use."""
    folder = Path(os.environ.get("BATON_GOLDEN_VENV", HERE / ".venv"))
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "-r", HERE / "requirements.txt"],
            check=True,
        )
    return python


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--regenerate",
        action="store_true",
        help="really overwrite the golden files (nothing happens without it)",
    )
    parser.add_argument(
        "--only",
        metavar="CASE",
        action="append",
        default=[],
        help="rewrite this checkpoint only (repeatable); tokenizers are then left alone",
    )
    arguments = parser.parse_args()
    if not arguments.regenerate:
        parser.print_help()
        return 1
    python = environment()
    # The tokenizers come first: two of the checkpoints carry one.
    if not arguments.only:
        subprocess.run([python, HERE / "tokenizers_golden.py"], check=True)
    subprocess.run([python, HERE / "checkpoints.py", *arguments.only], check=True)
    subprocess.run([python, HERE / "gradients.py", *arguments.only], check=True)
    subprocess.run([python, HERE / "adapters.py", *arguments.only], check=True)
    subprocess.run([python, HERE / "preferences.py", *arguments.only], check=True)
    subprocess.run([python, HERE / "distillation.py", *arguments.only], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
