"""What PyTorch computes of a student beside a teacher: distillation from stored logits.

Writes distillation.json beside each checkpoint in CASES, and, for those that have one in
adapters/, of that adapter beside it: documents, whose bytes are tokens; what a teacher, which is
the checkpoint with noise, says of their targets (its likeliest tokens, the logarithms of their
probabilities at a temperature, and of the rest's, in F32); and in F64, of each of RUNS, what steps
of AdamW come to over all documents (loss, kl and nll), and of the last step's gradients, each
parameter's norm, projections and the relative error of PyTorch's own F32.
"""

import sys

import torch

import adapters
import gradients
from gradients import HERE, describe, dump, is_vector, model_of
from preferences import CASES, ADAMW, end_of, pairs

STEPS = 6
TOP_K = 5
TEMPERATURE = 2.0
# Factors of the divergence and of the cross-entropy, which the mean over targets has.
RUNS = {"forward": {"kl": 0.7, "ce": 0.3}, "reverse": {"kl": 1.0, "ce": 0.0}}


def documents():
    return [{"prompt": pair["prompt"], "completion": pair[key]} for pair in pairs() for key in ("chosen", "rejected")]


def rows_of(model, document, end):
    """The logits behind which a token of the completion follows, and these tokens."""
    prompt, answer = list(document["prompt"].encode()), [*document["completion"].encode(), *end]
    tokens = torch.tensor([prompt + answer])
    return model(tokens[:, :-1]).logits[0, len(prompt) - 1:], tokens[0, len(prompt):]


def teacher_of(folder, all_documents, end):
    """Tokens, logarithms of probabilities, and those of the rest."""
    model = model_of(folder, torch.float64)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter += 0.3 * noise * parameter.pow(2).mean().sqrt()
        logits = torch.cat([rows_of(model, document, end)[0] for document in all_documents]) / TEMPERATURE
        probabilities = logits.log_softmax(-1)
        tokens = probabilities.topk(TOP_K).indices.sort(-1).values
        named = torch.zeros_like(probabilities, dtype=torch.bool).scatter(-1, tokens, True)
        rest = probabilities.masked_fill(named, -torch.inf).logsumexp(-1)
    return tokens, probabilities.gather(-1, tokens).float(), rest.float()


def divergence_of(logits, teacher, which):
    """Of each row: over the tokens that the teacher names, and all others taken for one."""
    tokens, named, rest = teacher
    own = (logits / TEMPERATURE).log_softmax(-1)
    others = torch.zeros_like(own, dtype=torch.bool).scatter(-1, tokens, True)
    q = torch.cat([own.gather(-1, tokens), own.masked_fill(others, -torch.inf).logsumexp(-1, keepdim=True)], -1)
    p = torch.cat([named, rest[:, None]], -1).to(q.dtype)
    return ((q.exp() * (q - p)) if which == "reverse" else (p.exp() * (p - q))).sum(-1)


def run(model, named, all_documents, end, teacher, which):
    """Reports of all steps, and the gradients of the last."""
    parameters = [parameter for _, parameter in named]
    optimizer = torch.optim.AdamW(
        [{"params": [p for name, p in named if not is_vector(name, p)]},
         {"params": [p for name, p in named if is_vector(name, p)], "weight_decay": 0.0}], **ADAMW)
    reports = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        rows = [rows_of(model, document, end) for document in all_documents]
        logits, targets = (torch.cat(parts) for parts in zip(*rows))
        kl = divergence_of(logits, teacher, which).mean()
        nll = torch.nn.functional.cross_entropy(logits, targets)
        loss = RUNS[which]["kl"] * TEMPERATURE ** 2 * kl + RUNS[which]["ce"] * nll
        loss.backward()
        reports.append({"loss": loss.item(), "kl": kl.item(), "nll": nll.item()})
        found = {name: parameter.grad.double().clone() for name, parameter in named}
        torch.nn.utils.clip_grad_norm_(parameters, gradients.CLIP)
        optimizer.step()
    return reports, found


def write(folder, target, load, named_of):
    all_documents, end = documents(), end_of(folder)
    teacher = teacher_of(folder, all_documents, end)
    result = {"documents": all_documents, "temperature": TEMPERATURE, "top_k": TOP_K, "tokens": teacher[0].tolist(),
              "logps": [[float(value) for value in row] for row in teacher[1]],
              "rest": [float(value) for value in teacher[2]], "runs": {},
              "settings": {"--lr": ADAMW["lr"], "--weight-decay": ADAMW["weight_decay"], "--clip": gradients.CLIP}}
    for which, factors in RUNS.items():
        def of(dtype):
            model = load(dtype)
            return run(model, named_of(model), all_documents, end, teacher, which)

        reports, exact = of(torch.float64)
        _, single = of(torch.float32)
        result["runs"][which] = {**factors, "steps": reports, "last": describe(exact, single)}
        print(target.relative_to(HERE), which, [round(report["loss"], 4) for report in reports])
    dump(target / "distillation.json", result)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for case in CASES:
        if len(sys.argv) > 1 and case not in sys.argv[1:]:
            continue
        write(HERE / case, HERE / case, lambda dtype: model_of(HERE / case, dtype),
              lambda model: list(model.named_parameters()))
        if (HERE / "adapters" / case).exists():
            write(HERE / case, HERE / "adapters" / case, lambda dtype: adapters.adapted(case, dtype),
                  lambda model: list(adapters.pairs_of(model).items()))
