"""What PyTorch computes of pairs of answers: direct preference optimisation.

Writes preferences.json beside each checkpoint in CASES, and, for those that have one in
adapters/, of that adapter beside it: pairs of texts, whose bytes are tokens; in F64 what
each of ten steps of AdamW comes to over all of them (loss, rewards, log-probabilities, as
TRL's DPOTrainer logs them), and of the first and the last step's gradients, each
parameter's norm, projections and the relative error of PyTorch's own F32.
"""

import random
import sys

import torch
import transformers

import adapters
import gradients
from gradients import HERE, describe, dump, is_vector, model_of

# Their vocabularies hold all bytes. An output projection that is an embedding's, too, and one that
# is not.
CASES = ("gpt2-small", "llama3-rope")
STEPS = 10
BETA = 0.3
ADAMW = {"lr": 2e-4, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.1}
WORDS = ("ab", "no", "it is", "yes", "why", "ä", "17", "?", "never", "of")


def pairs():
    """Prompts that both answers share, answers of other lengths."""
    generator = random.Random(5)
    text = lambda most: " ".join(generator.choices(WORDS, k=generator.randrange(1, most)))
    return [{"prompt": text(4) + ":", "chosen": " " + text(6), "rejected": " " + text(4)} for _ in range(6)]


def end_of(folder):
    """The token behind an answer: a stop token, if it is no byte."""
    tokens = transformers.AutoConfig.from_pretrained(folder).eos_token_id
    tokens = tokens if isinstance(tokens, list) else [tokens]
    return [token for token in tokens if token is not None and token >= 256][:1]


def log_probability(model, prompt, answer, end):
    """Of the answer's tokens."""
    prompt, answer = list(prompt.encode()), [*answer.encode(), *end]
    tokens = torch.tensor([prompt + answer])
    logits = model(tokens[:, :-1]).logits[0].log_softmax(-1)
    return logits.gather(-1, tokens[0, 1:, None])[len(prompt) - 1:].sum()


def log_probabilities(model, all_pairs, end):
    return torch.stack([torch.stack([log_probability(model, pair["prompt"], pair[key], end)
                                     for key in ("chosen", "rejected")]) for pair in all_pairs])


def loss_of(found, reference):
    """The loss, and what is reported beside it."""
    rewards = BETA * (found - reference)
    margins = rewards[:, 0] - rewards[:, 1]
    loss = -torch.nn.functional.logsigmoid(margins).mean()
    return loss, {"loss": loss, "rewards/chosen": rewards[:, 0].mean(), "rewards/rejected": rewards[:, 1].mean(),
                  "rewards/margins": margins.mean(), "rewards/accuracies": (margins > 0).double().mean(),
                  "logps/chosen": found[:, 0].mean(), "logps/rejected": found[:, 1].mean()}


def run(model, named, all_pairs, end, dtype):
    """Reports of all steps, and the gradients of the first and the last."""
    with torch.no_grad():
        reference = log_probabilities(model, all_pairs, end)
    parameters = [parameter for _, parameter in named]
    optimizer = torch.optim.AdamW(
        [{"params": [p for name, p in named if not is_vector(name, p)]},
         {"params": [p for name, p in named if is_vector(name, p)], "weight_decay": 0.0}], **ADAMW)
    reports, found = [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss, report = loss_of(log_probabilities(model, all_pairs, end), reference)
        loss.backward()
        reports.append({key: value.item() for key, value in report.items()})
        if step in (0, STEPS - 1):
            found.append({name: parameter.grad.double().clone() for name, parameter in named})
        torch.nn.utils.clip_grad_norm_(parameters, gradients.CLIP)
        optimizer.step()
    return reports, found


def write(folder, target, load, named_of):
    all_pairs, end = pairs(), end_of(folder)

    def of(dtype):
        model = load(dtype)
        return run(model, named_of(model), all_pairs, end, dtype)

    reports, exact = of(torch.float64)
    _, single = of(torch.float32)
    result = {"pairs": all_pairs, "beta": BETA, "steps": reports,
              "settings": {"--lr": ADAMW["lr"], "--weight-decay": ADAMW["weight_decay"], "--clip": gradients.CLIP}}
    for key, one, other in zip(("first", "last"), exact, single):
        result[key] = describe(one, other)
    dump(target / "preferences.json", result)
    print(target.relative_to(HERE), [round(report["loss"], 4) for report in reports])


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
