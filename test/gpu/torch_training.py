#!/usr/bin/env python3
"""Llama and GPT-2 trained in PyTorch, as fast as PyTorch alone makes it: a baseline.

    torch_training.py CONFIG.json --batch 4 --seq 1024 [--steps 12] [--numbers f32|tf32|bf16]

Needs torch and nothing else. Steps are compiled, and have what Baton's have: the mean
loss of all tokens, gradients clipped to a norm of 1, fused AdamW with its two averages
in F32, random weights and tokens. `numbers` is what products are computed in: F32, F32
whose factors tensor cores round to TF32, or BF16 (autocast; weights stay F32).
One JSON object is printed, with the milliseconds of every step by events.

--dry-run: a tiny model on the CPU, two steps, no times.
"""

import argparse
import json
import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

TINY = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, head_dim=8, n_embd=32, n_layer=2, n_head=4, n_positions=64,
            vocab_size=101)
WARM_UP = 4


class LlamaLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, self.heads = config["hidden_size"], config["num_attention_heads"]
        self.pairs, self.head = config["num_key_value_heads"], config["head_dim"]
        linear = lambda inputs, outputs: nn.Linear(inputs, outputs, bias=False)
        self.qkv = linear(width, (self.heads + 2 * self.pairs) * self.head)
        self.out = linear(self.heads * self.head, width)
        self.gate_up = linear(width, 2 * config["intermediate_size"])
        self.down = linear(config["intermediate_size"], width)
        self.norms = nn.ModuleList(nn.RMSNorm(width, eps=config["rms_norm_eps"]) for _ in range(2))

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        q, k, v = (self.qkv(self.norms[0](x)).view(batch, length, -1, self.head).transpose(1, 2)
                   .split([self.heads, self.pairs, self.pairs], 1))

        def rotate(x):
            left, right = x.chunk(2, -1)
            return x * cos + torch.cat((-right, left), -1) * sin

        out = F.scaled_dot_product_attention(rotate(q).to(v.dtype), rotate(k).to(v.dtype), v,
                                             is_causal=True, enable_gqa=True)
        x = x + self.out(out.transpose(1, 2).reshape(batch, length, -1))
        gate, up = self.gate_up(self.norms[1](x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Llama(nn.Module):
    def __init__(self, config, length):
        super().__init__()
        self.embedding = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.layers = nn.ModuleList(LlamaLayer(config) for _ in range(config["num_hidden_layers"]))
        self.norm = nn.RMSNorm(config["hidden_size"], eps=config["rms_norm_eps"])
        self.head = nn.Linear(config["hidden_size"], config["vocab_size"], bias=False)
        if config["tie_word_embeddings"]:
            self.head.weight = self.embedding.weight
        theta = config.get("rope_theta") or config["rope_parameters"]["rope_theta"]
        frequencies = theta ** (-torch.arange(0, config["head_dim"], 2)
                                               / config["head_dim"])
        angles = torch.outer(torch.arange(length), frequencies).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return self.head(self.norm(x))


class Gpt2Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, self.heads = config["n_embd"], config["n_head"]
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (self.qkv(self.norms[0](x)).view(batch, length, 3, self.heads, -1)
                   .permute(2, 0, 3, 1, 4))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(out.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norms[1](x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, config, length):
        super().__init__()
        self.tokens = nn.Embedding(config["vocab_size"], config["n_embd"])
        self.positions = nn.Embedding(config["n_positions"], config["n_embd"])
        self.layers = nn.ModuleList(Gpt2Layer(config) for _ in range(config["n_layer"]))
        self.norm = nn.LayerNorm(config["n_embd"])

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions.weight[:tokens.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return F.linear(self.norm(x), self.tokens.weight)


def train(arguments):
    with open(arguments.config) as file:
        config = json.load(file)
    device, steps, warm_up = "cuda", arguments.steps, WARM_UP
    if arguments.dry_run:
        config |= TINY
        device, steps, warm_up, arguments.batch, arguments.seq = "cpu", 1, 1, 2, 16
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high" if arguments.numbers == "tf32" else "highest")
    kind = {"llama": Llama, "gpt2": Gpt2}[config["model_type"]]
    model = kind(config, arguments.seq).to(device)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.02)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1,
                                  fused=None if arguments.dry_run else True)
    tokens = torch.randint(config["vocab_size"], (arguments.batch, arguments.seq + 1), device=device)

    def loss_of():
        with torch.autocast(device, torch.bfloat16, enabled=arguments.numbers == "bf16"):
            logits = model(tokens[:, :-1])
        return F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())

    compiled = loss_of if arguments.dry_run else torch.compile(loss_of)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = compiled()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    # Of weights that are nearly 0: as likely as every other token.
    first = step().item()
    for _ in range(warm_up - 1):
        step()
    losses = []
    events = []
    for _ in range(steps + 1):
        if not arguments.dry_run:
            events.append(torch.cuda.Event(enable_timing=True))
            events[-1].record()
        losses.append(step().detach())
    last = losses[-1].item()
    right = abs(first / math.log(config["vocab_size"]) - 1) < 0.1 and last < first
    result = {"engine": "torch", "torch": torch.__version__, "first_loss": first, "last_loss": last,
              "verdict": "right" if right else "WRONG"}
    if arguments.dry_run:
        return {"dry_run": True, "verdict": "nothing was measured" if right else "WRONG"}
    torch.cuda.synchronize()
    return result | {"milliseconds": [one.elapsed_time(other)
                                      for one, other in zip(events, events[1:])]}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--seq", type=int, required=True)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--numbers", default="f32", choices=["f32", "tf32", "bf16"])
    parser.add_argument("--dry-run", action="store_true")
    try:
        result = train(parser.parse_args())
    except (OSError, KeyError, ValueError, RuntimeError) as error:
        sys.exit(f"error: {type(error).__name__}: " + (str(error).strip() or "no message").splitlines()[0])
    print(json.dumps(result))
    sys.exit(result["verdict"] == "WRONG")


if __name__ == "__main__":
    main()
