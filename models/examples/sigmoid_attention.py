"""Sigmoid attention: each weight is sigmoid(score - bias) of its own score."""

import decoders

import baton


@baton.body(rows=4, scores=True)
def sigmoid(score):
    return baton.sigmoid(score - 4.0)


def attend(model, at, q, k, v, scale):
    return model.causal_attention(at, q, k, v, scale,
                                  weights=lambda scores, name: model.custom(sigmoid, scores, name=name))


decoders.main(lambda config: decoders.decoder(config, decoders.rotary_attention(config, attend=attend)))
