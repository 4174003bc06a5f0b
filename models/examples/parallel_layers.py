"""Attention and the feed-forward layer side by side, behind one norm."""

import decoders


def block(model, config, x, attention):
    normed = model.rms_norm("layers.{layer}.input_layernorm", x, config["rms_norm_eps"])
    return x + (attention(normed) + decoders.feed_forward(model, config, normed))


decoders.main(lambda config: decoders.decoder(config, decoders.rotary_attention(config), block))
