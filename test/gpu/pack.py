#!/usr/bin/env python3
"""Packs what run.py needs to try Baton on a machine with a GPU and nothing else.

    test/gpu/pack.py build/bin/batonc FOLDER [--target cuda:sm_90a]

Needs no GPU, but NVRTC (tools/install-cuda) and a build with its tests. FOLDER gets
run.py and what it runs; in one compressed archive:
- for some golden checkpoints the programs, the checkpoint, and the logits of the
  CPU's program, and for some known shapes programs that make weights of their own.
  Programs come in variants: as batonc makes them; --batch-invariant; unfused, with
  one linear for each of the checkpoint's and norms of their own (attention stays
  one operator); graph, the same tasks as kernels of a CUDA graph; batch, of many
  sequences (--max-batch), by its own bodies; and, of models in BF16, cublaslt,
  whose products of prompts are all cuBLASLt's;
- programs that train some of these checkpoints, with what the CPU's say of the same
  steps, also on two ranks, and others for the shapes that are trained;
- the tests of the CUDA task library, with its bodies as a cubin;
- kernels that measure how fast memory is read.

FOLDER is then copied to that machine; run.py --help says how to go on. With
--target=cuda:emulated everything is packed for a dry run without a GPU.
"""

import argparse
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

import rank_parts
import training_parts

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "golden")
SCRIPTS = ["run.py", "parts.py", "training_parts.py", "rank_parts.py", "floors.py", "driver.py", "torch_baseline.py",
           "torch_training.py", "report.py"]
CASES = ["gpt2-bf16", "llama-gqa", "llama3-rope", "qwen3-norms", "qwen3-headwise", "gemma2-caps",
         "gemma3-windows", "phi3-partial", "mistral-window", "qwen2-full", "qwen3next-dense", "gpt2-hyper-sinkhorn"]
LLAMA = dict(architectures=["LlamaForCausalLM"], model_type="llama", num_key_value_heads=8,
             vocab_size=128256, max_position_embeddings=131072, rms_norm_eps=1e-5,
             rope_theta=500000.0, hidden_act="silu", torch_dtype="bfloat16",
             attention_bias=False, mlp_bias=False)
SHAPES = {
    "llama-3.2-1b": LLAMA | dict(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
                                 num_attention_heads=32, head_dim=64, tie_word_embeddings=True),
    "qwen3-0.6b": dict(architectures=["Qwen3ForCausalLM"], model_type="qwen3", hidden_size=1024,
                       intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16,
                       num_key_value_heads=8, head_dim=128, vocab_size=151936,
                       max_position_embeddings=40960, rms_norm_eps=1e-6, rope_theta=1000000.0,
                       hidden_act="silu", tie_word_embeddings=True, attention_bias=False,
                       use_sliding_window=False, torch_dtype="bfloat16"),
    "llama-3.1-8b": LLAMA | dict(hidden_size=4096, intermediate_size=14336, num_hidden_layers=32,
                                 num_attention_heads=32, head_dim=128, tie_word_embeddings=False),
    # For dry runs.
    "tiny": LLAMA | dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, head_dim=16, vocab_size=300,
                         tie_word_embeddings=True, max_position_embeddings=256),
}
# What is trained, and the sequences of a step and their length.
GPT2 = dict(architectures=["GPT2LMHeadModel"], model_type="gpt2", layer_norm_epsilon=1e-5,
            activation_function="gelu_new", torch_dtype="float32", tie_word_embeddings=True)
TRAINED = {
    "gpt2-124m": (GPT2 | dict(n_embd=768, n_layer=12, n_head=12, n_positions=1024, vocab_size=50257), 4, 1024),
    "llama-1b": (SHAPES["llama-3.2-1b"] | dict(torch_dtype="float32"), 4, 1024),
    # For dry runs.
    "tiny-gpt2": (GPT2 | dict(n_embd=32, n_layer=2, n_head=4, n_positions=64, vocab_size=101), 1, 16),
}
# Small models that judge them, and what they compute in.
TRAINED_CASES = {"gpt2-bf16": "bf16", "llama-gqa": "f32", "qwen3-norms": "f32", "llama3-rope": "bf16"}
VARIANTS = {"baton": [], "unfused": ["--disable-pass=linear-grouping,norm-rewrites"],
            "graph": ["--launch=graph"], "cublaslt": ["--cublaslt=always"]}
# What can be brought to that machine.
MOST_BYTES = 60_000_000
# Not this machine's: the programs run on another.
CPU = "--target-cpu=x86-64-v3"
# Of code that is compared, not measured.
QUICK = "--optimize=1"


def run(*command):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        sys.exit(f"error: {os.path.basename(command[0])} failed ({result.returncode}) on "
                 f"{' '.join(map(str, command[1:]))}: {result.stdout.strip()[-500:]}")
    return result.stdout


class Pack:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.batonc = arguments.batonc
        self.build = os.path.join(os.path.dirname(os.path.abspath(arguments.batonc)), "..")
        self.variants, self.ranks = list(VARIANTS), []
        self.architecture = arguments.target.removeprefix("cuda:")

    def place(self, *names):
        path = os.path.join(self.folder, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def say(self, what):
        print(what, file=sys.stderr, flush=True)

    def program(self, model, output, *flags):
        quick = [QUICK] * (self.architecture == "emulated")
        run(self.batonc, model, "-o", output, "--quiet", f"--target={self.arguments.target}", CPU, *quick, *flags)

    def host_program(self, model, output, *flags):
        run(self.batonc, model, "-o", output, "--quiet", CPU, QUICK, *flags)

    def case(self, name):
        """A golden checkpoint, its programs, and what the CPU's program computes."""
        self.say(f"case {name}")
        checkpoint = self.place("cases", name, "checkpoint")
        shutil.copytree(os.path.join(GOLDEN, name), checkpoint)
        with open(os.path.join(checkpoint, "golden.json")) as file:
            tokens = json.load(file)["tokens"]
        with open(os.path.join(checkpoint, "config.json")) as file:
            config = json.load(file)
        model_type = config["model_type"]
        host = self.place("cases", name, "host")
        self.host_program(checkpoint, host)
        run(host, "logits", "--weights", checkpoint, "--tokens", ",".join(map(str, tokens)),
            "--out", host + ".npy", "--no-cache", "--quiet")
        os.remove(host)
        # Every variant is judged where speed is measured of one of its family.
        families = {SHAPES[shape]["model_type"] for shape in self.arguments.shapes}
        flags = {name: VARIANTS[name] for name in self.variants
                 if name == "baton" or model_type in families}
        if config.get("torch_dtype", config.get("dtype")) != "bfloat16":
            flags.pop("cublaslt", None)
        flags["invariant"] = ["--batch-invariant"]
        flags["batch"] = ["--max-batch=16", "--max-rows=64", "--cublaslt=never"]
        for variant in flags:
            self.program(checkpoint, self.place("cases", name, variant), *flags[variant])
        entry = {"model_type": model_type, "variants": list(flags)}
        if name in self.arguments.trained_cases:
            self.trained_case(name, checkpoint)
            entry["trained"] = True
        if name in rank_parts.CASES:
            tool = os.path.join(self.build, "test", "gpu", "nccl-smoke")
            if not os.path.exists(tool):
                sys.exit(f"error: nccl-smoke is not built: ninja -C {self.build} nccl-smoke")
            rank_parts.pack(self, run, name, checkpoint, tool)
            self.ranks.append(name)
        return entry

    def trained_case(self, name, checkpoint):
        """A program that trains a case, and what the CPU's says of the same steps."""
        data = self.place("cases", name, "tokens.u16")
        training_parts.write_tokens(data, 2000, 90)
        host = self.place("cases", name, "host")
        train = ["--mode=train", f"--dtype={TRAINED_CASES[name]}"]
        self.host_program(checkpoint, host, *train)
        lines = run(host, "train", "--weights", checkpoint, "--data", data, "--out", host + ".run",
                    *training_parts.FLAGS)
        with open(host + ".lines", "w") as file:
            file.write(lines)
        os.remove(host)
        shutil.rmtree(host + ".run")
        self.program(checkpoint, self.place("cases", name, "trainer"), *train)
        self.program(checkpoint, self.place("cases", name, "trainer-graph"), *train, "--launch=graph")

    def trained(self, name):
        self.say(f"trained {name}")
        config, batch, length = TRAINED[name]
        place = self.place("shapes", name, "config.json")
        with open(place, "w") as file:
            json.dump(config, file)
        for engine, flags in training_parts.PROGRAMS.items():
            self.program(os.path.dirname(place), self.place("shapes", name, engine), "--mode=train", *flags)
        return {"batch": batch, "seq": length, "operations": training_parts.token_operations(config, length)}

    def shape(self, name):
        self.say(f"shape {name}")
        config = self.place("shapes", name, "config.json")
        with open(config, "w") as file:
            json.dump(SHAPES[name], file)
        longest = min(self.arguments.max_seq, SHAPES[name]["max_position_embeddings"])
        for variant in self.variants:
            self.program(os.path.dirname(config), self.place("shapes", name, variant),
                         f"--max-seq={longest}", *VARIANTS[variant])
        return {"model_type": SHAPES[name]["model_type"], "variants": self.variants,
                "kinds": self.kinds(os.path.dirname(config), f"--max-seq={longest}")}

    def kinds(self, model, *flags):
        """Which phases of a prompt are products with weights, and which attention."""
        explained = run(self.batonc, "explain", model, f"--target={self.arguments.target}", CPU, "--prefill", 8,
                        "--json", "--quiet", *flags)
        calls = {phase["name"]: " ".join(phase["calls"]) for phase in json.loads(explained)["phases"]}
        return {kind: [name for name, bodies in calls.items() if body in bodies]
                for kind, body in (("linear", "linear"), ("attention", "attention"))}

    def cubin(self, source, architecture, *headers):
        """Whether there is NVRTC to compile it."""
        self.say(f"{os.path.basename(source)} for {architecture}")
        name = os.path.splitext(os.path.basename(source))[0]
        command = [os.path.join(self.build, "test", "gpu", "compile-cubin"), source, architecture,
                   self.place(f"{name}-{architecture}.cubin"), *headers]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode == 77 and self.architecture == "emulated":
            self.say(result.stderr.strip())
        elif result.returncode:
            sys.exit(result.stderr.strip())

    def kernels(self):
        emulated = self.architecture == "emulated"
        for architecture in ["sm_80", "sm_90a"] if emulated else [self.architecture]:
            self.cubin(os.path.join(HERE, "stream_read.cu"), architecture)
        library = os.path.join(self.build, "test", "codegen", "cuda", "library")
        if not emulated:
            self.cubin(os.path.join(HERE, "..", "codegen", "cuda", "library", "CompiledBodies.cu"),
                       self.architecture, self.build)
        for name in ("CudaLibraryOracleTest", "CudaLibraryTest"):
            if not os.path.exists(os.path.join(library, name)):
                sys.exit(f"error: {name} is not built: ninja -C {self.build} {name}")
            shutil.copy(os.path.join(library, name), self.place(name))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batonc", help="build/bin/batonc, in a build folder with its tests")
    parser.add_argument("folder", help="is made")
    parser.add_argument("--target", default="cuda:sm_90a")
    parser.add_argument("--cases", nargs="*", default=CASES, help="names under test/golden")
    parser.add_argument("--trained-cases", nargs="*", choices=list(TRAINED_CASES), default=list(TRAINED_CASES),
                        help="which of these cases train, too")
    parser.add_argument("--shapes", nargs="*", choices=list(SHAPES),
                        default=[name for name in SHAPES if name != "tiny"])
    parser.add_argument("--trained", nargs="*", choices=list(TRAINED),
                        default=[name for name in TRAINED if name != "tiny-gpt2"], help="shapes to train")
    parser.add_argument("--max-seq", type=int, default=33024, help="the longest context of a shape")
    parser.add_argument("--most-bytes", type=int, default=MOST_BYTES, help="of a FOLDER that is no error")
    arguments = parser.parse_args()
    if os.path.exists(arguments.folder):
        sys.exit(f"error: {arguments.folder} is there already")
    if not os.access(arguments.batonc, os.X_OK):
        sys.exit(f"error: {arguments.batonc} is no executable")
    os.makedirs(arguments.folder)
    with tempfile.TemporaryDirectory() as scratch:
        pack = Pack(arguments, scratch)
        pack.kernels()
        cases = {name: pack.case(name) for name in arguments.cases}
        shapes = {name: pack.shape(name) for name in arguments.shapes}
        trained = {name: pack.trained(name) for name in arguments.trained}
        # One archive: the programs have most of their bytes in common, some of them 15 MB
        # each. What a dry run unpacks at once is only compressed quickly.
        filters = [{"id": lzma.FILTER_LZMA2, "preset": 0 if pack.architecture == "emulated" else 6,
                    "dict_size": 64 << 20}]
        with lzma.open(os.path.join(arguments.folder, "payload.tar.xz"), "w", filters=filters) as file, \
                tarfile.open(fileobj=file, mode="w") as archive:
            archive.add(scratch, ".")
    for name in SCRIPTS:
        shutil.copy(os.path.join(HERE, name), arguments.folder)
    git = lambda *words: subprocess.run(["git", "-C", HERE, *words], capture_output=True,
                                        text=True).stdout.strip()
    with open(os.path.join(arguments.folder, "about.json"), "w") as file:
        json.dump({"commit": git("rev-parse", "HEAD"),
                   "changed": bool(git("status", "--porcelain", "--untracked-files=no")),
                   "target": arguments.target, "cases": cases, "shapes": shapes, "trained": trained,
                   "ranks": pack.ranks}, file, indent=1)
    size = sum(entry.stat().st_size for entry in os.scandir(arguments.folder))
    print(f"{arguments.folder}: {size / 2**20:.1f} MiB")
    if size > arguments.most_bytes:
        sys.exit(f"error: {arguments.folder} has {size} bytes, more than the {arguments.most_bytes} of --most-bytes; "
                 "pack fewer --cases, --shapes or --trained")


try:
    main()
except OSError as error:
    # A full disk, a folder that may not be written to.
    sys.exit(f"error: {error}")
