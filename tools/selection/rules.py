"""What the build's graph cannot tell: what of the compiler shows in plans, which part
of the runtime only some programs run, and which tests see nothing of batonc but the
programs that it writes. What is not here reaches everything that the graph says."""

import fnmatch
import json
import os
import re

# A plan says all that code generation reads (compiler/targets/cpu/ObjectKey.cpp keeps objects under
# plans): what these sources do to a program shows in one.
SHOWN_IN_PLANS = (
    "passes/*", "models/*", "dialects/Model/*", "dialects/Dist/*", "dialects/Update/*",
    "compiler/schedule/*", "compiler/optimizers/*", "compiler/targets/*.json", "compiler/Pipeline.*",
    "compiler/TargetDescription.*")
# A plan calls the bodies that it needs by their names.
BODIES = "codegen/cpu/library/*.cpp"
BODY = re.compile(r"\bbaton_task_(\w+)")

# What only programs with a feature run, below. Costs.cpp is not explain's alone:
# executables carry what it counts.
ONLY_WITH = (
    ("compiler/explain/Costs.*", None),
    ("compiler/explain/*", "explain"),
    ("tools/batonc/explain.*", "explain"),
    ("compiler/tuning/*", "tune"),
    ("tools/batonc/tune.*", "tune"),
    ("compiler/comparison/*", "compare"),
    ("tools/batonc/compare.*", "compare"),
    ("tools/quantize/*", "quantize"),
    ("tools/plan/page.*", None),
    ("tools/plan/*", "plan"),
    ("tools/health/*", "health"), ("runtime/health/*", "health"), ("runtime/main/rank_health.*", "health"),
    ("tools/calibrate/*", "sweep"),
    ("tools/prune/*", "prune"),
    ("codegen/cuda/*", "cuda"),
    ("runtime/cuda/*", "cuda"),
    # Whoever writes safetensors files.
    ("runtime/train/safetensors_writer.*", None), ("runtime/train/checked_file.*", None),
    ("runtime/train/*", "train"),
    ("runtime/tokenizer/*", "text"),
    ("runtime/trace/*", "trace"),
    ("runtime/main/run_trace.*", "trace"),
    ("runtime/main/train_command.*", "train"), ("runtime/main/trainer.*", "train"),
    ("runtime/main/training_*", "train"), ("runtime/main/validation.*", "train"),
    ("runtime/main/non_finite.*", "train"), ("runtime/main/run_settings.*", "train"),
    ("runtime/main/generate_command.*", "generate"),
    ("runtime/decode/sampler.*", "generate"), ("runtime/decode/output_queue.*", "generate"),
    ("runtime/main/logits_command.*", "logits"), ("runtime/decode/scoring.*", "logits"),
    ("runtime/main/calibrate_command.*", "calibrate"), ("runtime/execute/input_squares.*", "calibrate"),
    ("runtime/execute/input_moments.*", "prune"),
    ("runtime/main/bench_command.*", "bench"), ("runtime/execute/machine_speed.*", "bench"),
    ("runtime/main/info_command.*", "info"),
    ("runtime/batch/*", "batch"), ("runtime/main/batch_*", "batch"),
    # What one program serves stands for all.
    ("runtime/serve/*", "serve"), ("runtime/chat/*", "serve"), ("runtime/grammar/*", "serve"),
    ("runtime/jinja/*", "serve"), ("runtime/main/serve_command.*", "serve"),
    ("runtime/main/memory_check.*", "touches"), ("runtime/execute/task_touches.*", "touches"),
    ("runtime/execute/value_dump.*", "dump"),
)
# What batonc links into programs: a test that runs none does not see it, but where a tool or
# a unit test is made of it. Bodies it prints, too (--emit=llvm).
IN_PROGRAMS = ("runtime/*", BODIES)
WRITES_NO_PROGRAMS = ("test/tools/check-plan/plans.py", "test/golden/quantized.py")
# Scripts that are about other scripts see the commands of programs, which are these sources;
# what runs behind them other tests judge.
SEE_COMMANDS = ("bench_scripts.py", "gpu_scripts.py", "python_*.py")
COMMANDS_OF_PROGRAMS = ("runtime/main/*",)
# Tests that differ in their model alone stand for one another where these change: their code
# does not ask which model it is, and unit tests know its cases. Weights and text differ from
# model to model. Of bodies, whose cases models have, every model is judged against PyTorch.
MODELS_ALIKE = ("runtime/comm/*", "runtime/cuda/*", "runtime/decode/*", "runtime/execute/*", "runtime/main/*",
                "runtime/trace/*", "runtime/train/*", BODIES)
AGAINST_PYTORCH = ("decode.py", "train_gradients.py")
ONE_MODEL = "llama-gqa"

# Of the tests of whole programs that a file reaches by the programs alone, those that judge
# what it does. The others are about something else, for which they run programs; whatever
# the file does for them it does for these.
DECODING = ("e2e.decode.*", "e2e.generate", "e2e.diff_run", "e2e.trace", "e2e.soak", "e2e.demo", "e2e.debugging",
            "e2e.endings.*", "e2e.sanitize.*", "e2e.decode_ranks.llama-gqa", "e2e.cuda.llama-gqa", "e2e.cuda_stop",
            "e2e.arrivals.llama-gqa", "e2e.batch_memory", "e2e.batches.llama-gqa", "e2e.batches.address", "e2e.batches.thread",
            "e2e.score.llama*", "e2e.compare")
TRAINING = ("e2e.train", "e2e.health", "e2e.train_data*", "e2e.train_endings.*", "e2e.train_gradients.*", "e2e.train_progress",
            "e2e.train_text", "e2e.train_16bit.*", "e2e.train_f64.gpt2-small", "e2e.train_ranks.*",
            "e2e.train_sanitize*", "e2e.train_transformers", "e2e.mesh_parallel.*", "e2e.pipeline_parallel.llama-gqa",
            "e2e.zero.gpt2-small", "e2e.demo", "e2e.touched_memory", "e2e.cuda_train.bf16")
RANKS = ("e2e.train_ranks.*", "e2e.health", "e2e.decode_ranks.*", "e2e.expert_ranks.same", "e2e.data_parallel.*", "e2e.zero.*",
         "e2e.gathered_layers", "e2e.hybrid_sharding", "e2e.pipeline_parallel.*", "e2e.mesh_parallel.*", "e2e.tensor_parallel.llama-gqa",
         "e2e.cuda_ranks.*", "e2e.nccl_*")
DEVICE = ("e2e.cuda.*", "e2e.cuda_graph*", "e2e.cuda_stop", "e2e.cuda_progress", "e2e.cuda_driver_faults",
          "e2e.cuda_ranks.*", "e2e.cuda_train.*", "e2e.cuda_sanitize*", "e2e.cublaslt*", "e2e.nccl_*", "e2e.attention_split.*",
          "e2e.arrivals.cuda.*", "e2e.batches.cuda.*", "e2e.score.cuda")
SCRIPTS_OF_COMMANDS = ("e2e.bench_scripts", "e2e.gpu_scripts*", "e2e.python_program")
OF_BODIES = ("e2e.decode.*", "e2e.train_gradients.*", "e2e.train_f64.*", "e2e.train_16bit.*", "e2e.train_optimizers.*",
             "e2e.arrivals.*", "e2e.attention_split.*", "e2e.batches.*", "e2e.bits.*", "e2e.bottleneck_parallel*", "e2e.deferred_norms", "e2e.exported.*", "e2e.head_bias.*", "e2e.hyper",
             "e2e.loss_parts.*", "e2e.recompute.*", "e2e.rounded_inputs.*", "e2e.schedules", "e2e.score.*",
             "e2e.tensor_parallel.llama-gqa",
             "e2e.sanitize.*", "e2e.touched_memory", "e2e.planted.*", "e2e.cuda.llama-gqa", "e2e.cuda.gpt2-bf16",
             "e2e.cuda.llama-hyper-sinkhorn", "e2e.cuda_train.bf16", "e2e.cuda_train.llama-hyper-sinkhorn")
JUDGES = (
    ("runtime/comm/*", RANKS),
    ("runtime/cuda/*", DEVICE),
    ("runtime/decode/*", DECODING),
    ("runtime/execute/value_dump.*", DECODING),
    ("runtime/execute/*", (*DECODING, *TRAINING)),
    ("runtime/main/*", (*DECODING, *TRAINING, *SCRIPTS_OF_COMMANDS, "e2e.cuda_driver_faults", "e2e.cuda_ranks.faults")),
    ("runtime/trace/*", ("e2e.trace", "e2e.perfetto", "e2e.demo", "e2e.explain*", "e2e.train_ranks.trace",
                         "e2e.train_gradients.*", "e2e.train_endings.*", "e2e.endings.*", "e2e.gathered_layers",
                         "e2e.cuda.llama-gqa", "e2e.cuda_train.*", "e2e.debugging")),
    ("runtime/train/rank_times.*", ("e2e.health",)),
    ("runtime/train/*", TRAINING),
    (BODIES, OF_BODIES),
)
JUDGED = ("e2e.*", "fuzz.accepted.*")
# What these link of the runtime beside the emulation and the sampler they do not call.
NOT_ABOUT = {
    test: ("runtime/comm/*", "runtime/execute/*", "runtime/main/*", "runtime/trace/*", "runtime/train/*")
    for test in ("unit.CudaLibraryTest", "unit.CudaLibraryOracleTest", "CudaLibraryOracle.relocated")}
# These pack the first of them, which judges bodies by itself.
NOT_ABOUT |= {test: (BODIES,) for test in ("e2e.gpu_scripts", "e2e.gpu_scripts.brief", "gpu.host_side")}

# What a test does, by the words of its command and its scripts (comments aside): rather
# too much than too little.
FEATURES = {
    "decode": r"\b(logits|generate|bench|info|Program|decode\w*|scoring)\b",
    "train": r"\btrain|\bTrainer\b|gradients",
    "cuda": r"cuda|emulat|nccl|cublas",
    "ranks": r"\bmesh|\branks|\b(dp|fsdp|tp|tq|ep|pp)=|mpirun|MPI",
    "tensor": r"\b(tp|tq)=|tensor.parallel",
    "stages": r"\bpp=|pipeline|stages",
    "zero": r"zero",
    "unfused": r"disable-pass|unfused",
    "f64": r"f64", "bf16": r"bf16", "f16": r"\bf16",
    "lion": r"lion", "muon": r"muon", "sgd": r"sgd",
    "recompute": r"recompute",
    "routers": r"--routers\b|router-(aux|z)-loss",
    "gathered": r"gathered",
    "rounded": r"activations=bf16",
    "bottleneck": r"bottleneck",
    "experts": r"experts|\bep=",
    "sequence": r"sequence.parallel",
    "fsdp": r"fsdp",
    "queries": r"\btq\b",
    "text": r"--prompt|[Tt]okeniz|\.txt\b|\btexts\b",
    "explain": r"explain",
    "tune": r"\btun(e|ing)\b",
    "compare": r"\bcompare\b",
    "quantize": r"\bquantize\b", "calibrate": r"\bcalibrat(e|ion)\b", "plan": r"batonc plan|plan\.test|\bsweep\b", "sweep": r"\bsweep\b", "prune": r"\bprune\b",
    "health": r"\bhealth\b",
    # Of a program: bench measures what generates.
    "generate": r"\b(generate|bench)\b", "logits": r"\blogits\b", "bench": r"\bbench\b", "info": r"\binfo\b",
    "batch": r"max.batch", "serve": r"\bserve\b",
    "trace": r"trace|perfetto", "touches": r"check.memory", "dump": r"--dump|diff.run",
    "bodies": r"event\.body",
}
# Of scripts that start others, or a page's commands, nobody reads which of these those run.
COMMANDS = ("generate", "logits", "bench", "batch", "info", "trace", "touches", "dump")
RUNS_SCRIPTS = ("bench_scripts.py", "chat.py", "debugging.py", "demo.py", "gpu_scripts.py", "python_*.py")
FEATURES = {name: re.compile(pattern) for name, pattern in FEATURES.items()}

# Scripts that see of batonc the programs that it writes, and their plans: where no plan
# changes, nothing does. Of models that their command names; of others, too.
GIVEN, OTHERS = "given", "others"
# What batonc refuses of their flags is asked of it too (probes.py). Where they look at its
# other ends, such as signals, full disks and its cache, no pass has a part in them.
SEES_PROGRAMS = {
    "arrivals": GIVEN,
    # Steps of few rows, of which CUDA's plans have one each, spread positions.
    "attention_split": GIVEN,
    "batch_memory": OTHERS, "bench_scripts": OTHERS, "bits": GIVEN, "bottleneck_parallel": OTHERS, "chat": OTHERS,
    "cublaslt": GIVEN, "cublaslt_driver": GIVEN, "cuda": GIVEN, "cuda_bodies": OTHERS, "cuda_compile": GIVEN,
    "cuda_compile_large": OTHERS, "cuda_driver_faults": GIVEN, "cuda_graph": GIVEN,
    "cuda_graph_driver": GIVEN, "cuda_progress": GIVEN, "cuda_ranks": GIVEN, "cuda_sanitize": GIVEN,
    "cuda_stop": OTHERS, "cuda_train": GIVEN, "cuda_train_tuned": GIVEN, "data_parallel": GIVEN,
    "decode": GIVEN, "decode_ranks": GIVEN, "deferred_norms": OTHERS, "demo": OTHERS, "diff_run": GIVEN, "embeddings": OTHERS,
    "endings": OTHERS, "exported": OTHERS, "gathered_layers": GIVEN, "generate": GIVEN, "gpu_scripts": OTHERS, "head_bias": OTHERS,
    "hybrid_sharding": GIVEN, "hyper": OTHERS,
    "installed": OTHERS, "kernel_cache": OTHERS, "layouts": OTHERS, "loss_parts": GIVEN,
    "mesh_parallel": OTHERS, "nccl_driver": GIVEN, "object_cache": OTHERS,
    "perfetto": GIVEN, "pipeline_parallel": GIVEN, "planted": OTHERS, "python_program": OTHERS, "recompute": OTHERS, "rolled": OTHERS, "sanitize": OTHERS, "serve": OTHERS, "serve_load": OTHERS, "serve_models": OTHERS, "serve_page": OTHERS, "serve_schemas": OTHERS, "soak": GIVEN,
    "targets": GIVEN, "tensor_parallel": GIVEN, "touched_memory": OTHERS, "trace": GIVEN,
    "train": GIVEN, "train_16bit": GIVEN, "train_data": OTHERS, "train_endings": GIVEN, "train_f64": OTHERS, "train_gradients": GIVEN,
    "train_optimizers": OTHERS, "train_progress": GIVEN, "train_ranks": GIVEN, "train_sanitize": OTHERS,
    "train_text": GIVEN, "train_transformers": GIVEN, "zero": GIVEN,
}

# These judge small plans, and mutants of them, by the proof: what else makes plans shows there
# in plans. What shows in plans and is the proof's own, they see as it is.
JUDGE_PLANS = ("unit.BatonProofTests", "fuzz.proof")
PROOF = ("passes/proof/*",)

# Of tests whose script does more than they do: what INPUTS would say in one of their own.
# What pages and sources say to docs.commands, tools/check has held before.
DECLARED = {
    "docs.commands": ["tools/check", "tools/checks/*", "build/bin/batonc", "build/bin/baton-opt",
                      "build/bin/check-plan", "build/bin/diff-run", "build/lib/baton/quantize", "build/lib/baton/calibrate", "build/lib/baton/plan", "build/lib/baton/prune",
                      "build/lib/baton/health",
                      "build/test/runtime/main/baton-toy-program"],
    # It builds nothing.
    "guides.pages": ["docs/adding-a*.md", "test/every/*.py", "test/every/guides/*", "codegen/*", "compiler/*",
                     "dialects/*", "models/*", "passes/*", "runtime/*", "tools/batonc/*", "test/codegen/*",
                     "test/compiler/*", "test/dialects/*", "test/models/*"],
    # ctest knows no command of it before it is built.
    "CudaLibraryOracle.relocated": ["build/test/codegen/cuda/library/CudaLibraryOracleTest"],
}

# Of these no test needs to run: tools/check holds what there is to hold.
NO_TEST = ("*.md", ".clang-format", ".clang-tidy", ".flake8", ".gitignore", "tools/format", "docs/measurements/*")
# These say how everything is built.
ALL_TESTS = ("CMakeLists.txt", "*/CMakeLists.txt", "*.cmake", "CMakePresets.json", "*.in", "tools/build",
             "tools/install-dependencies")


def matches(name, patterns):
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def judges_of(name):
    """Which of the tests of whole programs judge a file, as patterns; None if all do."""
    for pattern, judges in JUDGES:
        if fnmatch.fnmatch(name, pattern):
            return judges
    return None


def feature_of(name):
    """What a program needs in order to run a file's code; None if nothing is known."""
    for pattern, feature in ONLY_WITH:
        if fnmatch.fnmatch(name, pattern):
            return feature
    return None


def features_in(words):
    text = " ".join(sorted(words))
    return {name for name, pattern in FEATURES.items() if pattern.search(text)}


def type_of(root, model):
    """Of a golden checkpoint's weights; None where there is no such checkpoint."""
    try:
        with open(os.path.join(root, "test/golden", model, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
    except FileNotFoundError:
        return None
    return config.get("dtype") or config.get("torch_dtype")


def sees_of(test):
    """GIVEN, OTHERS, or None for a test that sees more of batonc than programs."""
    name = test.script.rsplit("/", 1)[-1] if test.script else ""
    return SEES_PROGRAMS.get(name.removesuffix(".py")) if name.endswith(".py") else None
