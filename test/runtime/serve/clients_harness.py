"""EleutherAI's lm-evaluation-harness: a task of a few lines."""

import json
import math
import os

# Before it is read.
os.environ.update(TQDM_DISABLE="1", HF_DATASETS_DISABLE_PROGRESS_BARS="1", HF_DATASETS_OFFLINE="1", HF_HUB_OFFLINE="1")

import lm_eval
import lm_eval.tasks
from clients_openai import complete
from clients_server import KEY, NAME, expect, expect_equal

LINES = [("The capital of France is", ["Paris", "Rome", "Oslo"], 0), ("Two and two are", ["nine", "four", "six"], 1),
         ("The sky is", ["square", "salty", "blue"], 2), ("Fire is", ["hot", "cold", "wet"], 0)]
TASK = """task: few_lines
dataset_path: json
dataset_kwargs: {{data_files: {{test: {file}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: "{{{{answer}}}}"
metric_list: [{{metric: acc, aggregation: mean, higher_is_better: true}}]
"""


def check_harness(server):
    """The harness finds the log-probabilities that the API gives."""
    folder = os.path.join(server.scratch, "tasks")
    os.makedirs(folder)
    file = os.path.join(folder, "lines.jsonl")
    with open(file, "w") as out:
        for question, choices, answer in LINES:
            print(json.dumps({"question": question, "choices": choices, "answer": answer}), file=out)
    with open(os.path.join(folder, "few_lines.yaml"), "w") as out:
        out.write(TASK.format(file=file))
    os.environ["OPENAI_API_KEY"] = KEY
    results = lm_eval.simple_evaluate(
        model="local-completions", tasks=["few_lines"], log_samples=True, bootstrap_iters=0,
        task_manager=lm_eval.tasks.TaskManager(include_path=folder, include_defaults=False),
        model_args={"model": NAME, "base_url": server.url + "/v1/completions", "tokenizer_backend": "remote",
                    "auth_token": KEY, "num_concurrent": 2, "max_length": 256})
    samples = results["samples"]["few_lines"]
    expect_equal(len(samples), len(LINES), "samples")
    right = 0
    for (question, choices, answer), sample in zip(LINES, sorted(samples, key=lambda sample: sample["doc_id"])):
        found = [float(response[0][0]) for response in sample["resps"]]
        wanted = [continuation_logprob(server, question, " " + choice) for choice in choices]
        for one, other in zip(found, wanted):
            expect(math.isclose(one, other, abs_tol=1e-3), f"{question}: the harness has {found}, the API {wanted}")
        right += max(range(len(choices)), key=wanted.__getitem__) == answer
    expect_equal(results["results"]["few_lines"]["acc,none"], right / len(LINES), "accuracy")
    print(f"lm_eval: {right} of {len(LINES)} right")


def continuation_logprob(server, text, more):
    begin = len(server.ask("/tokenize", {"prompt": text, "add_special_tokens": False})["tokens"])
    tokens = server.ask("/tokenize", {"prompt": text + more, "add_special_tokens": False})["tokens"]
    scored = complete(server, tokens, echo=True, logprobs=0, max_tokens=0).choices[0].logprobs
    return sum(scored.token_logprobs[begin:])
