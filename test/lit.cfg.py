# How lit runs Baton's IR tests: every folder below test/ that holds .mlir or
# .test files. Tools come from the build tree, FileCheck and not from LLVM's.

import os

import lit.formats

config.name = "baton"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["golden", "inputs", "corpus"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.binary_root, "test")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.binary_root, "bin"), config.llvm_tools, os.environ["PATH"]]
)
for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "TMPDIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# Not the user's.
config.environment["BATON_CACHE_DIR"] = os.path.join(config.test_exec_root, "kernel-cache")

# BATON_TEST_ROUNDTRIP=1 makes every baton-opt of the suite print and parse
# again what it made, and compare.
opt = "baton-opt"
if os.environ.get("BATON_TEST_ROUNDTRIP"):
    opt += " --verify-roundtrip"
config.substitutions.append((r"\bbaton-opt\b", opt))
config.substitutions.append(("%golden", os.path.join(config.test_source_root, "golden")))
config.substitutions.append(("%optimizers",
                             os.path.join(config.source_root, "compiler", "optimizers")))
config.substitutions.append(("%examples", os.path.join(config.source_root, "models", "examples")))
config.substitutions.append(("%python", config.python))
