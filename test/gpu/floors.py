#!/usr/bin/env python3
"""What this GPU can do at most: the denominators of every fraction.

    floors.py read STREAM_READ.cubin [--gib 8] [--repeat 40]
    floors.py matmul [--windows 20]

`read`: bytes per second of kernels that read memory once (stream_read.cu), each
with several numbers of blocks, over so many GiB; the sum of what was read is
checked every time. `matmul`: BF16 operations per second of PyTorch's matrix
products, of random numbers, in windows of ten; one product of every shape is
checked against FP32. Each prints one JSON object: `best`, `median` (of the
fastest variant), every sample, and a verdict.
"""

import argparse
import ctypes
import json
import statistics
import sys

import driver

THREADS, STAGES, ELEMENT = 256, 16, 16
SHAPES = ((8192, 8192, 8192), (16384, 8192, 4096), (4096, 14336, 4096), (16384, 16384, 8192))
WINDOW = 10


def expected_sum(count):
    """Of what stream_fill writes to `count` elements, modulo 2^32."""
    words = count * 4
    return (0x9e3779b9 * (words * (words - 1) // 2) + 0x85ebca6b * words) % 2**32


def best_of(samples, rate):
    """The variant with the best median, its best and median rates; `samples` are
    seconds by variant."""
    variant = min(samples, key=lambda name: statistics.median(samples[name]))
    return {"variant": variant, "best": rate(variant, min(samples[variant])),
            "median": rate(variant, statistics.median(samples[variant])), "seconds": samples}


def read(arguments):
    gpu = driver.Gpu()
    module = gpu.load(arguments.cubin)
    multiprocessors = gpu.attribute(driver.MULTIPROCESSORS)
    count = min(int(arguments.gib * 2**30), gpu.free_bytes() * 3 // 4) // ELEMENT
    data, total = gpu.allocate(count * ELEMENT), gpu.allocate(4)
    size = ctypes.c_uint64(count)
    module.kernel("stream_fill").launch(multiprocessors * 8, THREADS, data, size)
    gpu.synchronize()
    samples, wrong = {}, []
    for name, per_multiprocessor, shared in (
            ("stream_read_load", (1, 2, 4, 8), 0),
            ("stream_read_async", (1, 2, 3), STAGES * THREADS * ELEMENT)):
        kernel = module.kernel(name)
        if shared:
            kernel.reserve_shared(shared)
        for factor in per_multiprocessor:
            variant = f"{name}, {factor} blocks per multiprocessor"
            launch = lambda: kernel.launch(multiprocessors * factor, THREADS, data, size, total,
                                           shared=shared)
            for repetition in range(arguments.repeat + 2):
                gpu.clear(total, 4)
                seconds = gpu.time(launch) / 1e3
                if int.from_bytes(gpu.read(total, 4), "little") != expected_sum(count):
                    wrong.append(variant)
                if repetition >= 2:
                    samples.setdefault(variant, []).append(seconds)
    result = best_of(samples, lambda _, seconds: count * ELEMENT / seconds)
    return {"unit": "bytes/s", "bytes": count * ELEMENT, **result,
            "verdict": "WRONG: " + ", ".join(sorted(set(wrong))) if wrong else "right"}


def matmul(arguments):
    import torch
    torch.manual_seed(1)
    samples, errors = {}, {}
    for m, n, k in SHAPES:
        a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
        b = torch.randn(k, n, device="cuda", dtype=torch.bfloat16)
        out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        variant = f"{m} x {k} x {n}"
        for window in range(arguments.windows + 2):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(WINDOW):
                torch.matmul(a, b, out=out)
            end.record()
            end.synchronize()
            if window >= 2:
                samples.setdefault(variant, []).append(start.elapsed_time(end) / 1e3 / WINDOW)
        exact = a[:64].float() @ b.float()
        errors[variant] = float((out[:64].float() - exact).norm() / exact.norm())
    operations = {f"{m} x {k} x {n}": 2 * m * n * k for m, n, k in SHAPES}
    result = best_of(samples, lambda variant, seconds: operations[variant] / seconds)
    return {"unit": "operations/s", "torch": torch.__version__, **result, "errors": errors,
            "verdict": "right" if max(errors.values()) < 1e-2 else "WRONG"}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("read")
    command.add_argument("cubin")
    command.add_argument("--gib", type=float, default=8)
    command.add_argument("--repeat", type=int, default=40)
    command.set_defaults(work=read)
    command = commands.add_parser("matmul")
    command.add_argument("--windows", type=int, default=20)
    command.set_defaults(work=matmul)
    arguments = parser.parse_args()
    try:
        print(json.dumps(arguments.work(arguments)))
    except (driver.DriverError, OSError, ImportError, RuntimeError) as error:
        sys.exit("error: " + (str(error).strip() or type(error).__name__).splitlines()[0])


if __name__ == "__main__":
    main()
