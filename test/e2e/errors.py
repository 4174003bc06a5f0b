"""Bad input of every kind: one clear line on standard error, status 1, and
nothing left behind.

Each case says how to make the input bad, which command meets it, and what the
line must say. Cases stand in tables; a new one is a new row.
"""

import argparse
import json
import os
import re
import shutil
import stat
import struct
import subprocess

import programs
from programs import QUICK, Failure, expect


def edit_config(folder, **changes):
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    for name, value in changes.items():
        if value is KeyError:
            config.pop(name, None)
        else:
            config[name] = value
    with open(path, "w") as file:
        json.dump(config, file)


def write(path, data):
    with open(path, "wb" if isinstance(data, bytes) else "w") as file:
        file.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def edit_header(folder, change, name="model.safetensors"):
    """Rewrites the JSON header of a safetensors file."""
    path = os.path.join(folder, name)
    data = read(path)
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    change(header)
    text = json.dumps(header).encode()
    write(path, struct.pack("<Q", len(text)) + text + data[8 + size :])


class Bench:
    """What all cases share: golden checkpoints, compiled once."""

    def __init__(self, arguments, scratch):
        self.batonc = os.path.abspath(arguments.batonc)
        self.golden = os.path.abspath(arguments.golden)
        self.scratch, self.failures = scratch, []
        self.count = 0
        self.llama = self.compiled("llama-gqa")
        self.sharded = self.compiled("llama-bias-f16")
        self.text = self.compiled("gpt2-small")

    def compiled(self, case):
        path = os.path.join(self.scratch, case + ".exe")
        programs.run([self.batonc, os.path.join(self.golden, case), "-o", path, "--quiet", QUICK])
        return path

    def copy(self, case):
        self.count += 1
        folder = os.path.join(self.scratch, f"copy{self.count}")
        shutil.copytree(os.path.join(self.golden, case), folder,
                        ignore=shutil.ignore_patterns(".baton"))
        return folder

    def refuses(self, name, command, pattern, **options):
        """The command fails with one line that matches, and leaves no file."""
        work = os.path.join(self.scratch, "work")
        shutil.rmtree(work, ignore_errors=True)
        os.mkdir(work)
        result = subprocess.run([str(word) for word in command], cwd=work, timeout=300,
                                capture_output=True, text=True, errors="replace", **options)
        lines = result.stderr.splitlines()
        said = f"{name}: status {result.returncode}, said {result.stderr[:600]!r}"
        if result.returncode != 1 or len(lines) != 1 or not lines[0].startswith("error: "):
            self.failures.append(said)
        elif not re.search(pattern, lines[0]):
            self.failures.append(f"{said}, expected /{pattern}/")
        elif os.listdir(work):
            self.failures.append(f"{name}: left {os.listdir(work)} behind")

    def compile_refuses(self, name, model, pattern, *flags):
        self.refuses(name, [self.batonc, model, "-o", "out", *flags], pattern)

    def run_refuses(self, name, program, folder, pattern, *flags):
        self.refuses(name, [program, "generate", "--weights", folder, "--tokens", "1,2,3",
                            "--max-new-tokens", "4", "--no-cache", *flags], pattern)


# Fields of config.json: (case, field, values that are refused).
NUMBER = [-3, 0, "12", 2**40, 1.5, None, [4], True, {}]
CONFIG = [
    ("llama-gqa", "hidden_size", NUMBER + [KeyError]),
    ("llama-gqa", "num_hidden_layers", NUMBER + [KeyError]),
    ("llama-gqa", "num_attention_heads", NUMBER + [KeyError, 5]),
    ("llama-gqa", "num_key_value_heads", [-3, 0, "12", 2**40, 1.5, [4], 4]),
    ("llama-gqa", "head_dim", [-3, 0, "12", 2**40, 15]),
    ("llama-gqa", "intermediate_size", NUMBER + [KeyError]),
    ("llama-gqa", "vocab_size", NUMBER + [KeyError]),
    ("llama-gqa", "max_position_embeddings", NUMBER + [KeyError]),
    ("llama-gqa", "rms_norm_eps", [-1, "tiny", [1]]),
    ("llama-gqa", "hidden_act", ["softsign", 3]),
    ("llama-gqa", "attention_bias", ["yes", 7]),
    ("llama-gqa", "dtype", ["float8", 4]),
    ("llama3-rope", "rope_scaling", [{"rope_type": "ntk", "factor": 2.0}, "llama3", {"rope_type": "llama3"}]),
    ("gpt2-small", "n_embd", NUMBER + [KeyError, 37]),
    ("gpt2-small", "n_layer", NUMBER + [KeyError]),
    ("gpt2-small", "n_head", NUMBER + [KeyError, 7]),
    ("gpt2-small", "n_positions", NUMBER + [KeyError]),
    ("gpt2-small", "n_inner", [-3, 0, "12", 2**40, 1.5]),
    ("gpt2-small", "activation_function", ["softsign", 1]),
    ("gpt2-small", "scale_attn_by_inverse_layer_idx", [True]),
]


def configs(bench):
    folders = {}
    for case, field, values in CONFIG:
        folder = folders.setdefault(case, bench.copy(case))
        original = read(os.path.join(folder, "config.json"))
        for value in values:
            edit_config(folder, **{field: value})
            bench.compile_refuses(f"{case}: {field} = {value!r}", folder,
                                  rf"config\.json.*({field}|rope)")
            write(os.path.join(folder, "config.json"), original)

    folder = folders["llama-gqa"]
    config = os.path.join(folder, "config.json")
    text = read(config)
    for name, content, pattern in [
        ("truncated", text[: len(text) // 2], r"config\.json.*JSON"),
        ("empty", b"", r"config\.json.*JSON"),
        ("a list", b"[]", r"config\.json"),
        ("deep", b"[" * 200000, r"config\.json"),
        ("binary", bytes(range(256)), r"config\.json.*JSON"),
    ]:
        write(config, content)
        bench.compile_refuses(f"config.json {name}", folder, pattern)
    write(config, text)
    for value in ("mamba", 3, None, KeyError):
        edit_config(folder, model_type=value)
        bench.compile_refuses(f"model_type = {value!r}", folder, "model_type.*(llama|expected|missing|absent)")
    os.remove(config)
    bench.compile_refuses("config.json missing", folder, r"config\.json")
    os.mkdir(config)
    bench.compile_refuses("config.json a folder", folder, r"config\.json")


def flags(bench):
    folder = bench.copy("llama-gqa")
    for flag in ["--mode=score",
                 "--sharding=x.mlir",
                 "--schedule=dynamic"]:
        bench.compile_refuses(flag, folder, re.escape(flag.split("=")[0]) + ".*not built yet", flag)
    for flag in ["--max-seq=0", "--max-seq=-1", "--max-seq=abc", "--max-seq=99999999999999999999",
                 "--max-seq=100000", "--max-batch=0", "--max-rows=7", "--max-outputs=7", "--frobnicate", "--disable-pass=nothing", "--disable-pass=event-verify",
                 "--target-cpu=abacus", "--sanitize=memory", "--optimize=0", "--dtype=int4", "--recompute=some",
                 "--recompute=full", "--emit=poem",
                 "--target-file=nowhere.json"]:
        named = flag.split("=")[0] if flag != "--target-cpu=abacus" else "abacus"
        bench.compile_refuses(flag, folder, "nowhere" if "nowhere" in flag else named, flag)
    for flags, words in ((["--emit=cuda"], "--target=cpu has no kernel"),
                         (["--launch=graph"], "--launch=graph: --target=cpu launches no kernels"),
                         (["--launch=stream", "--target=cuda:sm_90a"], "--launch=stream is unknown; there is"),
                         (["--cublaslt=sometimes", "--target=cuda:sm_90a"], "--cublaslt=sometimes is unknown; there is auto"),
                         (["--cublaslt=always"], "--cublaslt=always: --target=cpu has no cuBLASLt"),
                         (["--cublaslt=always", "--target=cuda:sm_90a", "--batch-invariant"],
                          "--cublaslt=always with --batch-invariant: cuBLASLt's bits depend"),
                         (["--cublaslt=always", "--target=cuda:sm_90a", "--mode=train"],
                          "--cublaslt=always with --mode=train is not built yet"),
                         (["--cublaslt=always", "--target=cuda:sm_90a", "--dtype=f32", "--emit=cuda"],
                          "has no product that cuBLASLt can compute, a linear over all rows"),
                         (["--dtype=f64"], "--dtype=f64 is for --mode=train"),
                         (["--mesh=dp=2"], "--mesh=dp=2: axis dp is for --mode=train"),
                         (["--mesh=tp=2,tq=2", "--mode=train", "--sequence-parallel"],
                          "--sequence-parallel with --mesh=tp=2,tq=2: rows are not cut along tq so far"),
                         (["--mesh=pp=2", "--pipeline=gpipe"], "--pipeline=gpipe is for --mode=train"),
                         (["--mesh=pp=2", "--microbatches=2"], "--microbatches is for --mode=train"),
                         (["--mesh=pp=2", "--mode=train", "--zero=1"], "--zero=1 with --mesh=pp=2: it is ranks along dp or fsdp that have only a part"),
                         (["--mesh=pp=2", "--mode=train", "--target=cuda:sm_90a"],
                          "--mesh=pp=2 with --target=cuda:sm_90a is not built yet"),
                         (["--mesh=tp=2", "--target=cuda:sm_90a", "--emit=cuda"],
                          "--mesh: axis tp with --target=cuda:sm_90a is not built yet"),
                         (["--mesh=tp=2", "--mode=train", "--target=cuda:sm_90a", "--exchanges=overlapped",
                           "--nccl-sms=16"], "--exchanges=overlapped with --mesh=tp=2 is not built yet"),
                         (["--mesh=dp=2", "--mode=train", "--target=cuda:sm_90a", "--zero=3", "--gathered-layers=2"],
                          "--gathered-layers=2 with --target=cuda:sm_90a is not built yet"),
                         (["--mesh=dp=2", "--mode=train", "--target=cuda:sm_90a", "--zero=1", "--exchanges=overlapped",
                           "--nccl-sms=16"], "--exchanges=overlapped with --zero=1 is not built yet"),
                         (["--pipeline=gpipe", "--mode=train"], "--pipeline=gpipe: there is one stage; --mesh=pp=N"),
                         (["--microbatches=4", "--mode=train"], "--microbatches: there is one stage"),
                         (["--mesh=pp=2", "--mode=train", "--pipeline=2f2b"], "--pipeline=2f2b: unknown schedule '2f2b'"),
                         (["--mesh=pp=2", "--mode=train", "--microbatches=0"], "--microbatches=0 is out of range"),
                         (["--mesh=xp=2", "--mode=train"], "--mesh=xp=2: axis 'xp' is unknown; there is dp, fsdp, tp, tq, ep, pp"),
                         (["--mesh=dp", "--mode=train"], "--mesh=dp: axis dp has size '', expected 1 to 1024"),
                         (["--mesh=dp=0", "--mode=train"], "axis dp has size '0', expected 1 to 1024"),
                         (["--mesh=dp=2,dp=2", "--mode=train"], "axis dp occurs twice"),
                         (["--mesh=dp=2", "--mode=train", "--target=cuda:sm_90a", "--emit=object"],
                          "--mesh with --target=cuda:sm_90a makes several objects, which only an executable joins"),
                         (["--emit=dist", "--mode=train"], "--emit=dist: there is one rank; --mesh says which"),
                         (["--emit=dist", "--mode=train", "--mesh=dp=1"], "--emit=dist: there is one rank"),
                         (["--dtype=f64", "--mode=train", "--target=cuda:sm_90a", "--emit=cuda"],
                          "computes in f64, which is for --target=cpu"),
                         (["--emit=llvm", "--target=cuda:sm_90a"], "use --emit=cuda"),
                         (["--emit=object", "--target=cuda:emulated"], "--emit=object")):
        bench.refuses(" ".join(flags), [bench.batonc, folder, *flags], words)
    for command in (["-o", "out"], ["explain"]):
        for target in ("cuda:sm_10", "cuda:", "cuda:emulated-sm_10", "tpu"):
            bench.refuses(f"--target={target}", [bench.batonc, *command, folder, f"--target={target}"],
                          f"--target={target}.*unknown; there is")
    for output in ("missing/out", "/dev/null/out", "."):
        bench.refuses(f"-o {output}", [bench.batonc, folder, "-o", output], re.escape(output.split("/out")[0]))
    # What is no plain file is never replaced by one.
    fifo = os.path.join(bench.scratch, "fifo")
    os.mkfifo(fifo)
    for stage in ("exe", "event"):
        bench.refuses(f"-o fifo, {stage}", [bench.batonc, folder, "-o", fifo, f"--emit={stage}"], "fifo.*plain file")
    expect(stat.S_ISFIFO(os.stat(fifo).st_mode), "batonc replaced a fifo")
    bench.refuses("no -o", [bench.batonc, folder], "-o is missing")
    bench.refuses("no model", [bench.batonc], "MODEL")
    bench.compile_refuses("no such model", "nowhere", "nowhere")
    with open("/dev/full", "w") as full:
        result = subprocess.run([bench.batonc, folder, "--emit=event"], stdout=full, stderr=subprocess.PIPE, text=True)
    expect(result.returncode == 1 and "standard output" in result.stderr, f"full disk: {result}")

    run = [bench.llama, "generate", "--weights", folder]
    tokens = ["--tokens", "1,2,3", "--max-new-tokens", "4"]
    for name, command, pattern in [
        ("token too large", run + ["--tokens", "1,131", "--max-new-tokens", "1"], "131"),
        ("token negative", run + ["--tokens", "1,-2", "--max-new-tokens", "1"], "-2"),
        ("token huge", run + ["--tokens", "99999999999999999999", "--max-new-tokens", "1"], "9999"),
        ("tokens empty", run + ["--tokens", "", "--max-new-tokens", "1"], "tokens"),
        ("tokens text", run + ["--tokens", "1,two", "--max-new-tokens", "1"], "two"),
        ("no prompt", run + ["--max-new-tokens", "1"], "--prompt|--tokens"),
        ("prompt too long", run + ["--tokens", ",".join(["1"] * 300), "--max-new-tokens", "1"], "256"),
        ("prompt, no tokenizer", run + ["--prompt", "hi", "--max-new-tokens", "1"],
         "tokenizer.json: no such file; without it each byte is a token, but .* 131; give --tokens"),
        ("no weights", [bench.llama, "generate", "--tokens", "1", "--max-new-tokens", "1"], "--weights"),
        ("weights nowhere", [bench.llama, "generate", "--weights", "nowhere"] + tokens, "nowhere"),
        ("workers 0", run + tokens + ["--workers", "0"], "--workers"),
        ("workers -3", run + tokens + ["--workers", "-3"], "--workers"),
        ("workers many", run + tokens + ["--workers", "1000000000"], "--workers"),
        ("workers text", run + tokens + ["--workers", "abc"], "--workers"),
        ("chunk 0", run + tokens + ["--prefill-chunk", "0"], "--prefill-chunk"),
        ("chunk large", run + tokens + ["--prefill-chunk", "100000"], "--prefill-chunk"),
        ("temperature", run + tokens + ["--temperature", "nan"], "--temperature"),
        ("temperature -1", run + tokens + ["--temperature=-1"], "--temperature"),
        ("top-p 2", run + tokens + ["--top-p", "2"], "--top-p"),
        ("top-k -1", run + tokens + ["--top-k=-1"], "--top-k"),
        ("new tokens -1", run + ["--tokens", "1", "--max-new-tokens", "-1"], "--max-new-tokens"),
        ("trace nowhere", run + tokens + ["--trace", "/nowhere/t.json"], "/nowhere/t.json: cannot be written"),
        ("trace to a device", run + tokens + ["--trace", "/dev/null"], "/dev/null: is not a plain file"),
        ("train", [bench.llama, "train", "--data", "x", "--steps", "1", "--out", "y"],
         "train: this program decodes; compile one with --mode=train"),
        ("unknown command", [bench.llama, "frobnicate"], "frobnicate"),
        ("no command", [bench.llama], "command"),
        ("logits out", [bench.llama, "logits", "--weights", folder, "--tokens", "1", "--out", "missing/x.npy"], "missing"),
        ("logits out is dump", [bench.llama, "logits", "--weights", folder, "--tokens", "1", "--out", "x", "--dump", "./x"], "--out and --dump are both x"),
        ("dump without weights", [bench.llama, "logits", "--weights", os.path.join(bench.golden, "gpt2-small"), "--tokens", "1", "--out", "x", "--dump", "d"], "tensor"),
        ("logits dump", [bench.llama, "logits", "--weights", folder, "--tokens", "1", "--out", "/dev/null/x", "--dump", "/dev/null/d"], "/dev/null"),
        ("other model", [bench.llama, "generate", "--weights", os.path.join(bench.golden, "gpt2-small")] + tokens, "model.embed_tokens.weight"),
    ]:
        bench.refuses(name, command, pattern)


RULE = """
update.rule @plain {
^bb0(%p: tensor<?x?xf32>, %g: tensor<?x?xf32>):
  %rate = update.number "learning_rate"
  BODY
  update.return %n
}
"""
DESCENT = """%n = update.map (%w = %p, %d = %g) {
    %c = arith.mulf %d, %rate : f32
    %x = arith.subf %w, %c : f32
    update.yield %x
  }"""
GRAM = """%x = update.map (%d = %g) {
    update.yield %d
  }
  %y = update.product PRODUCT
  %n = update.map (%w = %p, %d = %y) {
    update.yield %d
  }"""


def optimizers(bench):
    folder = bench.copy("llama-gqa")
    train = ["--mode=train"]
    rules = os.path.join(bench.scratch, "rules.mlir")
    rule = lambda body: RULE.replace("BODY", body)
    gram = lambda product: rule(GRAM.replace("PRODUCT", product)) + 'update.group @plain rank 2\n' \
        + rule(DESCENT).replace("@plain", "@other") + "update.group @other\n"
    for name, text, pattern in [
        ("empty", "", "rules.mlir: has no update.group"),
        ("no group", rule(DESCENT), "rules.mlir: has no update.group"),
        ("a module of something else", "module { event.body }", r"rules.mlir:1:\d+: "),
        ("no IR", "learning rate = 3", r"rules.mlir:1:\d+: "),
        ("a program", "func.func @f() { return }", r"rules.mlir:1:\d+: "),
        ("half a rule", rule(DESCENT)[:-40], r"rules.mlir:\d+:\d+: "),
        ("no such rule", rule(DESCENT) + "update.group @nobody", "no update.rule of that name"),
        ("not all fit", rule(DESCENT) + "update.group @plain rank 1",
         "no update.group fits the parameter embed_tokens"),
        ("inner dimensions", gram("%x, %x"), "inner dimensions are 60 and 131"),
        ("shapes", gram("%x, %x transposed"), "tensors of different shapes.*embed_tokens"
         "|embed_tokens.*tensors of different shapes"),
        ("the same name", rule(DESCENT) * 2 + "update.group @plain", "redefinition of symbol named 'plain'"),
        ("deep", "(" * 1000, "nests more than 200"),
    ]:
        write(rules, text)
        bench.compile_refuses(f"optimizer: {name}", folder, pattern, *train, f"--optimizer={rules}")
    for flag, pattern in (("--optimizer=nothing", "there is adafactor, adamw, adamw_8bit, lion, muon, sgd"),
                          ("--optimizer=nowhere.mlir", "nowhere.mlir"),
                          ("--optimizer=/dev/zero.mlir", "zero.mlir"),
                          ("--optimizer=", "--optimizer")):
        bench.compile_refuses(flag, folder, pattern, *train, flag)
    bench.compile_refuses("--optimizer alone", folder, "--optimizer is for --mode=train", "--optimizer=adamw")
    # What is printed has them, and compiles to the same plan.
    model, plans = os.path.join(bench.scratch, "model.mlir"), []
    write(rules, rule(DESCENT) + "update.group @plain")
    programs.run([bench.batonc, folder, *train, f"--optimizer={rules}", "--emit=model", "-o", model])
    for command in ([folder, f"--optimizer={rules}"], [model]):
        plan = programs.run([bench.batonc, *command, *train, "--emit=event"]).stdout
        plans.append(re.findall(r'event\.(?:call "|body @)[^ "]*', plan))
    expect(plans[0] == plans[1], "a printed training step becomes another plan")
    plan = os.path.join(bench.scratch, "plan.mlir")
    programs.run([bench.batonc, folder, *train, "--emit=event", "-o", plan])
    bench.compile_refuses("an optimizer for a plan", plan, "--optimizer: .*holds a plan", *train, "--optimizer=sgd")
    bench.compile_refuses("two optimizers", model, "groups of its own", *train, "--optimizer=sgd")


def first_tensor(header):
    return next(name for name in sorted(header) if name != "__metadata__")


def safetensors(bench):
    case, program = "llama-gqa", bench.llama
    folder = bench.copy(case)
    path = os.path.join(folder, "model.safetensors")
    good = read(path)
    embed = "model.embed_tokens.weight"

    def change(entry, **values):
        return lambda header: header[entry].update(values)

    def overlap(header):
        names = sorted(name for name in header if name != "__metadata__")
        same = [n for n in names if header[n]["shape"] == header[names[-1]]["shape"] and n != names[-1]]
        header[names[-1]]["data_offsets"] = header[same[0]]["data_offsets"]

    for name, data, pattern in [
        ("empty", b"", "model.safetensors"),
        ("seven bytes", good[:7], "model.safetensors"),
        ("truncated header", good[:100], "model.safetensors"),
        ("truncated data", good[:-1000], "model.safetensors"),
        ("absurd header length", struct.pack("<Q", 2**63 - 1) + good[8:], "header"),
        ("header not JSON", struct.pack("<Q", 16) + b"this is no JSON!" + good[24:], "JSON"),
        ("header a list", struct.pack("<Q", 2) + b"[]", "model.safetensors"),
        ("header deep", struct.pack("<Q", 100000) + b"[" * 100000, "model.safetensors"),
    ]:
        write(path, data)
        bench.run_refuses(f"safetensors {name}", program, folder, pattern)
    for name, edit, pattern in [
        ("offsets out of range", change(embed, data_offsets=[0, 2**50]), embed),
        ("offsets reversed", change(embed, data_offsets=[100, 0]), embed),
        ("offsets negative", change(embed, data_offsets=[-8, 0]), embed),
        ("overlapping", overlap, "overlap"),
        ("integer weights", change(embed, dtype="I32"), embed),
        ("unknown dtype", change(embed, dtype="F3"), embed),
        ("wrong shape", change(embed, shape=[60, 131]), embed),
        ("shape overflows", change(embed, shape=[2**40, 2**40]), embed),
        ("shape text", change(embed, shape="131x60"), embed),
        ("missing tensor", lambda header: header.pop(embed), embed),
    ]:
        write(path, good)
        edit_header(folder, edit)
        bench.run_refuses(f"safetensors {name}", program, folder, pattern)
    os.remove(path)
    bench.run_refuses("safetensors missing", program, folder, "model.safetensors")

    # A weight that is no number shows as logits that are none.
    write(path, good)
    (size,) = struct.unpack("<Q", good[:8])
    start = 8 + size + json.loads(good[8 : 8 + size])["model.norm.weight"]["data_offsets"][0]
    write(path, good[:start] + struct.pack("<f", float("nan")) + good[start + 4 :])
    bench.run_refuses("NaN weight", program, folder, "finite|NaN")

    sharded = bench.copy("llama-bias-f16")
    index_path = os.path.join(sharded, "model.safetensors.index.json")
    index = json.loads(read(index_path))
    tensor, shard = next(iter(index["weight_map"].items()))
    other = next(s for s in index["weight_map"].values() if s != shard)

    def with_map(**changes):
        return json.dumps({**index, "weight_map": {**index["weight_map"], **changes}})

    for name, text, pattern in [
        ("index not JSON", "{", "index.json"),
        ("index without map", "{}", "weight_map"),
        ("index leaves the folder", with_map(**{tensor: "../" + shard}), re.escape(tensor)),
        ("index lies", with_map(**{tensor: other}), re.escape(tensor)),
        ("shard missing", with_map(**{tensor: "nowhere.safetensors"}), "nowhere.safetensors"),
    ]:
        write(index_path, text)
        bench.run_refuses(name, bench.sharded, sharded, pattern)

    text = bench.copy("gpt2-small")
    for name, content in [("not JSON", "{"), ("empty", "{}"), ("no model", '{"model": 3}'),
                          ("unknown model", '{"model": {"type": "Unigram", "vocab": []}}')]:
        write(os.path.join(text, "tokenizer.json"), content)
        bench.refuses(f"tokenizer {name}", [bench.text, "generate", "--weights", text, "--prompt", "hi",
                                            "--max-new-tokens", "2", "--no-cache"], "tokenizer.json")


def mlir(bench):
    folder = os.path.join(bench.golden, "llama-gqa")
    model = programs.run([bench.batonc, folder, "--emit=model"]).stdout
    plan = programs.run([bench.batonc, folder, "--emit=event"]).stdout
    path = os.path.join(bench.scratch, "bad.mlir")
    waits = re.search(r"waits \[#event\.wait<[^>]*->[^>]*->[^>]*>", plan)
    expect(waits, "the plan has no wait to remove")
    for name, text, pattern in [
        ("not MLIR", "hello", "bad.mlir:1"),
        ("truncated", model[: len(model) // 2], "bad.mlir:"),
        ("empty", "", "0 programs"),
        ("two programs", model + model.replace("@llama", "@twin"), "2 programs|bad.mlir"),
        ("unknown op", model.replace("model.embedding", "model.levitation", 1), "levitation"),
        ("unknown dialect", model.replace("model.embedding", "magic.embedding", 1), "magic"),
        ("inconsistent shapes", model.replace("<131 x 60 x f32>", "<130 x 60 x f32>"), "bad.mlir:"),
        ("dimension zero", model.replace("rows x 60", "rows x 0"), "at least 1|bad.mlir"),
        ("max_seq negative", re.sub(r"max_seq \d+", "max_seq -4", model), "max_seq"),
        ("unknown body", plan.replace('"attention"', '"levitation"'), "levitation"),
        ("logits that nobody gets", re.sub(r"event\.advance @\S+", "", plan), "event.advance"),
        ("no notification", re.sub(r"notifies <@[^>]*->[^>]*>", "", plan, count=1), "notif|wait"),
    ]:
        write(path, text)
        bench.compile_refuses(f"mlir {name}", path, pattern)
    # A plan whose proof fails: some task no longer waits.
    lines = plan.splitlines()
    for i, line in enumerate(lines):
        if '"layers.self_attn.attention"' in line:
            lines[i] = re.sub(r" waits \[.*?\](?= notifies)", "", line)
            expect(lines[i] != line, "attention does not wait")
    write(path, "\n".join(lines))
    bench.compile_refuses("plan with a race", path, "layers.self_attn")
    write(path, model)
    bench.compile_refuses("--dtype with IR", path, "--dtype", "--dtype=bf16")
    bench.compile_refuses("--max-seq over IR", path, "--max-seq", "--max-seq=100000")


def cache(bench):
    """The cache of packed weights: used, refused when damaged, done without."""
    folder = bench.copy("llama-gqa")
    command = [bench.llama, "generate", "--weights", folder, "--tokens", "1,2,3", "--max-new-tokens", "8", "--json"]

    def tokens():
        return json.loads(programs.run(command).stdout)["tokens"]

    expected = tokens()
    store = os.path.join(folder, ".baton")
    (packed,) = os.listdir(store)
    path = os.path.join(store, packed)
    whole = read(path)
    expect(tokens() == expected, "packed weights give other tokens")
    for name, data in [("truncated", whole[: len(whole) // 2]), ("flipped", whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]),
                       ("empty", b"")]:
        write(path, data)
        expect(tokens() == expected, f"{name} packed weights give other tokens")
        expect(read(path) == whole, f"{name} packed weights were not written again")
    shutil.rmtree(store)
    write(store, "in the way")
    result = programs.run(command)
    expect(json.loads(result.stdout)["tokens"] == expected, "without a cache the tokens differ")
    expect(".baton" in result.stderr, "nobody said that the cache cannot be written")
    os.remove(store)
    programs.run(command + ["--no-cache"])
    expect(not os.path.exists(store), "--no-cache wrote a cache")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--golden", required=True)
    parser.add_argument("groups", nargs="*")
    arguments = parser.parse_args()
    everything = {"configs": configs, "flags": flags, "safetensors": safetensors, "mlir": mlir,
                  "cache": cache, "optimizers": optimizers}

    def test(scratch):
        bench = Bench(arguments, scratch)
        failures = bench.failures
        for name in arguments.groups or everything:
            try:
                everything[name](bench)
            except Failure as failure:
                failures.append(f"{name}: {failure}")
        expect(not failures, "\n".join(failures))

    programs.main(test)


if __name__ == "__main__":
    main()
