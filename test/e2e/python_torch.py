"""baton.from_torch against the modules that it is given. Skipped (77) where torch or
transformers cannot be imported; by hand:

    venv/bin/python test/e2e/python_torch.py --batonc build/bin/batonc

- decoders that have no importer (test/golden/exported.py): their golden IR is what is
  exported today, attention as one op or as products alike, with PyTorch's logits;
- golden checkpoints of families that have one: logits, and for most the importer's plan,
  byte for byte;
- modules of this file: other spellings of masks, rotations, norms and positions;
- what the dialect does not have: the error names the op and its line in this file.
"""

import argparse
import importlib
import inspect
import os
import sys
import warnings

import programs
from programs import expect

INPUTS = ["tools/python/baton/*", "test/golden/*", "test/e2e/inputs/exported/*", "test/e2e/programs.py",
          "build/bin/batonc"]
ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path[:0] = [os.path.join(ROOT, "tools/python"), os.path.join(ROOT, "test/golden")]
BOUND = 2e-4
IDENTICAL = ("llama-gqa", "llama-mha-tied", "llama3-rope", "llama-linear-rope", "mistral-window", "qwen2-windows",
             "qwen3-norms")
OTHERS = ("gpt2-small", "gemma2-caps", "phi3-partial", "phi3-long", "qwen3next-dense")

try:
    torch = importlib.import_module("torch")
    transformers = importlib.import_module("transformers")
    numpy = importlib.import_module("numpy")
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import baton  # noqa: E402
import exported  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

T, VOCABULARY, WIDTH, HEADS = 48, 61, 36, 3
EXAMPLE = torch.arange(1, 12)[None]


def distance(found, expected):
    return abs(found - expected).max() / abs(expected).max()


def check_exported():
    for case in exported.CASES:
        module = exported.module_of(case)
        model = exported.export(module)
        folder = os.path.join(ROOT, "test/e2e/inputs/exported", case)
        with open(os.path.join(folder, "model.mlir")) as file:
            expect(str(model) == file.read(), f"{case}: other IR than the golden one; see test/golden/exported.py")
        expect(str(exported.export(exported.module_of(case, "eager"))) == str(model),
               f"{case}: attention as products makes other IR")
        tokens = programs.golden(folder)["tokens"]
        error = distance(baton.compile(model, optimize=1).logits(tokens), exported.logits_of(module, tokens).numpy())
        expect(error < BOUND, f"{case}: logits are off by {error:.1e}")
        print(f"{case}: logits within {error:.1e}", flush=True)


def check_checkpoints():
    for case in (*IDENTICAL, *OTHERS):
        folder = os.path.join(ROOT, "test/golden", case)
        attention = "eager" if case.startswith("gemma") else "sdpa"
        module = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="auto", attn_implementation=attention)
        with warnings.catch_warnings():
            # PyTorch's, about phi3's table of long sequences.
            warnings.simplefilter("ignore")
            model = baton.from_torch(module.eval(), EXAMPLE)
        golden = numpy.load(os.path.join(folder, "logits.npy"))
        error = distance(baton.compile(model, optimize=1).logits(programs.golden(folder)["tokens"]), golden)
        expect(error < BOUND, f"{case}: logits are off by {error:.1e}")
        if case in IDENTICAL:
            expect(baton.emit(model, "event") == baton.emit(folder, "event"), f"{case}: the plan is not the importer's")
        print(f"{case}: logits within {error:.1e}{', the same plan' if case in IDENTICAL else ''}", flush=True)


# ---------------------------------------------------------------------------
# Modules
# ---------------------------------------------------------------------------

class Layer(nn.Module):
    """A block of the GPT kind; subclasses change pieces."""

    def __init__(self):
        super().__init__()
        self.norm, self.ends = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 50), nn.Linear(50, WIDTH)
        self.register_buffer("seen", torch.ones(T, T).tril())

    def attend(self, q, k, v):
        scores = q @ k.transpose(-2, -1) / 12 ** 0.5
        length = q.shape[2]
        scores = scores.masked_fill(self.seen[:length, :length] == 0, float("-inf"))
        return scores.softmax(-1) @ v

    def turn(self, x):
        return x

    def attention(self, x):
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        y = self.attend(self.turn(q), self.turn(k), v)
        return self.out(y.transpose(1, 2).flatten(2))

    def feed_forward(self, x):
        return self.narrow(F.gelu(self.wide(x), approximate="tanh"))

    def forward(self, x):
        x = x + self.attention(self.norm(x))
        return x + self.feed_forward(self.ends(x))


class Decoder(nn.Module):
    def __init__(self, layer, positions=True, layers=3):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(T, WIDTH) if positions else None
        self.layers = nn.ModuleList(layer() for _ in range(layers))
        self.end, self.head = nn.RMSNorm(WIDTH, eps=1e-6), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.words(tokens)
        if self.places is not None:
            x = x + self.places(torch.arange(tokens.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.end(x))


class Turning(Layer):
    """Rotations without a concatenation of tables, and a window."""

    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(T).float(), 100.0 ** (-torch.arange(6) / 6))
        self.register_buffer("cosines", angles.cos())
        self.register_buffer("sines", angles.sin())
        self.register_buffer("seen", torch.ones(T, T).tril().triu(-8))

    def turn(self, x):
        length = x.shape[2]
        c, s = self.cosines[:length], self.sines[:length]
        one, other = x.chunk(2, -1)
        return torch.cat([one * c - other * s, other * c + one * s], -1)

    def feed_forward(self, x):
        y = self.wide(x)
        return self.narrow(y * torch.sigmoid(y))


class Causal(Layer):
    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def feed_forward(self, x):
        return self.narrow(F.relu(self.wide(x))) * 0.5 - self.out(x) / 4


class Irregular(Decoder):
    """Its third layer reads what the first one wrote."""

    def forward(self, tokens):
        first = self.layers[0](self.words(tokens))
        second = self.layers[1](first)
        return self.head(self.end(self.layers[2](second + first) + second))


def check_modules():
    for layer, positions in ((Layer, True), (Turning, False), (Causal, True)):
        check_module(layer.__name__, Decoder(layer, positions).eval(), rolled=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_module("Irregular", Irregular(Causal, positions=False).eval(), rolled=False)
    expect(any("are not rolled up" in str(warning.message) for warning in caught), "nobody says that layers stay apart")


def check_module(name, module, rolled):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) / 8)
    model = baton.from_torch(module, EXAMPLE, max_seq=T)
    expect((str(model).count("model.kv_append") == 2) == rolled, f"{name}: {model}")
    tokens = torch.randint(0, VOCABULARY, (T,)).tolist()
    with torch.no_grad():
        expected = module(torch.tensor([tokens]))[0].numpy()
    error = distance(baton.compile(model, optimize=1).logits(tokens), expected)
    expect(error < BOUND, f"{name}: logits are off by {error:.1e}")

    data = torch.randint(0, VOCABULARY, (2, 25))
    logits = module.double()(data[:, :-1])
    F.cross_entropy(logits.flatten(0, 1), data[:, 1:].flatten()).backward()
    trainer = baton.compile(model, mode="train", optimize=1)
    run = trainer.train(data.flatten().tolist(), 1, seq=24, batch=2, gradients=True, validation_fraction=0)
    worst = 0.0
    for tensor, parameter in module.named_parameters():
        exact, found = parameter.grad.numpy(), run.gradients[tensor]
        worst = max(worst, numpy.linalg.norm(found - exact) / numpy.linalg.norm(exact))
    expect(worst < 1e-5, f"{name}: a gradient is off by {worst:.1e}")
    print(f"{name}: logits within {error:.1e}, gradients within {worst:.1e}", flush=True)


# ---------------------------------------------------------------------------
# Refusals
# ---------------------------------------------------------------------------

class Piece(nn.Module):
    """A layer with one op of which the dialect has nothing."""

    def __init__(self):
        super().__init__()
        self.norm, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH)
        self.register_buffer("angles", torch.outer(torch.arange(T).float(), 100.0 ** (-torch.arange(6) / 6)))


class Running(Piece):
    def forward(self, x):
        return x.cumsum(1)  # aten.cumsum


class Everywhere(Piece):
    def forward(self, x):
        x = x.unsqueeze(1)
        x = F.scaled_dot_product_attention(x, x, x)  # aten.scaled_dot_product_attention
        return x.squeeze(1)


class Sloping(Piece):
    def forward(self, x):
        x, places = x.unsqueeze(1), torch.arange(x.shape[1])
        slope = (places - places[:, None]).float().masked_fill(places > places[:, None], float("-inf"))
        x = F.scaled_dot_product_attention(x, x, x, slope)  # aten.scaled_dot_product_attention
        return x.squeeze(1)


class Interleaved(Piece):
    def forward(self, x):
        x, angles = x.unflatten(-1, (HEADS, -1)).transpose(1, 2), self.angles[:x.shape[1]]
        c, s = angles.cos(), angles.sin()
        one, other = x[..., ::2], x[..., 1::2]
        x = torch.stack([one * c - other * s, other * c + one * s], -1)  # aten.stack
        return x.flatten(-2).transpose(1, 2).flatten(-2)


class Weightless(Piece):
    def forward(self, x):
        return x + F.rms_norm(x, (WIDTH,))  # aten.rms_norm


class Shifted(Piece):
    def forward(self, x):
        return self.out(x) + 1.0  # aten.add


class Dropping(Piece):
    def forward(self, x):
        return F.dropout(self.out(x), 0.1, True)  # aten.dropout


class Mixing(Piece):
    def forward(self, x):
        return x @ x.transpose(1, 2) @ x  # aten.matmul


class Scattered(Piece):
    def forward(self, x):
        return self.out(x) * self.norm.weight  # aten.mul


REFUSED = {
    Running: "nothing for it", Everywhere: "not causal", Sloping: "adds finite numbers", Interleaved: "nothing for it",
    Weightless: "without a weight", Shifted: "multiplies by numbers", Dropping: "module.eval()",
    Mixing: "no attention", Scattered: "element by element",
}


def check_refusals():
    for layer, words in REFUSED.items():
        lines, first = inspect.getsourcelines(layer)
        (marked,) = [index for index, line in enumerate(lines) if "  # aten." in line]
        op = lines[marked].split("  # ")[1].strip()
        try:
            baton.from_torch(Decoder(layer).eval(), EXAMPLE, max_seq=T)
        except baton.Error as error:
            text = str(error)
            where = f"{os.path.basename(__file__)}:{first + marked}: {op}."
            expect(where in text and words in text and "\n" not in text, f"'{text}', expected '{where}' and '{words}'")
            continue
        expect(False, f"{layer.__name__} is not refused")
    module = Decoder(Causal).eval()
    for call, words in ((lambda: baton.from_torch(module, EXAMPLE), "max_seq is missing"),
                        (lambda: baton.from_torch(module, EXAMPLE.float(), max_seq=T), "expected token ids"),
                        (lambda: baton.from_torch(module, EXAMPLE.expand(2, -1), max_seq=T), "[1, T]"),
                        (lambda: baton.from_torch(module, EXAMPLE[:, :2], max_seq=T), "at least 3")):
        try:
            call()
            expect(False, f"nothing is refused, expected '{words}'")
        except baton.Error as error:
            expect(words in str(error), f"'{error}', expected '{words}'")
    print(f"{len(REFUSED)} modules are refused, each with its op and line")


def test(scratch):
    check_refusals()
    check_modules()
    check_checkpoints()
    check_exported()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    arguments = parser.parse_args()
    os.environ["BATON_BATONC"] = os.path.abspath(arguments.batonc)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    programs.main(test)
