#!/usr/bin/env python3
"""Compares Baton with llama.cpp, ik_llama.cpp and PyTorch on the same random weights.

    test/bench/peers.py build/bin/batonc --work DIR [--models ...] [--dtypes ...]
                        [--workers 1 2] [--rounds 3] [--context 128] [--batch 16]
                        [--ik-python PYTHON]

Makes checkpoints of known shapes in DIR (kept there: they are large), of mixtures
of experts some layers, has batonc quantize write the same numbers as GGUF for
llama.cpp, and runs the engines in turn, each in a
process of its own: a prompt of 512 tokens, then single tokens at the given
context. With --batch so many sequences decode together instead, each with a prompt
of its own of --context tokens, against llama.cpp alone: its steps are those of its
llama-batched-bench, one llama_decode of a token of each sequence, which draws no
tokens; Baton's does. Needs numpy; llama.cpp is compared where the package llama-cpp-python
(built from its source for this machine) can be imported, PyTorch where torch and transformers can.

--dtypes may name formats of batonc quantize, such as q4_0: all engines then read the one GGUF
file that it makes, Baton with inputs in F32 and, as "Baton int8", of 8 bits, as the others have
them. Formats that it writes as folders, such as nf4, have Baton alone. ik_llama.cpp is compared on these where --ik-python names a Python that has the package
ik-llama-cpp-python, whose libraries do not go into one process with llama.cpp's. It repacks
weights when it loads them, and has its flash attention, as its own command line would have it.
With BF16 weights "Baton bf16" rounds inputs to BF16, as llama.cpp does.

How it is judged: cores of shared machines vanish for seconds at a time, so of all
rounds the best window of 8 consecutive tokens counts for decode and the best run
for prefill, the same for all engines. Beside each figure stands the verdict: the
largest difference of an engine's logits after a common prompt from Baton's, as a
fraction of the largest logit, and whether the most likely token is the same. In
parentheses: what bench calls undisturbed, if all layers ran as the fastest tenth. --json FILE
gets a line for each engine.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time

LLAMA = dict(architectures=["LlamaForCausalLM"], model_type="llama", hidden_size=2048,
             intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
             num_key_value_heads=8, head_dim=64, vocab_size=128256, max_position_embeddings=131072,
             rms_norm_eps=1e-5, rope_theta=500000.0, hidden_act="silu", tie_word_embeddings=True,
             attention_bias=False, mlp_bias=False)
# Its layers and next to no head: what their format alone costs.
LAYERS = LLAMA | dict(num_hidden_layers=8, vocab_size=4096)
QWEN = dict(architectures=["Qwen3ForCausalLM"], model_type="qwen3", hidden_size=1024,
            intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16,
            num_key_value_heads=8, head_dim=128, vocab_size=151936, max_position_embeddings=40960,
            rms_norm_eps=1e-6, rope_theta=1000000.0, hidden_act="silu", tie_word_embeddings=True,
            attention_bias=False, use_sliding_window=False)
# Of mixtures as many layers as a machine's memory holds.
OLMOE = dict(architectures=["OlmoeForCausalLM"], model_type="olmoe", hidden_size=2048,
             intermediate_size=1024, num_hidden_layers=4, num_attention_heads=16, num_key_value_heads=16,
             head_dim=128, vocab_size=50304, max_position_embeddings=4096, rms_norm_eps=1e-5,
             rope_theta=10000.0, hidden_act="silu", tie_word_embeddings=False, attention_bias=False,
             num_experts=64, num_experts_per_tok=8, norm_topk_prob=False, clip_qkv=None)
QWEN_MOE = dict(architectures=["Qwen3MoeForCausalLM"], model_type="qwen3_moe", hidden_size=2048,
                intermediate_size=6144, moe_intermediate_size=768, num_hidden_layers=3, num_attention_heads=32,
                num_key_value_heads=4, head_dim=128, vocab_size=151936, max_position_embeddings=40960,
                rms_norm_eps=1e-6, rope_theta=1000000.0, hidden_act="silu", tie_word_embeddings=False,
                attention_bias=False, use_sliding_window=False, num_experts=128, num_experts_per_tok=8,
                norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[])
SHAPES = {"llama-3.2-1b": LLAMA, "llama-layers": LAYERS, "qwen3-0.6b": QWEN, "olmoe-1b-7b": OLMOE, "qwen3-30b-a3b": QWEN_MOE}
TYPES = {"f32": ("float32", "F32", 4), "bf16": ("bfloat16", "BF16", 2)}
FORMATS = ["q8_0", "q6_k", "q5_k", "q5_1", "q5_0", "q4_k", "q4_1", "q4_0", "q3_k", "q2_k"]
# Of folders; those of whole numbers multiply inputs of 8 bits, too.
INTEGER_FOLDERS = ["int8", "int4-g32", "int4-g64", "int4-g128"]
FOLDERS = [*INTEGER_FOLDERS, "fp8", "nvfp4", "mxfp4", "nf4"]
PROMPT = 512
WINDOW = 8
BATCH_ROWS = 256


# Checkpoints -----------------------------------------------------------------

def tensors(config):
    """(name, shape, deviation) of every weight; deviation 0 means ones."""
    hidden, inner, width = (config[key] for key in ("hidden_size", "intermediate_size", "head_dim"))
    heads, pairs = config["num_attention_heads"] * width, config["num_key_value_heads"] * width
    yield "model.embed_tokens.weight", (config["vocab_size"], hidden), 0.05
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        yield prefix + "input_layernorm.weight", (hidden,), 0
        yield prefix + "post_attention_layernorm.weight", (hidden,), 0
        if config["model_type"] != "llama":
            # OLMoE's are of all heads.
            each = (1, 1) if config["model_type"] != "olmoe" else (heads // width, pairs // width)
            yield prefix + "self_attn.q_norm.weight", (width * each[0],), 0
            yield prefix + "self_attn.k_norm.weight", (width * each[1],), 0
        linears = [("self_attn.q_proj", heads, hidden), ("self_attn.k_proj", pairs, hidden),
                   ("self_attn.v_proj", pairs, hidden), ("self_attn.o_proj", hidden, heads)]
        modules = ["mlp"]
        if "num_experts" in config:
            inner = config.get("moe_intermediate_size", inner)
            linears.append(("mlp.gate", config["num_experts"], hidden))
            modules = [f"mlp.experts.{expert}" for expert in range(config["num_experts"])]
        for module in modules:
            linears += [(f"{module}.gate_proj", inner, hidden), (f"{module}.up_proj", inner, hidden),
                        (f"{module}.down_proj", hidden, inner)]
        for name, rows, columns in linears:
            yield f"{prefix}{name}.weight", (rows, columns), columns ** -0.5
    yield "model.norm.weight", (hidden,), 0
    if not config["tie_word_embeddings"]:
        yield "lm_head.weight", (config["vocab_size"], hidden), hidden ** -0.5


def values(shape, deviation, generator, pool):
    """F32 numbers that BF16 holds exactly, drawn from a pool of normal ones."""
    import numpy
    count = int(numpy.prod(shape))
    if deviation == 0:
        return numpy.ones(shape, numpy.float32)
    rotated = numpy.roll(pool, int(generator.integers(len(pool))))
    drawn = numpy.resize(rotated, count) * numpy.float32(deviation)
    return (drawn.view(numpy.uint32) & 0xffff0000).view(numpy.float32).reshape(shape)


def write_checkpoint(folder, config, dtype):
    """model.safetensors and config.json, unless they are there."""
    import numpy
    if os.path.exists(os.path.join(folder, "config.json")):
        return
    os.makedirs(folder, exist_ok=True)
    torch_dtype, stored, size = TYPES[dtype]
    header, offset = {}, 0
    for name, shape, _ in tensors(config):
        end = offset + int(numpy.prod(shape)) * size
        header[name] = {"dtype": stored, "shape": list(shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    generator = numpy.random.default_rng(1)
    pool = generator.standard_normal(1 << 22, dtype=numpy.float32)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, shape, deviation in tensors(config):
            array = values(shape, deviation, generator, pool)
            if size == 2:
                array = (array.view(numpy.uint32) >> 16).astype(numpy.uint16)
            file.write(array.tobytes())
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config | {"torch_dtype": torch_dtype}, file, indent=1)


# Engines: each is run as `peers.py --engine NAME ...` and prints one JSON line --

def tokens_of(count, vocabulary):
    return [(7919 * (i + 1)) % vocabulary for i in range(count)]


def best_window(times):
    """Tokens per second of the best WINDOW consecutive tokens."""
    return max(WINDOW / (times[i + WINDOW] - times[i]) for i in range(len(times) - WINDOW))


class LlamaCpp:
    """A context of llama.cpp, or of ik_llama.cpp, for so many sequences of so many positions each, or of all
    together if they share a buffer."""

    def __init__(self, module, model, workers, positions, vocabulary, sequences=1, shared=False):
        self.library, self.vocabulary, lines = module, vocabulary, []
        if hasattr(module, "llama_log_callback"):
            import ctypes
            # Kept alive for as long as llama.cpp may call it.
            self.log = module.llama_log_callback(lambda _, text, __: lines.append(text.decode(errors="replace")))
            module.llama_log_set(self.log, ctypes.c_void_p(0))
        module.llama_backend_init()
        settings = module.llama_model_default_params()
        if hasattr(settings, "repack_tensors"):
            settings.repack_tensors = True
        loaded = module.llama_model_load_from_file(model.encode(), settings)
        if not loaded:
            sys.exit("llama.cpp: " + "".join(lines)[-2000:])
        settings = module.llama_context_default_params()
        # llama.cpp divides them among the sequences, by 256.
        settings.n_ctx = -(-positions // 256) * 256 * (1 if shared else sequences)
        if shared:
            settings.kv_unified = True
        settings.n_seq_max = sequences
        settings.n_batch = settings.n_ubatch = PROMPT
        settings.n_threads = settings.n_threads_batch = workers
        self.state = module.llama_init_from_model(loaded, settings)
        if not self.state:
            sys.exit("llama.cpp: " + "".join(lines)[-2000:])
        self.batch = module.llama_batch_init(PROMPT, 0, 1)

    def clear(self):
        if hasattr(self.library, "llama_kv_cache_clear"):
            self.library.llama_kv_cache_clear(self.state)
        else:
            self.library.llama_memory_clear(self.library.llama_get_memory(self.state), True)

    def step(self, rows):
        """Of (token, position, sequence, whether it has logits). The last row's logits."""
        import numpy
        self.batch.n_tokens = len(rows)
        for i, (token, position, sequence, has_logits) in enumerate(rows):
            self.batch.token[i], self.batch.pos[i], self.batch.n_seq_id[i] = token, position, 1
            self.batch.seq_id[i][0], self.batch.logits[i] = sequence, has_logits
        if self.library.llama_decode(self.state, self.batch) != 0:
            sys.exit("llama.cpp: decode failed")
        # Waits for the step, which may still run.
        found = self.library.llama_get_logits_ith(self.state, len(rows) - 1)
        return numpy.ctypeslib.as_array(found, (self.vocabulary,))

    def fill(self, count, sequences=1):
        """Clears the states and fills them with prompts of `count` tokens."""
        self.clear()
        tokens = tokens_of(count * sequences, self.vocabulary)
        rows = [(token, i % count, i // count, i % count == count - 1) for i, token in enumerate(tokens)]
        for first in range(0, len(rows), PROMPT):
            part = rows[first:first + PROMPT]
            logits = self.step([*part[:-1], (*part[-1][:3], True)])
        return logits


def run_llama_cpp(model, workers, context, decode, vocabulary, sequences=1, module="llama_cpp"):
    import importlib
    import numpy
    positions = max(context, PROMPT) + decode + 8
    engine = LlamaCpp(importlib.import_module(module), model, workers, positions, vocabulary, sequences)
    # Touches all weights; its logits are compared.
    logits = engine.fill(32).astype(numpy.float32).copy()
    prompt = context if sequences > 1 else PROMPT
    start = time.perf_counter()
    engine.fill(prompt, sequences)
    prefill = prompt * sequences / (time.perf_counter() - start)
    engine.fill(context, sequences)
    times = [time.perf_counter()]
    for i in range(decode):
        engine.step([(i + sequence, context + i, sequence, True) for sequence in range(sequences)])
        times.append(time.perf_counter())
    return prefill, sequences * best_window(times), logits


def run_ik_llama_cpp(*given):
    return run_llama_cpp(*given, module="ik_llama_cpp._ctypes_api")


def run_torch(model, workers, context, decode, vocabulary):
    import torch
    import transformers
    torch.set_num_threads(workers)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(model, dtype="auto").eval()
    with torch.inference_mode():
        def fill(count):
            tokens = torch.tensor([tokens_of(count, vocabulary)])
            return loaded(tokens, use_cache=True, logits_to_keep=1)
        logits = fill(32).logits[0, -1].float().numpy()
        start = time.perf_counter()
        fill(PROMPT)
        prefill = PROMPT / (time.perf_counter() - start)
        cache = fill(context).past_key_values
        times = [time.perf_counter()]
        for i in range(decode):
            loaded(torch.tensor([[i]]), past_key_values=cache, use_cache=True)
            times.append(time.perf_counter())
    return prefill, best_window(times), logits


PEERS = {"llama.cpp": (run_llama_cpp, ("llama_cpp",)), "PyTorch": (run_torch, ("torch", "transformers")),
         "ik_llama.cpp": (run_ik_llama_cpp, ())}


def peer_process(arguments, name, model, workers, config):
    """Runs one engine in a process of its own; None if it fails."""
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "logits.npy")
        python = arguments.ik_python if name == "ik_llama.cpp" else sys.executable
        result = subprocess.run(
            [python, __file__, "--engine", name, "--model", model, "--workers", str(workers),
             "--context", str(arguments.context), "--decode", str(arguments.decode),
             "--vocabulary", str(config["vocab_size"]), "--out", out,
             *(["--batch", str(arguments.batch)] if arguments.batch else [])], capture_output=True, text=True)
        if result.returncode:
            print(f"{name} failed ({result.returncode}): {result.stderr.strip()[-300:]}", file=sys.stderr)
            return None
        import numpy
        return json.loads(result.stdout.splitlines()[-1]) | {"logits": numpy.load(out)}


def baton_process(arguments, program, folder, workers, config):
    import numpy
    common = ["--weights", folder, "--workers", str(workers), "--quiet"]
    bench = lambda prefill, decode: json.loads(subprocess.run(
        [program, "bench", *common, "--prefill", str(prefill), "--decode", str(decode), "--repeat", "1", "--json"],
        check=True, capture_output=True, text=True).stdout)
    if arguments.batch:
        rates = baton_batch(arguments, program, common)
    else:
        rates = baton_rates(bench(PROMPT, WINDOW), bench(arguments.context, arguments.decode))
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "logits.npy")
        tokens = ",".join(map(str, tokens_of(32, config["vocab_size"])))
        subprocess.run([program, "logits", *common, "--tokens", tokens, "--out", out], check=True)
        logits = numpy.load(out)[-1]
    return rates | {"logits": logits}


def baton_rates(prefill, decode):
    return {"prefill": prefill["prefill_tokens_per_s"], "decode": decode["decode_tokens_per_s"],
            "fma": prefill["fma_fraction"], "fma_undisturbed": prefill["fma_fraction_by_layers"] or 0,
            "read": decode["read_bandwidth_fraction"],
            "read_undisturbed": decode["read_bandwidth_fraction_by_layers"] or 0,
            "peak": decode["peak_bytes"], "verdict": decode["verdict"]}


def baton_batch(arguments, program, common):
    """Both fractions are of a step that decodes."""
    process = subprocess.Popen(
        [program, "bench", *common, "--batch", str(arguments.batch), "--prefill", str(arguments.context), "--decode",
         str(arguments.decode), "--json"], stdout=subprocess.PIPE, text=True)
    result = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    rates = result["batches"][0]
    return {"prefill": rates["prefill_tokens_per_s"], "decode": rates["decode_tokens_per_s"],
            "fma": rates["fma_fraction"], "fma_undisturbed": 0, "read": rates["read_bandwidth_fraction"],
            "read_undisturbed": 0, "peak": usage.ru_maxrss * 1024, "verdict": result["verdict"]}


def engine(arguments):
    import numpy
    run, _ = PEERS[arguments.engine]
    given = [arguments.model, arguments.workers[0], arguments.context, arguments.decode, arguments.vocabulary]
    if arguments.batch:
        given.append(arguments.batch)
    prefill, decode, logits = run(*given)
    numpy.save(arguments.out, logits)
    # Not ru_maxrss, which begins with that of the process that started this one.
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
    print(json.dumps({"prefill": prefill, "decode": decode, "peak": peak}))


def in_child(function, *given):
    """Elsewhere, so that this process stays small: what it starts has its ru_maxrss at least."""
    child = multiprocessing.get_context("fork").Process(target=function, args=given)
    child.start()
    child.join()
    if child.exitcode:
        sys.exit(f"{function.__name__} failed")


def can_import(modules):
    import importlib.util
    return all(importlib.util.find_spec(module) for module in modules)


def quantised(arguments, name, format):
    """A GGUF file or a folder of the format, made of a checkpoint in F32 or BF16, unless it is there."""
    path = os.path.join(arguments.work, f"{name}-{format}" + (".gguf" if format not in FOLDERS else ""))
    if not os.path.exists(path):
        dtype = format if format in TYPES else "bf16"
        source = os.path.join(arguments.work, f"{name}-{dtype}")
        in_child(write_checkpoint, source, SHAPES[name], dtype)
        flags = [] if format in FOLDERS else ["--no-tokenizer"]
        # No speed depends on how scales are chosen.
        subprocess.run([arguments.batonc, "quantize", source, "--format", format, "--scale", "max", *flags, "-o", path,
                        "--quiet"], check=True)
    return path


def peers_of(arguments, name, dtype, weights):
    """Engines, and the model that each reads."""
    peers = {}
    for peer, (_, modules) in PEERS.items():
        if not can_import(modules) or (arguments.batch and peer != "llama.cpp"):
            continue
        if dtype in FOLDERS:
            continue
        if dtype in FORMATS:
            if peer == "llama.cpp" or (peer == "ik_llama.cpp" and arguments.ik_python):
                peers[peer] = weights
        elif peer == "llama.cpp":
            peers[peer] = quantised(arguments, name, dtype)
        elif peer == "PyTorch":
            peers[peer] = weights
    return peers


def compare(arguments, name, dtype, workers):
    import numpy
    config = SHAPES[name]
    if dtype in [*FORMATS, *FOLDERS]:
        weights = quantised(arguments, name, dtype)
        programs = {"Baton": []}
        if dtype in [*FORMATS, *INTEGER_FOLDERS]:
            programs["Baton int8"] = ["--activations=int8"]
    else:
        weights = os.path.join(arguments.work, f"{name}-{dtype}")
        in_child(write_checkpoint, weights, config, dtype)
        programs = {"Baton": []}
        if dtype == "bf16":
            programs["Baton bf16"] = ["--activations=bf16"]
    positions = max(arguments.context, PROMPT) + arguments.decode + 8
    flags = ["--quiet", f"--max-seq={positions}"]
    if arguments.batch:
        flags += [f"--max-batch={arguments.batch}", f"--max-rows={BATCH_ROWS}"]
    for who, more in programs.items():
        inputs = who.removeprefix("Baton").strip() or "f32"
        programs[who] = os.path.join(arguments.work, f"{name}-{dtype}-{inputs}.program")
        subprocess.run([arguments.batonc, weights, "-o", programs[who], *flags, *more], check=True)
    peers = peers_of(arguments, name, dtype, weights)
    best = {}
    for _ in range(arguments.rounds):
        runs = {who: baton_process(arguments, program, weights, workers, config) for who, program in programs.items()}
        for peer, model in peers.items():
            runs[peer] = peer_process(arguments, peer, model, workers, config)
        for who, run in runs.items():
            if run is None:
                continue
            kept = best.setdefault(who, run)
            for key in ("prefill", "decode", "fma", "fma_undisturbed", "read", "read_undisturbed"):
                if key in run:
                    kept[key] = max(kept[key], run[key])
    together = f" of {arguments.batch} sequences" if arguments.batch else ""
    print(f"\n{name} {dtype}, {workers} worker{'s' * (workers > 1)}, decode{together} at {arguments.context}")
    for who, run in best.items():
        if who in programs:
            note = (f"{fraction(run, 'fma')} of multiply-add peak, {fraction(run, 'read')} of read bandwidth, "
                    f"{run['verdict']}")
        else:
            note = ", ".join(f"{own} {best[own]['prefill'] / run['prefill']:.2f}x and "
                             f"{best[own]['decode'] / run['decode']:.2f}x" for own in programs)
        if who != "Baton":
            note += "; " + verdict(best["Baton"]["logits"], run["logits"], numpy)
        print(f"  {who:12} prefill {run['prefill']:7.1f}/s  decode {run['decode']:6.2f}/s  "
              f"peak {run['peak'] / 2**30:5.2f} GiB  {note}", flush=True)
        if arguments.json:
            with open(arguments.json, "a") as file:
                about = {"model": name, "dtype": dtype, "workers": workers, "engine": who}
                print(json.dumps(about | {key: value for key, value in run.items() if key != "logits"}), file=file)


def fraction(run, key):
    """A fraction, and in parentheses the undisturbed one where bench could tell."""
    undisturbed = run[key + "_undisturbed"]
    return f"{run[key]:.0%}" + (f" ({undisturbed:.0%})" if undisturbed else "")


def verdict(own, other, numpy):
    error = float(numpy.abs(own - other).max() / numpy.abs(own).max())
    same = "same" if own.argmax() == other.argmax() else "ANOTHER"
    return f"logits differ by {error:.1e}, {same} token"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batonc", nargs="?")
    parser.add_argument("--work", default="peers")
    parser.add_argument("--models", nargs="+", default=["llama-3.2-1b", "qwen3-0.6b"], choices=list(SHAPES))
    parser.add_argument("--dtypes", nargs="+", default=["bf16", "f32"], choices=[*TYPES, *FORMATS, *FOLDERS])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--decode", type=int, default=24)
    parser.add_argument("--batch", type=int, help="so many sequences decode together")
    parser.add_argument("--ik-python", help="a Python that has ik-llama-cpp-python")
    parser.add_argument("--json", metavar="FILE", help="also write a line of JSON for each engine to the end of FILE")
    for hidden in ("--engine", "--model", "--out"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--vocabulary", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.engine:
        return engine(arguments)
    if not arguments.batonc:
        parser.error("which batonc?")
    for name in arguments.models:
        for dtype in arguments.dtypes:
            for workers in arguments.workers:
                compare(arguments, name, dtype, workers)


if __name__ == "__main__":
    main()
