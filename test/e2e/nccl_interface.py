"""What runtime/comm/nccl_library.h declares is what an installed NCCL has: its header's
values and structures, and the library's functions by their names.

Skipped (77) where neither is found, in CUDA_PATH or /usr/local/cuda.
"""

import argparse
import ctypes
import os
import re
import subprocess
import sys

# For tools/test --changed.
INPUTS = ["runtime/comm/nccl*", "runtime/error.h"]

CHECKS = """
#include "runtime/comm/nccl_library.h"
#include <nccl.h>
#include <cstddef>
#include <type_traits>
using L = baton::NcclLibrary;
static_assert(L::success == ncclSuccess && L::in_progress == ncclInProgress);
static_assert(L::uint8 == ncclUint8);
static_assert(L::undefined == NCCL_CONFIG_UNDEF_INT);
static_assert(sizeof(L::UniqueId) == sizeof(ncclUniqueId));
static_assert(sizeof(L::Config) <= sizeof(ncclConfig_t));
static_assert(offsetof(L::Config, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(L::Config, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(L::Config, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(L::Config, cluster_size) == offsetof(ncclConfig_t, cgaClusterSize));
static_assert(offsetof(L::Config, least_blocks) == offsetof(ncclConfig_t, minCTAs));
static_assert(offsetof(L::Config, most_blocks) == offsetof(ncclConfig_t, maxCTAs));
static_assert(offsetof(L::Config, network) == offsetof(ncclConfig_t, netName));
constexpr ncclConfig_t usual = NCCL_CONFIG_INITIALIZER;
static_assert(L::config_magic == usual.magic && L::config_version <= usual.version);
static_assert(L::config_version == NCCL_VERSION(2, 17, 0) && L::least_version == NCCL_VERSION(2, 18, 0));
static_assert(NCCL_VERSION_CODE >= L::least_version);
template <typename... A> constexpr int count(ncclResult_t (*)(A...)) { return sizeof...(A); }
template <typename... A> constexpr int count(int (*)(A...)) { return sizeof...(A); }
static_assert(count(ncclGetVersion) == count(decltype(L::get_version){}));
static_assert(count(ncclGetUniqueId) == count(decltype(L::get_unique_id){}));
static_assert(count(ncclCommInitRankConfig) == count(decltype(L::init){}));
static_assert(count(ncclCommGetAsyncError) == count(decltype(L::async_error){}));
static_assert(count(ncclSend) == count(decltype(L::send){}));
static_assert(count(ncclRecv) == count(decltype(L::receive){}));
static_assert(count(ncclAllGather) == count(decltype(L::all_gather){}));
"""

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--compiler", required=True)
parser.add_argument("--source", required=True)
arguments = parser.parse_args()
toolkits = [os.environ[name] for name in ("CUDA_PATH", "CUDA_HOME") if name in os.environ] + ["/usr/local/cuda"]
header = next((toolkit for toolkit in toolkits if os.path.exists(f"{toolkit}/include/nccl.h")), None)
library = next((f"{toolkit}/lib64/libnccl.so.2" for toolkit in toolkits
                if os.path.exists(f"{toolkit}/lib64/libnccl.so.2")), None)
if not header and not library:
    print("no NCCL is installed")
    sys.exit(77)
if header:
    compiled = subprocess.run([arguments.compiler, "-std=c++20", "-fsyntax-only", "-w", "-x", "c++", "-",
                               f"-I{arguments.source}", f"-I{header}/include"], input=CHECKS, text=True,
                              capture_output=True)
    if compiled.returncode:
        sys.exit(f"{header}/include/nccl.h differs:\n{compiled.stderr}")
    print(f"{header}/include/nccl.h: the same values and structures")
if library:
    with open(f"{arguments.source}/runtime/comm/nccl_library.cpp") as file:
        names = re.findall(r'resolve\("(\w+)"', file.read())
    functions = ctypes.CDLL(library)
    missing = [name for name in names if not hasattr(functions, name)]
    if missing or len(names) < 12:
        sys.exit(f"{library} lacks {missing} of {names}")
    version = ctypes.c_int()
    if functions.ncclGetVersion(ctypes.byref(version)) or version.value < 21800:
        sys.exit(f"{library} is of version {version.value}")
    print(f"{library}, {version.value}: has {len(names)} functions")
