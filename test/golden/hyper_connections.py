"""Hyper-connections around the layers of any decoder, which transformers does not have.

After "mHC: Manifold-Constrained Hyper-Connections" (Xie et al., 2025), in the order of
operations of the authors' kernels: a checkpoint whose config has "hyper_connections"
carries n residual streams. Parameters of a layer are attn_hc and mlp_hc, that of the
end hc_head, each with fn, base and scale.
"""

import copy

import torch


def form_of(config):
    return getattr(config, "hyper_connections", None)


class Maps(torch.nn.Module):
    """What a sublayer reads of n streams, what it writes, and how streams mix."""

    def __init__(self, form, width, norm_epsilon, mode):
        super().__init__()
        self.streams, self.mode = form["streams"], mode
        self.iterations = form.get("iterations", 10)
        self.epsilon = form.get("epsilon", 1e-6)
        self.norm_epsilon = form.get("norm_epsilon", norm_epsilon)
        n = self.streams
        self.sizes = {"none": [n], "identity": [n, n]}.get(mode, [n, n, n * n])
        count = sum(self.sizes)
        self.fn = torch.nn.Parameter(torch.empty(count, n * width))
        self.base = torch.nn.Parameter(torch.empty(count))
        self.scale = torch.nn.Parameter(torch.empty(len(self.sizes)))

    def forward(self, x):
        flat = x.flatten(-2)
        mean = flat.square().mean(-1, keepdim=True)
        logits = (flat @ self.fn.T) * torch.rsqrt(mean + self.norm_epsilon)
        parts = [
            part * scale + base
            for part, scale, base in zip(
                logits.split(self.sizes, -1), self.scale, self.base.split(self.sizes)
            )
        ]
        read = torch.sigmoid(parts[0]) + self.epsilon
        if self.mode == "none":
            return read, None, None
        write = 2 * torch.sigmoid(parts[1])
        if self.mode == "identity":
            return read, write, None
        mix = parts[2].unflatten(-1, (self.streams, self.streams))
        return read, write, self.sinkhorn(mix) if self.mode == "sinkhorn" else mix

    def sinkhorn(self, mix):
        def divide(matrix, axis):
            return matrix / (matrix.sum(axis, keepdim=True) + self.epsilon)

        mix = divide(torch.softmax(mix, -1) + self.epsilon, -2)
        for _ in range(self.iterations - 1):
            mix = divide(divide(mix, -1), -2)
        return mix


class Sublayer(Maps):
    def forward(self, x, make):
        read, write, mix = super().forward(x)
        y = make((read[..., None] * x).sum(-2))
        if mix is not None:
            x = self.mixed(mix, x)
        return write[..., None] * y[..., None, :] + x

    def mixed(self, mix, x):
        """Stream j is the sum over m of mix[m, j] times stream m."""
        return mix.transpose(-1, -2) @ x


class Head(Maps):
    def forward(self, x):
        read, _, _ = super().forward(x)
        return (read[..., None] * x).sum(-2)


class HyperLlamaLayer:
    def forward(self, hidden_states, **options):
        x = self.streams_of(hidden_states)
        x = self.attn_hc(
            x, lambda read: self.self_attn(self.input_layernorm(read), **options)[0]
        )
        return self.mlp_hc(x, lambda read: self.mlp(self.post_attention_layernorm(read)))


class HyperGpt2Layer:
    def forward(self, hidden_states, past_key_values, attention_mask, *_, use_cache=False,
                encoder_attention_mask=None, **options):
        x = self.streams_of(hidden_states)
        x = self.attn_hc(
            x,
            lambda read: self.attn(self.ln_1(read), past_key_values=past_key_values,
                                   attention_mask=attention_mask, **options)[0],
        )
        return self.mlp_hc(x, lambda read: self.mlp(self.ln_2(read)))


class Entry:
    """The first layer gets one stream."""

    def streams_of(self, x):
        return x if x.dim() == 4 else x[..., None, :].repeat(1, 1, self.attn_hc.streams, 1)


class Exit:
    """The last norm gets one stream; its head belongs to the model."""

    def forward(self, x):
        return super().forward(self.__dict__["head"](x))


def mixed_in(module, *kinds):
    module.__class__ = type("Hyper" + type(module).__name__, (*kinds, type(module)), {})


def install(model):
    """Gives a model the parameters of hyper-connections, and its layers their use."""
    config, body = model.config, model.base_model
    form, is_gpt2 = form_of(config), config.model_type == "gpt2"
    width = config.hidden_size
    epsilon = config.layer_norm_epsilon if is_gpt2 else config.rms_norm_eps
    for layer in body.h if is_gpt2 else body.layers:
        for name in ("attn_hc", "mlp_hc"):
            setattr(layer, name, Sublayer(form, width, epsilon, form.get("mode", "sinkhorn")))
        mixed_in(layer, HyperGpt2Layer if is_gpt2 else HyperLlamaLayer, Entry)
    body.hc_head = Head(form, width, epsilon, "none")
    norm = body.ln_f if is_gpt2 else body.norm
    mixed_in(norm, Exit)
    norm.__dict__["head"] = body.hc_head


def class_of(base):
    """The class of `base` with hyper-connections."""

    class Hyper(base):
        def __init__(self, config):
            super().__init__(config)
            install(self)

        def _init_weights(self, module):
            if not isinstance(module, Maps):
                super()._init_weights(module)

    Hyper.__name__ = "Hyper" + base.__name__
    return Hyper


def draw(name, parameter, form, random):
    """A parameter whose every element matters; `random` is a numpy.random.RandomState."""
    n, shape = form["streams"], tuple(parameter.shape)
    if name.endswith(".fn"):
        return 1.2 * random.standard_normal(shape) / shape[1] ** 0.5
    if name.endswith(".scale"):
        value = random.uniform(0.7, 1.3, shape)
    else:
        value = 0.6 * random.standard_normal(shape)
    if form.get("mode") == "free" and len(shape) == 1:
        # The last part is the matrix itself: near identity, or layers would explode.
        if name.endswith(".scale") and shape[0] == 3:
            value[2] *= 0.15
        elif shape[0] == n * (n + 2):
            value[2 * n :] = 0.1 * value[2 * n :] + 0.7 * numpy_identity(n)
    return value


def numpy_identity(n):
    return torch.eye(n).reshape(-1).numpy()


def planted(model, tokens, logits_of):
    """Logits with errors made on purpose, by name."""

    def changed(change):
        other = copy.deepcopy(model)
        for module in other.modules():
            if isinstance(module, Sublayer):
                change(module)
        return logits_of(other, tokens)

    def change_mixing(module):
        module.mixed = lambda mix, x: mix @ x

    def swap_parts(module):
        n = module.streams
        module.fn.data[: 2 * n] = module.fn.data[: 2 * n].roll(n, 0)

    def set_scale(module):
        module.scale.data[:] = module.scale.data.roll(1)

    yield "hyper_read_and_write_swapped", changed(swap_parts)
    yield "hyper_scales_shifted", changed(set_scale)
    mode = form_of(model.config).get("mode", "sinkhorn")
    if mode != "identity":
        yield "hyper_mixing_transposed", changed(change_mixing)
    if mode == "sinkhorn":
        yield "hyper_one_iteration", changed(lambda module: setattr(module, "iterations", 1))
