"""A norm of each head's output, in front of the projection that mixes heads."""

import decoders


def attend(model, at, q, k, v, scale):
    heads = model.rms_norm(at + ".head_norm", model.attend(at, q, k, v, scale), 1e-6)
    return model.reshape(heads, ["rows", heads.shape[1] * heads.shape[2]])


decoders.main(lambda config: decoders.decoder(config, decoders.rotary_attention(config, attend=attend)))
