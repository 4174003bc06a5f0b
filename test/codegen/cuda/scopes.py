"""Which memory orders and scopes PTX has where a worker waits, notifies and asks, and
that a wait for copies is bounded.

Kernels that each call one member of kernel.h's worker are compiled to PTX by NVRTC; no
GPU is needed. Then faults are planted in copies of the headers, and each has to be
found. Exits with 77 where there is no NVRTC.
"""

import argparse
import ctypes
import glob
import os
import re
import sys
import tempfile

# For tools/test --changed.
INPUTS = ["codegen/cuda/library/*", "runtime/*.h", "runtime/cuda/*.h", "runtime/cuda/emulation/*.h"]

LIBRARY = os.path.join("codegen", "cuda", "library")
SOURCE = """#include "codegen/cuda/library/async.h"
#include "codegen/cuda/library/kernel.h"
#define KERNEL(name, ...)                                                      \\
  extern "C" __global__ void name(BatonDevice *device, int64_t *seen,          \\
                                  const BatonDeviceStep step) {                \\
    BatonWorkerState worker(device, 9, nullptr, nullptr);                      \\
    __VA_ARGS__;                                                               \\
  }
KERNEL(notify, worker.notify<BatonScope::device>(3))
KERNEL(await, const BatonBox<0> box = {5}; worker.wait<BatonScope::device>(box, 2);
       if (worker.ready()) ++*seen)
KERNEL(notify_outside, worker.notify<BatonScope::system>(3))
KERNEL(await_outside, const BatonBox<0> box = {5}; worker.wait<BatonScope::system>(box, 2);
       if (worker.ready()) ++*seen)
KERNEL(border, if (worker.border(7)) ++*seen)
KERNEL(ask, worker.end_phase())
KERNEL(copies, BATON_DYNAMIC_SHARED(shared);
       baton_barrier_wait(reinterpret_cast<uint64_t *>(shared), step.rows))
KERNEL(generate, worker.advance(step, worker.parameter<float>(0), 4))
"""
BARRIER = r"bar(rier)?\.(cta\.)?sync"
VOTE = r"bar(rier)?\.(cta\.)?red\.(popc|or)"
# A function of the kernels, at either scope; its name in PTX begins with that of the
# file.
CALLED = "baton_poll_slowlyIL10BatonScope0E"
CALLED_OUTSIDE = "baton_poll_slowlyIL10BatonScope1E"
# Of each kernel, and of the loop of a wait that takes long: what follows on what.
ORDERS = {
    "notify": [BARRIER, r"red\.release\.gpu\.global\.add\.u32"],
    "await": [r"ld\.acquire\.gpu\.global\.u32", r"baton_poll_slowly", VOTE],
    "notify_outside": [BARRIER, r"red\.release\.sys\.global\.add\.u32"],
    "await_outside": [r"ld\.acquire\.sys\.global\.u32", r"baton_poll_slowly", VOTE],
    "border": [BARRIER, r"red\.release\.gpu\.global\.add\.u32", r"ld\.acquire\.gpu\.global\.u32",
               VOTE],
    "ask": [BARRIER, r"st\.relaxed\.gpu\.global\.u32", r"st\.release\.sys\.global\.u32",
            r"ld\.acquire\.sys\.global\.u32", r"st\.relaxed\.gpu\.global\.u32", BARRIER],
    "generate": [r"ld\.acquire\.sys\.global\.u32", VOTE, r"st\.release\.sys\.global\.u32",
                 r"st\.release\.sys\.global\.u32", r"st\.release\.sys\.global\.u32"],
    "copies": [r"mbarrier\.try_wait", r"%globaltimer", r"mbarrier\.try_wait", r"%globaltimer", r"\b1000000000[01]\b",
               r"\btrap;"],
    CALLED: [r"ld\.acquire\.gpu\.global\.u32", r"ld\.relaxed\.gpu\.global\.u32", r"%globaltimer",
                          r"st\.release\.sys\.global\.u32"],
    CALLED_OUTSIDE: [r"ld\.acquire\.sys\.global\.u32", r"ld\.relaxed\.gpu\.global\.u32", r"%globaltimer",
                     r"st\.release\.sys\.global\.u32"],
}
# No scope is narrower than the GPU's: workers are blocks of one.
NARROW = r"\b(ld|st|red|atom|fence)\.(\w+\.)*cta\b"
PLANTED = [
    ("device.h", "red.release.gpu", "red.relaxed.gpu"),
    ("device.h", "red.release.gpu", "red.release.cta"),
    ("device.h", "ld.acquire.gpu.global", "ld.relaxed.gpu.global"),
    ("device.h", "ld.acquire.gpu.global", "ld.acquire.cta.global"),
    ("device.h", "ld.relaxed.gpu.global", "ld.relaxed.cta.global"),
    ("device.h", "red.release.sys", "red.relaxed.sys"),
    ("device.h", "red.release.sys", "red.release.gpu"),
    ("device.h", "ld.acquire.sys", "ld.relaxed.sys"),
    ("device.h", "ld.acquire.sys", "ld.acquire.gpu"),
    ("device.h", "st.release.sys", "st.relaxed.sys"),
    ("device.h", "st.release.sys", "st.release.gpu"),
    ("async.h", "> most_nanoseconds", "> 0"),
    ("async.h", "asm volatile(\"trap;\")", ""),
    ("kernel.h", "    return baton_load_acquire(word);", "    return baton_load_relaxed(word);"),
    ("kernel.h", "    return baton_load_acquire_system(word);", "    return baton_load_acquire(word);"),
    ("kernel.h", "  __device__ __forceinline__ void notify(int64_t word, uint32_t tasks = 1) {\n    __syncthreads();\n",
     "  __device__ __forceinline__ void notify(int64_t word, uint32_t tasks = 1) {\n"),
    ("kernel.h", "threadIdx.x == 0 && Scope == BatonScope::system", "threadIdx.x == 0 && false"),
    ("kernel.h", "while (baton_load_acquire_system(&exchange->answered) != number)",
     "while (baton_load_relaxed(&exchange->answered) != number)"),
]


def nvrtc(folders):
    for folder in folders:
        for name in sorted(glob.glob(os.path.join(folder, "libnvrtc.so.1[2-9]")), reverse=True):
            return ctypes.CDLL(name)
    print("no NVRTC in " + ", ".join(folders))
    sys.exit(77)


def compiled(library, *includes):
    """The PTX of SOURCE, or what NVRTC says against it."""
    program = ctypes.c_void_p()
    options = [b"--gpu-architecture=compute_90", b"--std=c++17",
               *(f"--include-path={folder}".encode() for folder in includes)]

    def text(kind):
        size = ctypes.c_size_t()
        getattr(library, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
        found = ctypes.create_string_buffer(size.value)
        getattr(library, f"nvrtcGet{kind}")(program, found)
        return found.value.decode()

    # An absolute name, or headers are looked for in the working directory first.
    assert library.nvrtcCreateProgram(ctypes.byref(program), SOURCE.encode(), b"/scopes.cu", 0, None, None) == 0
    if library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)):
        sys.exit(f"FAILED: {text('ProgramLog')}")
    ptx = text("PTX")
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx


def faults(ptx):
    """What is not as it has to be, one line each."""
    functions = {}
    # A function's name is followed by its parameters and, behind declarations only, by
    # a semicolon. Some of its assembly has braces of its own.
    for match in re.finditer(r"^(?:\.visible )?\.(?:entry|func)\b[^{;]*?(\w+)\(\n[^{;]*\{\n(.*?)^\}\n(?!\s*// end inline)", ptx,
                             re.MULTILINE | re.DOTALL):
        functions[match[1]] = match[2]
    for name, order in ORDERS.items():
        body = next((text for function, text in functions.items()
                     if function == name or name in (CALLED, CALLED_OUTSIDE) and name in function), None)
        if body is None:
            yield f"there is no {name}"
            continue
        at = 0
        for pattern in order:
            found = re.compile(pattern).search(body, at)
            if not found:
                yield f"{name} has no {pattern} where it should be"
                break
            at = found.end()
    for narrow in re.finditer(NARROW, ptx):
        yield f"a scope narrower than the GPU's: {narrow[0]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True)
    parser.add_argument("--toolkit", action="append", default=[], help="a folder with libnvrtc.so.*")
    arguments = parser.parse_args()
    library = nvrtc(arguments.toolkit)
    ptx = compiled(library, arguments.source)
    if found := list(faults(ptx)):
        sys.exit("FAILED: " + "; ".join(found) + "\n" + ptx)
    for header, text, instead in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(arguments.source, LIBRARY, header)) as file:
                right = file.read()
            if text not in right:
                sys.exit(f"FAILED: {header} has no '{text.strip()}' to plant a fault in")
            os.makedirs(os.path.join(folder, LIBRARY))
            with open(os.path.join(folder, LIBRARY, header), "w") as file:
                file.write(right.replace(text, instead))
            if not list(faults(compiled(library, folder, arguments.source))):
                sys.exit(f"FAILED: '{instead.strip()}' instead of '{text.strip()}' in {header} is not found")


main()
