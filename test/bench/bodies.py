#!/usr/bin/env python3
"""Measures task bodies that users write: relu(gate)^2 * up and the down projection of
a feed-forward layer, in three forms, against the library's silu(gate) * up.

    test/bench/bodies.py build/bin/batonc [--dtype bf16] [--rounds 7] [--json]

| form | the body is |
|---|---|
| default | none: the default schedule, whose gated linear computes silu(gate) * up |
| recompute | the activation, which each task of the library's linear calls for its rows |
| contraction | one structured op: y[i, j] += f(gate[i, k], up[i, k]) * w[j, k] |
| library_call | the activation into a temporary, and event.library_call "linear" |

The checkpoint has random weights. The last three are one model: before anything is
timed, the bits of their logits have to be equal, of a prompt and of the tokens decoded
after it. Programs run in turn, so that whatever else the machine does hits all alike.
For each form the table has the medians of its time, and of the default's time over it
in the same round: of the whole model, and of the phases of the down projection with
its activation and its residual sum, by `bench --profile`, which has one worker.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))

ACTIVATION = '''\
      %zero = arith.constant 0.0 : f32
      %positive = arith.maximumf %g, %zero : f32
      %square = arith.mulf %positive, %positive : f32
      %product = arith.mulf %square, %u : f32
'''

ELEMENTS = '''\
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                                     affine_map<(i, j) -> (i, j)>],
                    iterator_types = ["parallel", "parallel"]}
        ins(%gate, %up : !rows, !rows) outs(%RESULT : TYPE) {
    ^bb0(%g: f32, %u: f32, %old: f32):
ACTIVATION      linalg.yield %product : f32
    }
'''.replace("ACTIVATION", ACTIVATION)

CONTRACTION = '''\
    %none = arith.constant 0.0 : f32
    linalg.fill ins(%none : f32) outs(%y : !rows)
    linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, k)>,
                                     affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%gate, %up, %w : !rows, !rows, !weight) outs(%y : !rows) {
    ^bb0(%g: f32, %u: f32, %stored: STORED, %sum: f32):
ACTIVATIONWIDENED      %term = arith.mulf %product, %FACTOR : f32
      %next = arith.addf %sum, %term : f32
      linalg.yield %next : f32
    }
'''.replace("ACTIVATION", ACTIVATION)

LIBRARY_CALL = '''\
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tall = memref.dim %gate, %c0 : !rows
    %wide = memref.dim %gate, %c1 : !rows
    %active = memref.alloca(%tall, %wide) : !temporary
''' + ELEMENTS.replace("RESULT", "active").replace("TYPE", "!temporary") + '''\
    event.library_call "linear" ins(%active, %w : !temporary, !weight) outs(%y : !rows)
'''

TYPES = '''\
!rows = memref<?x?xf32, strided<[?, 1]>>
!weight = memref<?x?xSTORED, strided<[?, 1]>>
!temporary = memref<?x?xf32>
'''

SCHEDULE = TYPES + '''\
module attributes {transform.with_named_sequence} {
  event.body @relu_squared_down grid ()[rows, past, outputs] -> (rows ceildiv TALL, TASKS)
      accesses [#event.access<read @gate, (t, c)[rows, past, outputs] -> (t * TALL, 0)
                    to (t, c)[rows, past, outputs] -> (t * TALL + TALL, 65536)>,
                #event.access<read @up, (t, c)[rows, past, outputs] -> (t * TALL, 0)
                    to (t, c)[rows, past, outputs] -> (t * TALL + TALL, 65536)>,
                #event.access<read @w, (t, c)[rows, past, outputs] -> (c * WIDE, 0)
                    to (t, c)[rows, past, outputs] -> (c * WIDE + WIDE, 65536)>,
                #event.access<write @y, (t, c)[rows, past, outputs] -> (t * TALL, c * WIDE)
                    to (t, c)[rows, past, outputs] -> (t * TALL + TALL, c * WIDE + WIDE)>] {
  ^bb0(%gate: !rows, %up: !rows, %w: !weight, %y: !rows):
CODE  }
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %mine = transform.baton.match ["model.activate", "model.mul", "model.linear"] named "layers.mlp.{act_fn,gate_up,down_proj}" in %program
    transform.baton.replace %mine with @relu_squared_down
REST  }
}
'''

RECOMPUTE = TYPES + '''\
module attributes {transform.with_named_sequence} {
  event.body @relu_squared grid ()[rows, past, outputs] -> (rows ceildiv 16)
      accesses [#event.access<read @gate, (t)[rows, past, outputs] -> (t * 16, 0)
                    to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>,
                #event.access<read @up, (t)[rows, past, outputs] -> (t * 16, 0)
                    to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>,
                #event.access<write @y, (t)[rows, past, outputs] -> (t * 16, 0)
                    to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>] {
  ^bb0(%gate: !rows, %up: !rows, %y: !rows):
''' + ELEMENTS.replace("RESULT", "y").replace("TYPE", "!rows") + '''\
  }
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %mine = transform.baton.match ["model.activate", "model.mul"] named "layers.mlp.*" in %program
    %made = transform.baton.replace %mine with @relu_squared
    transform.baton.recompute %made optional
REST  }
}
'''

REST = '''\
    %softmaxes = transform.baton.match ["model.softmax"] in %program
    transform.baton.fuse %softmaxes
    %linears = transform.baton.match ["model.linear"] in %program
    transform.baton.group %linears optional
    %norms = transform.baton.match ["model.rms_norm"] in %program
    transform.baton.recompute %norms optional
    %sums = transform.baton.match ["model.add"] in %program
    transform.baton.fuse %sums optional
    transform.yield
'''


def schedules(dtype, hidden, rows, columns):
    """(form, text) of the three forms, for weights of that type and a model so wide."""
    narrow = dtype == "bf16"
    contraction = CONTRACTION.replace(
        "WIDENED", "      %wide = arith.extf %stored : bf16 to f32\n" if narrow else "")
    contraction = contraction.replace("FACTOR", "wide" if narrow else "stored")
    fill = lambda text, code="": (text.replace("CODE", code).replace("REST", REST).replace("STORED", dtype)
                                  .replace("TASKS", str(-(-hidden // columns)))
                                  .replace("TALL", str(rows)).replace("WIDE", str(columns)))
    yield "recompute", fill(RECOMPUTE)
    yield "contraction", fill(SCHEDULE, contraction)
    yield "library_call", fill(SCHEDULE, LIBRARY_CALL)


def bench(program, arguments, *flags):
    run = subprocess.run([program, "bench", "--weights", arguments.model, "--brief", "--quiet", "--json",
                          "--prefill", str(arguments.prefill), "--decode", str(arguments.decode),
                          "--workers", "1", "--repeat", "1", *flags], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


def measure(program, arguments):
    """Seconds of a prompt and of a token: of the model, and of its down projections."""
    found = bench(program, arguments, "--profile")
    down = [phase for phase in found["profile"]
            if any(name in phase["phase"] for name in ("mlp.down_proj", "mlp.act_fn"))]
    assert down, found["profile"]
    sums = {key: sum(phase[key] for phase in down) for key in ("prefill_s", "decode_s")}
    return {"decode": 1 / found["decode_tokens_per_s"], "prefill": arguments.prefill / found["prefill_tokens_per_s"],
            "down decode": sums["decode_s"] / arguments.decode, "down prefill": sums["prefill_s"]}


def compile_forms(arguments, scratch):
    command = [arguments.batonc, arguments.model, "--quiet"]
    programs = {"default": os.path.join(scratch, "default")}
    subprocess.run([*command, "-o", programs["default"]], check=True)
    for form, text in schedules(arguments.dtype, arguments.hidden, arguments.rows, arguments.columns):
        programs[form] = os.path.join(scratch, form)
        with open(programs[form] + ".mlir", "w") as file:
            file.write(text)
        subprocess.run([*command, f"--schedule={programs[form]}.mlir", "-o", programs[form]], check=True)
    return programs


def compare(programs, arguments, scratch):
    """Ends the program unless all forms have the same logits."""
    first = None
    for form, program in programs.items():
        logits = os.path.join(scratch, "logits.npy")
        bench(program, arguments, "--logits", logits)
        with open(logits, "rb") as file:
            bits = file.read()
        if form == "default":
            continue
        if first not in (None, bits):
            sys.exit(f"error: the logits of {form} are not those of recompute; nothing is timed")
        first = bits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batonc")
    parser.add_argument("--dtype", choices=["bf16", "f32"], default="bf16", help="of the weights")
    parser.add_argument("--hidden", type=int, default=1024, help="outputs of the down projection")
    parser.add_argument("--inner", type=int, default=4096, help="its inputs")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--rows", type=int, default=48, help="of a task of the last two forms")
    parser.add_argument("--columns", type=int, default=256, help="of a task of the last two forms")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--prefill", type=int, default=256, help="tokens of the prompt")
    parser.add_argument("--decode", type=int, default=32, help="tokens decoded after it")
    parser.add_argument("--json", action="store_true", help="print one JSON object, with the time of every round")
    arguments = parser.parse_args()
    if arguments.hidden < 64 or arguments.hidden % 64:
        sys.exit("error: --hidden is a multiple of 64")
    shape = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": arguments.hidden,
             "intermediate_size": arguments.inner, "num_hidden_layers": arguments.layers,
             "num_attention_heads": arguments.hidden // 32, "num_key_value_heads": arguments.hidden // 64,
             "head_dim": 32, "vocab_size": 256, "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
             "max_position_embeddings": max(1024, arguments.prefill + arguments.decode + 1),
             "tie_word_embeddings": False, "torch_dtype": {"bf16": "bfloat16", "f32": "float32"}[arguments.dtype]}
    with tempfile.TemporaryDirectory() as scratch:
        arguments.model = os.path.join(scratch, "model")
        config = os.path.join(scratch, "config.json")
        with open(config, "w") as file:
            json.dump(shape, file)
        subprocess.run([os.path.join(ROOT, "tools/random-checkpoint"), arguments.model, "--like", config],
                       check=True, capture_output=True)
        programs = compile_forms(arguments, scratch)
        compare(programs, arguments, scratch)
        rounds = [{form: measure(program, arguments) for form, program in programs.items()}
                  for _ in range(arguments.rounds)]
    what = list(rounds[0]["default"])
    result = {form: {key: {"milliseconds": 1e3 * statistics.median(one[form][key] for one in rounds),
                           "ratio": statistics.median(one["default"][key] / one[form][key] for one in rounds)}
                     for key in what} for form in programs}
    if arguments.json:
        print(json.dumps({"shape": shape, "rows": arguments.rows, "columns": arguments.columns,
                          "prefill": arguments.prefill, "forms": result, "rounds": rounds}))
        return
    print(f"{arguments.hidden} x {arguments.inner} {arguments.dtype}, {arguments.layers} layers, tasks of {arguments.rows} "
          f"rows by {arguments.columns} columns, a prompt of {arguments.prefill} tokens, {arguments.rounds} rounds, 1 worker")
    print("recompute, contraction and library_call have the same bits; ms, and the default's time over it")
    print(f"{'form':14}" + "".join(f"{key:>20}" for key in what))
    for form, columns in result.items():
        print(f"{form:14}" + "".join(f"{columns[key]['milliseconds']:13.3f} {columns[key]['ratio']:6.2f}"
                                     for key in what))


main()
