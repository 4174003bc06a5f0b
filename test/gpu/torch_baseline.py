#!/usr/bin/env python3
"""Llama and Qwen3 in PyTorch, as fast as PyTorch alone makes them: a baseline.

    torch_baseline.py check CHECKPOINT [--device cuda] [--dtype float64|float32|bfloat16]
    torch_baseline.py bench CONFIG.json --context 1024 [--decode 64] [--form compile|graph]
    torch_baseline.py bench CONFIG.json --prefill 512 [--repeat 8] [--form compile|graph]

Needs torch and nothing else: no transformers, no safetensors. `check` holds a
golden checkpoint's logits, by the whole prompt and token by token, and its greedy
tokens against the files beside it, and prints a verdict.

`bench` makes random BF16 weights on the GPU and times, by events,
- decoding: single tokens at a context, each the likeliest after the one before.
  The cache holds random numbers; every step writes the position behind the
  context, so that no mask is needed and attention may take PyTorch's fastest
  kernel, which splits the context over the GPU;
- or prefill: a whole prompt at once, and the logits of its last token.
Forms: "compile" is torch.compile(mode="reduce-overhead"), "graph" a
torch.cuda.CUDAGraph of the step as it is. Each is compared with the step as it is
first. Queries, keys and values are one linear, gate and up another.
One JSON object is printed, with every sample in milliseconds.

--dry-run, with bench: a tiny model on the CPU, one step, no times.
"""

import argparse
import glob
import json
import math
import os
import sys

import torch
import torch.nn.functional as F

TOLERANCES = {"float64": 2e-4, "float32": 2e-4, "bfloat16": 5e-2}
TINY = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, vocab_size=101)
WARM_UP = 10


def inverse_frequencies(config, width):
    """Of the rotary embedding, in F64; types "default" and "llama3"."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    theta = rope.get("rope_theta", config.get("rope_theta", 10000.0))
    frequencies = theta ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind == "default":
        return frequencies
    if kind != "llama3":
        raise ValueError(f"rope of type {kind} is not there")
    trained = rope["original_max_position_embeddings"]
    turns = trained * frequencies / (2 * math.pi)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    smooth = ((turns - low) / (high - low)).clamp(0, 1)
    return frequencies * (smooth + (1 - smooth) / rope["factor"])


class Layer(torch.nn.Module):
    def __init__(self, model, weights, prefix):
        super().__init__()
        self.model = [model]  # in a list: not a child
        join = lambda names, end: torch.cat([weights(f"{prefix}{name}.{end}") for name in names])
        qkv = [f"self_attn.{name}_proj" for name in "qkv"]
        pair = ["mlp.gate_proj", "mlp.up_proj"]
        self.qkv = torch.nn.Parameter(join(qkv, "weight"))
        self.gate_up = torch.nn.Parameter(join(pair, "weight"))
        has = lambda name: model.config.get(name, False)
        optional = lambda there, make: torch.nn.Parameter(make()) if there else None
        weight = lambda name: torch.nn.Parameter(weights(prefix + name))
        bias = lambda there, name: optional(there, lambda: weights(prefix + name))
        self.qkv_bias = optional(has("attention_bias"), lambda: join(qkv, "bias"))
        self.gate_up_bias = optional(has("mlp_bias"), lambda: join(pair, "bias"))
        self.out = weight("self_attn.o_proj.weight")
        self.out_bias = bias(has("attention_bias"), "self_attn.o_proj.bias")
        self.down = weight("mlp.down_proj.weight")
        self.down_bias = bias(has("mlp_bias"), "mlp.down_proj.bias")
        self.input_norm = weight("input_layernorm.weight")
        self.post_norm = weight("post_attention_layernorm.weight")
        norms = model.config["model_type"] == "qwen3"
        self.q_norm = bias(norms, "self_attn.q_norm.weight")
        self.k_norm = bias(norms, "self_attn.k_norm.weight")
        shape = (model.pairs, model.length, model.width)
        kind = dict(dtype=self.qkv.dtype, device=self.qkv.device)
        self.register_buffer("keys", torch.zeros(shape, **kind))
        self.register_buffer("values", torch.zeros(shape, **kind))

    def forward(self, x, positions, cos, sin, length):
        model = self.model[0]
        rows, eps = x.shape[0], model.config["rms_norm_eps"]
        norm = lambda x, weight: F.rms_norm(x, weight.shape, weight, eps)
        q, k, v = F.linear(norm(x, self.input_norm), self.qkv, self.qkv_bias).view(
            rows, -1, model.width).split([model.heads, model.pairs, model.pairs], 1)
        if self.q_norm is not None:
            q, k = norm(q, self.q_norm), norm(k, self.k_norm)

        def rotate(x):
            left, right = x.chunk(2, -1)
            return x * cos + torch.cat((-right, left), -1) * sin

        q, k = rotate(q), rotate(k)
        self.keys.index_copy_(1, positions, k.transpose(0, 1))
        self.values.index_copy_(1, positions, v.transpose(0, 1))
        out = F.scaled_dot_product_attention(
            q.transpose(0, 1)[None], self.keys[None, :, :length], self.values[None, :, :length],
            is_causal=rows > 1, enable_gqa=model.heads != model.pairs)
        out = out[0].transpose(0, 1).reshape(rows, -1)
        x = x + F.linear(out, self.out, self.out_bias)
        gate, up = F.linear(norm(x, self.post_norm), self.gate_up, self.gate_up_bias).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, self.down, self.down_bias)


class Decoder(torch.nn.Module):
    """A model with a static cache of `length` positions; `weights(name)` gives a
    checkpoint's tensor."""

    def __init__(self, config, length, weights):
        super().__init__()
        self.config, self.length = config, length
        self.heads = config["num_attention_heads"]
        self.pairs = config.get("num_key_value_heads") or self.heads
        self.width = config.get("head_dim") or config["hidden_size"] // self.heads
        self.embedding = torch.nn.Parameter(weights("model.embed_tokens.weight"))
        self.head = self.embedding if config.get("tie_word_embeddings") else torch.nn.Parameter(
            weights("lm_head.weight"))
        self.norm = torch.nn.Parameter(weights("model.norm.weight"))
        self.layers = torch.nn.ModuleList(
            Layer(self, weights, f"model.layers.{i}.") for i in range(config["num_hidden_layers"]))
        angles = torch.outer(torch.arange(length, dtype=torch.float64),
                             inverse_frequencies(config, self.width)).repeat(1, 2)
        for name, table in (("cos", angles.cos()), ("sin", angles.sin())):
            self.register_buffer(name, table.to(self.norm.dtype).to(self.norm.device))

    def forward(self, tokens, position, length, outputs=1):
        """Logits of the last `outputs` of `tokens` [rows], the first of which is at
        `position`, a tensor. Attends to the first `length` positions of the cache:
        with more than one row these are the rows."""
        x = self.embedding[tokens]
        positions = position + torch.arange(tokens.shape[0], device=tokens.device)
        cos, sin = (table[positions][:, None] for table in (self.cos, self.sin))
        for layer in self.layers:
            x = layer(x, positions, cos, sin, length)
        x = F.rms_norm(x[-outputs:], self.norm.shape, self.norm, self.config["rms_norm_eps"])
        return F.linear(x, self.head)


def stored_weights(folder, device, dtype):
    """weights(name) of a checkpoint folder; the format:
    https://github.com/huggingface/safetensors#format"""
    types = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}
    tensors = {}
    for path in glob.glob(os.path.join(folder, "*.safetensors")):
        with open(path, "rb") as file:
            data = bytearray(file.read())
        begin = 8 + int.from_bytes(data[:8], "little")
        for name, entry in json.loads(data[8:begin]).items():
            if name != "__metadata__":
                first, last = entry["data_offsets"]
                tensors[name] = torch.frombuffer(
                    data[begin + first:begin + last], dtype=types[entry["dtype"]]).view(entry["shape"])
    return lambda name: tensors[name].to(dtype).to(device)


def random_weights(config, device, dtype):
    """weights(name) by the shapes of `config`, without biases."""
    heads = config["num_attention_heads"]
    width = config.get("head_dim") or config["hidden_size"] // heads
    hidden, inner, vocabulary = (config[f"{name}_size"] for name in ("hidden", "intermediate", "vocab"))
    pairs = (config.get("num_key_value_heads") or heads) * width
    shapes = {"q_proj": (heads * width, hidden), "k_proj": (pairs, hidden), "v_proj": (pairs, hidden),
              "o_proj": (hidden, heads * width), "gate_proj": (inner, hidden),
              "up_proj": (inner, hidden), "down_proj": (hidden, inner),
              "embed_tokens": (vocabulary, hidden), "lm_head": (vocabulary, hidden)}

    def weights(name):
        kind = name.split(".")[-2]
        if kind not in shapes:
            return torch.ones(width if kind in ("q_norm", "k_norm") else hidden,
                              device=device, dtype=dtype)
        shape = shapes[kind]
        return torch.randn(shape, device=device, dtype=dtype) * shape[1] ** -0.5

    torch.manual_seed(1)
    return weights


# check -----------------------------------------------------------------------

def difference(one, other):
    """The largest, as a fraction of the largest number of `other`; NaN if any is."""
    return float((one.double() - other.double()).abs().max() / other.double().abs().max())


def check(arguments):
    dtype, device = getattr(torch, arguments.dtype), arguments.device
    load = lambda name: json.load(open(os.path.join(arguments.checkpoint, name)))
    config, case = load("config.json"), load("golden.json")
    with open(os.path.join(arguments.checkpoint, "logits.npy"), "rb") as file:
        data = file.read()
    golden = torch.frombuffer(bytearray(data[data.index(b"\n") + 1:]),
                              dtype=torch.float32).view(-1, config["vocab_size"])
    greedy = case["greedy"]
    length = max(len(case["tokens"]), len(greedy["prompt"]) + len(greedy["new_tokens"]))
    model = Decoder(config, length, stored_weights(arguments.checkpoint, device, dtype))

    def step(tokens, position, outputs=1):
        return model(torch.tensor(tokens, device=device), torch.tensor(position, device=device),
                     position + len(tokens), outputs).cpu()

    tokens = case["tokens"]
    whole = step(tokens, 0, len(tokens))
    singly = torch.cat([step([token], i) for i, token in enumerate(tokens)])
    answer, logits = [], step(greedy["prompt"], 0)
    for i in range(len(greedy["new_tokens"])):
        answer.append(int(logits[-1].argmax()))
        logits = step(answer[-1:], len(greedy["prompt"]) + i)
    result = {"difference": difference(whole, golden), "difference_decoded": difference(singly, golden),
              "greedy_tokens": answer == greedy["new_tokens"], "torch": torch.__version__}
    tolerance = TOLERANCES[arguments.dtype]
    # Negated, so that NaN fails. BF16 may choose another of two close tokens.
    right = (not (result["difference"] > tolerance or result["difference_decoded"] > tolerance)
             and math.isfinite(result["difference"] + result["difference_decoded"])
             and (result["greedy_tokens"] or arguments.dtype == "bfloat16"))
    return result | {"tolerance": tolerance, "verdict": "right" if right else "WRONG"}


# bench -----------------------------------------------------------------------

def in_form(form, step):
    """A function that runs `step` in a form; it returns what step returned, in
    memory that the next call may write over."""
    if form == "compile":
        return torch.compile(step, mode="reduce-overhead", fullgraph=True)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = step()

    def replay():
        graph.replay()
        return result
    return replay


def timed(run, count):
    """Milliseconds of each of `count` calls, one behind the other on the GPU."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    events[0].record()
    for event in events[1:]:
        run()
        event.record()
    torch.cuda.synchronize()
    return [one.elapsed_time(other) for one, other in zip(events, events[1:])]


def bench(arguments):
    with open(arguments.config) as file:
        config = json.load(file)
    device = "cpu" if arguments.dry_run else "cuda"
    if arguments.dry_run:
        config |= TINY
        arguments.context, arguments.prefill = (min(n, 12) if n else n
                                                for n in (arguments.context, arguments.prefill))
    rows = arguments.prefill or 1
    length = arguments.prefill or arguments.context + 1
    model = Decoder(config, length, random_weights(config, device, torch.bfloat16))
    tokens = torch.randint(config["vocab_size"], (rows,), device=device)
    position = torch.tensor(length - rows, device=device)
    if not arguments.prefill:
        for layer in model.layers:
            layer.keys.normal_()
            layer.values.normal_()

    def step():
        return model(tokens, position, length)

    expected = step().float()
    if arguments.dry_run:
        # In one graph, as the form "compile" needs; without its compiler.
        traced = torch.compile(step, fullgraph=True, backend="eager")().float()
        right = difference(traced, expected) < TOLERANCES["bfloat16"]
        return {"dry_run": True, "verdict": "nothing was measured" if right else "WRONG"}

    run = in_form(arguments.form, step)
    error = difference(run().float(), expected)
    result = {"engine": "torch", "form": arguments.form, "torch": torch.__version__,
              "difference_from_eager": error,
              "verdict": "right" if error < TOLERANCES["bfloat16"] else "WRONG"}

    def work():
        logits = run()
        if rows == 1:
            tokens.copy_(logits[-1].argmax()[None])

    timed(work, WARM_UP)
    return result | {"milliseconds": timed(work, arguments.repeat if arguments.prefill
                                           else arguments.decode)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("check")
    command.add_argument("checkpoint")
    command.add_argument("--device", default="cpu")
    command.add_argument("--dtype", default="float64", choices=list(TOLERANCES))
    command.set_defaults(work=check)
    command = commands.add_parser("bench")
    command.add_argument("config")
    size = command.add_mutually_exclusive_group(required=True)
    size.add_argument("--context", type=int, default=0)
    size.add_argument("--prefill", type=int, default=0)
    command.add_argument("--decode", type=int, default=64)
    command.add_argument("--repeat", type=int, default=8)
    command.add_argument("--form", default="graph", choices=["compile", "graph"])
    command.add_argument("--dry-run", action="store_true")
    command.set_defaults(work=bench)
    arguments = parser.parse_args()
    try:
        with torch.no_grad():
            result = arguments.work(arguments)
    except (OSError, KeyError, ValueError, RuntimeError) as error:
        sys.exit(f"error: {type(error).__name__}: " + (str(error).strip() or "no message").splitlines()[0])
    print(json.dumps(result))
    sys.exit(result["verdict"] == "WRONG")


if __name__ == "__main__":
    main()
