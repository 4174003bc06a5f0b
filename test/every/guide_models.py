"""What the pages' models compute, in F64 by plain Python, and their checkpoints."""

import json
import math
import os
import random
import struct


def product(matrix, vector):
    return [math.fsum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def transposed(matrix):
    return list(zip(*matrix))


def added(one, other):
    return [a + b for a, b in zip(one, other, strict=True)]


def write_weights(folder, shapes):
    """A checkpoint of random numbers in F32, and what they are: rows, or one row."""
    generator = random.Random(1)
    header, data, weights = {}, b"", {}
    for name, shape in shapes.items():
        count = math.prod(shape)
        numbers = struct.pack(f"<{count}f", *(generator.uniform(-1, 1) for _ in range(count)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
        values = struct.unpack(f"<{count}f", numbers)
        columns = shape[-1]
        weights[name] = values if len(shape) == 1 else [values[i:i + columns] for i in range(0, count, columns)]
    os.makedirs(folder, exist_ok=True)
    text = json.dumps(header).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    return weights


class SquaredRelu:
    """docs/adding-an-op.md: logits of a token follow from it alone."""

    FLAGS = []
    SHAPES = {"embedding": [11, 12], "up": [20, 12], "down": [12, 20], "head": [11, 12]}
    PROGRAM = """
!embedded = !model.tensor<rows x 12 x f32>
!wide = !model.tensor<rows x 20 x f32>
!last = !model.tensor<outputs x 12 x f32>
!table = !model.tensor<11 x 12 x f32>
model.program @guide max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["embedding"] : !table
  %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !table) -> !embedded
  %up = model.parameter ["up"] : !model.tensor<20 x 12 x f32>
  %wide = model.linear %x, %up : (!embedded, !model.tensor<20 x 12 x f32>) -> !wide
  %active = model.squared_relu %wide : (!wide) -> !wide
  %down = model.parameter ["down"] : !model.tensor<12 x 20 x f32>
  %narrow = model.linear %active, %down : (!wide, !model.tensor<12 x 20 x f32>) -> !embedded
  %sum = model.add %x, %narrow : (!embedded, !embedded) -> !embedded
  %last = model.last_rows %sum : (!embedded) -> !last
  %head = model.parameter ["head"] : !table
  %logits = model.linear %last, %head : (!last, !table) -> !model.tensor<outputs x 11 x f32>
  model.return %logits : !model.tensor<outputs x 11 x f32>
}
"""

    def __init__(self, folder):
        """Writes the model and its checkpoint."""
        self.folder, self.model = folder, os.path.join(folder, "model.mlir")
        self.weights = write_weights(folder, self.SHAPES)
        with open(self.model, "w", encoding="utf-8") as file:
            file.write(self.PROGRAM)

    def forward(self, token):
        """(x, wide, active, sum, logits)"""
        x = self.weights["embedding"][token]
        wide = product(self.weights["up"], x)
        active = [max(value, 0.0) ** 2 for value in wide]
        total = added(x, product(self.weights["down"], active))
        return x, wide, active, total, product(self.weights["head"], total)

    def logits(self, tokens):
        return [self.forward(token)[-1] for token in tokens]

    def train(self, tokens):
        """The mean loss of all tokens but the first, and gradients of all parameters."""
        gradients = {name: [[0.0] * columns for _ in range(rows)] for name, (rows, columns) in self.SHAPES.items()}
        losses = []
        for token, target in zip(tokens, tokens[1:]):
            x, wide, active, total, logits = self.forward(token)
            exponentials = math.fsum(map(math.exp, logits))
            losses.append(math.log(exponentials) - logits[target])
            dlogits = [(math.exp(logit) / exponentials - (i == target)) / (len(tokens) - 1)
                       for i, logit in enumerate(logits)]
            dtotal = product(transposed(self.weights["head"]), dlogits)
            dactive = product(transposed(self.weights["down"]), dtotal)
            dwide = [dy * 2 * max(value, 0.0) for dy, value in zip(dactive, wide)]
            dx = added(dtotal, product(transposed(self.weights["up"]), dwide))
            for name, left, right in (("head", dlogits, total), ("down", dtotal, active), ("up", dwide, x)):
                for i, a in enumerate(left):
                    gradients[name][i] = added(gradients[name][i], [a * b for b in right])
            gradients["embedding"][token] = added(gradients["embedding"][token], dx)
        return math.fsum(losses) / len(losses), {name: sum(rows, []) for name, rows in gradients.items()}


class Exaone4:
    """docs/adding-a-model.md, after transformers' Exaone4ForCausalLM."""

    FLAGS = []
    SHAPE = {"hidden_size": 20, "intermediate_size": 28, "num_hidden_layers": 3, "num_attention_heads": 4,
             "num_key_value_heads": 2, "head_dim": 6, "vocab_size": 13, "max_position_embeddings": 64,
             "rms_norm_eps": 1e-3, "rope_theta": 100.0, "tie_word_embeddings": False, "hidden_act": "silu"}
    CONFIG = SHAPE | {"architectures": ["Exaone4ForCausalLM"], "model_type": "exaone4", "sliding_window": 3,
                      "layer_types": ["sliding_attention", "sliding_attention", "full_attention"]}
    HEADS, SHARED, DIMENSION = 4, 2, 6

    def __init__(self, folder):
        self.folder = self.model = folder
        width, inside, vocabulary = (self.CONFIG[name] for name in ("hidden_size", "intermediate_size", "vocab_size"))
        queries, keys = self.HEADS * self.DIMENSION, self.SHARED * self.DIMENSION
        shapes = {"model.embed_tokens.weight": [vocabulary, width]}
        for layer in range(self.CONFIG["num_hidden_layers"]):
            for name, shape in {
                    "self_attn.q_proj": [queries, width], "self_attn.k_proj": [keys, width],
                    "self_attn.v_proj": [keys, width], "self_attn.o_proj": [width, queries],
                    "mlp.gate_proj": [inside, width], "mlp.up_proj": [inside, width],
                    "mlp.down_proj": [width, inside], **self.norms(width)}.items():
                shapes[f"model.layers.{layer}.{name}.weight"] = shape
        shapes |= {"model.norm.weight": [width], "lm_head.weight": [vocabulary, width]}
        self.weights = write_weights(folder, shapes)
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump(self.CONFIG, file)

    def norms(self, width):
        """Those of a layer, with their shapes."""
        return {"self_attn.q_norm": [self.DIMENSION], "self_attn.k_norm": [self.DIMENSION],
                "post_attention_layernorm": [width], "post_feedforward_layernorm": [width]}

    def linear(self, module, x):
        return product(self.weights[f"model.{module}.weight"], x)

    def norm(self, module, x):
        divisor = math.sqrt(math.fsum(value * value for value in x) / len(x) + self.CONFIG["rms_norm_eps"])
        return [weight * value / divisor for weight, value in zip(self.weights[f"model.{module}.weight"], x)]

    def heads(self, x):
        return [x[i:i + self.DIMENSION] for i in range(0, len(x), self.DIMENSION)]

    def rotated(self, heads, position):
        half = self.DIMENSION // 2
        angles = [position * self.CONFIG["rope_theta"] ** (-i / half) for i in range(half)]
        turn = lambda head, i: (
            head[i] * math.cos(angles[i]) - head[i + half] * math.sin(angles[i]) if i < half else
            head[i] * math.cos(angles[i - half]) + head[i - half] * math.sin(angles[i - half]))
        return [[turn(head, i) for i in range(self.DIMENSION)] for head in heads]

    def window(self, layer):
        """How many positions a layer's rows see, or None for all."""
        return self.CONFIG["sliding_window"] if self.CONFIG["layer_types"][layer] == "sliding_attention" else None

    def turned(self, module, which, x, position):
        """Heads of queries or keys: those of layers that see all positions do not turn."""
        heads = [self.norm(f"{module}.{which}_norm", head) for head in self.heads(self.linear(f"{module}.{which}_proj", x))]
        return self.rotated(heads, position) if self.window(int(module.split(".")[1])) else heads

    def attention(self, module, rows):
        window = self.window(int(module.split(".")[1])) or len(rows)
        keys, values, results = [], [], []
        for position, x in enumerate(rows):
            queries = self.turned(module, "q", x, position)
            keys = [*keys, self.turned(module, "k", x, position)][-window:]
            values = [*values, self.heads(self.linear(module + ".v_proj", x))][-window:]
            mixed = []
            for head, query in enumerate(queries):
                shared = head * self.SHARED // self.HEADS
                scores = [math.fsum(a * b for a, b in zip(query, key[shared])) / math.sqrt(self.DIMENSION)
                          for key in keys]
                parts = [math.exp(score - max(scores)) for score in scores]
                mixed += [math.fsum(part * value[shared][i] for part, value in zip(parts, values)) / math.fsum(parts)
                          for i in range(self.DIMENSION)]
            results.append(self.linear(module + ".o_proj", mixed))
        return results

    def feed_forward(self, module, x):
        gates = [gate / (1 + math.exp(-gate)) for gate in self.linear(module + ".gate_proj", x)]
        inner = [gate * up for gate, up in zip(gates, self.linear(module + ".up_proj", x))]
        return self.linear(module + ".down_proj", inner)

    def block(self, layer, rows):
        rows = [added(x, self.norm(layer + ".post_attention_layernorm", y))
                for x, y in zip(rows, self.attention(layer + ".self_attn", rows))]
        return [added(x, self.norm(layer + ".post_feedforward_layernorm", self.feed_forward(layer + ".mlp", x)))
                for x in rows]

    def logits(self, tokens):
        rows = [self.weights["model.embed_tokens.weight"][token] for token in tokens]
        for i in range(self.CONFIG["num_hidden_layers"]):
            rows = self.block(f"layers.{i}", rows)
        return [product(self.weights["lm_head.weight"], self.norm("norm", x)) for x in rows]


class RoundedLlama(Exaone4):
    """docs/adding-a-weight-format.md: transformers' LlamaForCausalLM with rounded linears."""

    FLAGS = ["--dtype=i8"]
    CONFIG = Exaone4.SHAPE | {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}

    def __init__(self, folder):
        super().__init__(folder)
        for name, rows in self.weights.items():
            if "_proj." in name or "lm_head." in name:
                self.weights[name] = [self.rounded(row) for row in rows]

    @staticmethod
    def rounded(row):
        """As whole numbers of a step, an F32, of which the largest weight is 127."""
        (step,) = struct.unpack("<f", struct.pack("<f", max(map(abs, row)) / 127))
        return [round(weight / step) * step for weight in row]

    def norms(self, width):
        return {"input_layernorm": [width], "post_attention_layernorm": [width]}

    def window(self, layer):
        return None

    def turned(self, module, which, x, position):
        return self.rotated(self.heads(self.linear(f"{module}.{which}_proj", x)), position)

    def block(self, layer, rows):
        normed = [self.norm(layer + ".input_layernorm", x) for x in rows]
        rows = [added(x, y) for x, y in zip(rows, self.attention(layer + ".self_attn", normed))]
        return [added(x, self.feed_forward(layer + ".mlp", self.norm(layer + ".post_attention_layernorm", x)))
                for x in rows]
