#!/usr/bin/env python3
"""Holds the logits of every checkpoint here, bit for bit, to those that one commit computed.

    bits.py --batonc BATONC --check [FOLDER...]
    bits.py --batonc BATONC --write [FOLDER...]

bits.json has a hash of the logits at all positions of each case's tokens, as programs computed them
that batonc made at the commit that it names. --check compiles cases, all unless folders are named, for
one sequence and as programs of many (--max-batch), and compares. --write is for a batonc of that
commit: it adds hashes, and changes none.

A program has the same bits on every CPU. But sine and cosine of rotary embeddings come from the C
library, and in batonc powers do, so hashes are kept by its version; with another one the check is
skipped (77). Measured 2026-11-27 with glibc 2.36: 262,144 sines and cosines of such angles and two
million powers, and all hashes, are the same without fused multiply-adds in that library
(GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-AVX2,-FMA4).
"""

import argparse
import ctypes
import glob
import hashlib
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import programs
from programs import USUAL, Failure, Program, expect

INPUTS = ["test/golden/bits.json", "test/e2e/programs.py"]
BITS = os.path.join(HERE, "bits.json")
# As test/e2e/batches.py has them: the program is compiled once. More rows than one chunk, and
# chunks that no page's size divides.
CAPACITIES = ["--max-batch=5", "--max-rows=24", "--kv-type=f32"]
CHUNKS = (24, 7)


def library():
    """The C library that programs link, which has sine, cosine and powers."""
    version = ctypes.CDLL(None).gnu_get_libc_version
    version.restype = ctypes.c_char_p
    return "glibc " + version().decode()


def name_of(folder):
    return os.path.basename(os.path.normpath(folder))


def hash_of(logits):
    """Of a .npy file's numbers."""
    begin = 10 + int.from_bytes(logits[8:10], "little")
    return hashlib.sha256(logits[begin:]).hexdigest()


def write(batonc, bits, folders, scratch):
    path = lambda name: os.path.join(scratch, name)
    hashes = bits["hashes"].setdefault(library(), {})
    for folder in folders:
        name = name_of(folder)
        try:
            program = Program(batonc, folder, path("program"), USUAL)
        except Failure as failure:
            print(f"{name}: not of that commit: {str(failure).splitlines()[-1]}")
            continue
        logits = hash_of(program.logits(programs.golden(folder)["tokens"], path("logits.npy")))
        expect(hashes.setdefault(name, logits) == logits,
               f"{name}: bits.json has other bits; is this batonc that of {bits['commit']}?")
        print(name, logits)
    with open(BITS, "w") as file:
        json.dump(bits, file, indent=1, sort_keys=True)
        file.write("\n")


def skip(reason):
    print(f"skipped: bits.json has no hashes for {reason}")
    sys.exit(77)


def check(batonc, bits, folders, scratch):
    hashes = bits["hashes"].get(library())
    if hashes is None:
        skip(f"{library()}, but for {', '.join(bits['hashes'])}")
    folders = [folder for folder in folders if name_of(folder) in hashes]
    if not folders:
        skip("a checkpoint that that commit did not have")
    path = lambda name: os.path.join(scratch, name)
    for folder in folders:
        name, tokens = name_of(folder), programs.golden(folder)["tokens"]
        one = Program(batonc, folder, path("one"))
        expect(hash_of(one.logits(tokens, path("logits.npy"))) == hashes[name],
               f"{name}: other logits than at {bits['commit']}")
        many = Program(batonc, folder, path("many"), *CAPACITIES)
        for chunk in CHUNKS:
            expect(hash_of(many.logits(tokens, path("logits.npy"), "--prefill-chunk", chunk)) == hashes[name],
                   f"{name}: of many sequences, in chunks of {chunk}, other logits than at {bits['commit']}")
        print(f"{name}: the bits of {bits['commit']} at {len(tokens)} positions, of one sequence and of many")


def test(arguments, scratch):
    with open(BITS) as file:
        bits = json.load(file)
    folders = arguments.folders or [os.path.dirname(file) for file in sorted(glob.glob(f"{HERE}/*/logits.npy"))]
    (write if arguments.write else check)(arguments.batonc, bits, folders, scratch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true")
    mode.add_argument("--write", action="store_true")
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
