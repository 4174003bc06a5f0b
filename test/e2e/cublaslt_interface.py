"""What runtime/cuda/cublaslt.h declares is what an installed cuBLASLt has: its header's
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
INPUTS = ["runtime/cuda/cublaslt.*"]

CHECKS = """
#include "runtime/cuda/cublaslt.h"
#include <cublasLt.h>
#include <cstddef>
#include <type_traits>
using L = baton::CublasLtLibrary;
using H = cublasLtMatmulHeuristicResult_t;
static_assert(L::not_supported == CUBLAS_STATUS_NOT_SUPPORTED);
static_assert(L::float32 == CUDA_R_32F && L::bfloat16 == CUDA_R_16BF);
static_assert(L::compute_float32 == CUBLAS_COMPUTE_32F);
static_assert(L::preference_workspace_bytes == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(L::preference_reduction_schemes == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
static_assert(L::reduction_in_compute_type == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
static_assert(sizeof(L::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(L::Heuristic) == sizeof(H));
static_assert(offsetof(L::Heuristic, workspace_bytes) == offsetof(H, workspaceSize));
static_assert(offsetof(L::Heuristic, state) == offsetof(H, state));
static_assert(offsetof(L::Heuristic, waves) == offsetof(H, wavesCount));
template <typename... A> constexpr int count(cublasStatus_t (*)(A...)) { return sizeof...(A); }
template <typename... A> constexpr int count(int (*)(A...)) { return sizeof...(A); }
static_assert(count(cublasLtMatmul) == count(decltype(L::multiply){}));
static_assert(count(cublasLtMatmulAlgoGetHeuristic) == count(decltype(L::heuristic){}));
static_assert(count(cublasLtMatrixLayoutCreate) == count(decltype(L::layout_create){}));
static_assert(count(cublasLtMatmulDescCreate) == count(decltype(L::description_create){}));
static_assert(count(cublasLtMatmulPreferenceSetAttribute) == count(decltype(L::preference_set){}));
"""

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--compiler", required=True)
parser.add_argument("--source", required=True)
arguments = parser.parse_args()
toolkits = [os.environ[name] for name in ("CUDA_PATH", "CUDA_HOME") if name in os.environ] + ["/usr/local/cuda"]
header = next((toolkit for toolkit in toolkits if os.path.exists(f"{toolkit}/include/cublasLt.h")), None)
library = next((f"{toolkit}/lib64/libcublasLt.so.{version}" for toolkit in toolkits for version in (13, 12)
                if os.path.exists(f"{toolkit}/lib64/libcublasLt.so.{version}")), None)
if not header and not library:
    print("no cuBLASLt is installed")
    sys.exit(77)
if header:
    compiled = subprocess.run([arguments.compiler, "-std=c++20", "-fsyntax-only", "-w", "-x", "c++", "-",
                               f"-I{arguments.source}", f"-I{header}/include"], input=CHECKS, text=True,
                              capture_output=True)
    if compiled.returncode:
        sys.exit(f"{header}/include/cublasLt.h differs:\n{compiled.stderr}")
    print(f"{header}/include/cublasLt.h: the same values and structures")
if library:
    with open(f"{arguments.source}/runtime/cuda/cublaslt.cpp") as file:
        names = re.findall(r'resolve\("(\w+)"', file.read())
    functions = ctypes.CDLL(library)
    missing = [name for name in names if not hasattr(functions, name)]
    if missing or len(names) < 9:
        sys.exit(f"{library} lacks {missing} of {names}")
    print(f"{library}: has {len(names)} functions")
