"""README's first command, with what is built already and few steps: it trains,
what it trains decodes, and the files that it names are there and well-formed.
Losses of the first steps are the same each time. It says how many of the words that
the model writes are the text's, and fails when they are no more than chance.

In a tree whose text is docs/reference alone, with programs that are compiled quickly; with
--whole in this one, as a user runs it, and another checkpoint takes the other way."""

import argparse
import json
import os
import random
import shutil
import sys
import xml.etree.ElementTree

import programs
from programs import expect, quick_batonc, run

# For tools/test --changed: the text that it learns may be any, so that sources are no input.
INPUTS = ["tools/demo", "tools/show-losses", "tools/compare-words", "tools/random-checkpoint", "models/examples/bytes/*"]

STEPS = 16


def small_tree(root, tree):
    """A tree with the folders that the text is found in, most of them without files: validation
    takes a share of the text."""
    for name in ("compiler", "dialects", "passes", "runtime"):
        os.makedirs(os.path.join(tree, name))
    os.symlink(os.path.join(root, "tools"), os.path.join(tree, "tools"))
    for name in ("docs/reference", "models/examples"):
        shutil.copytree(os.path.join(root, name), os.path.join(tree, name))
    return tree


def test(arguments, scratch):
    path = lambda *names: os.path.join(scratch, *names)
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    build = os.path.dirname(os.path.dirname(os.path.abspath(arguments.batonc)))
    tree = root if arguments.whole else small_tree(os.path.abspath(root), path("tree"))
    if not arguments.whole:
        os.makedirs(path("quick", "bin"))
        build = path("quick")
        quick_batonc(os.path.abspath(arguments.batonc), path("quick", "bin", "batonc"))
    demo = [os.path.join(tree, "tools/demo"), "--build", build]

    def lines_of(folder):
        with open(path(folder, "run", "losses.jsonl")) as file:
            lines = [json.loads(line) for line in file]
        for line in lines:
            del line["tokens_per_s"]
        return lines

    result = run([*demo, "--scratch", path("demo"), "--steps", STEPS])
    lines = lines_of("demo")
    expect([line["step"] for line in lines] == list(range(1, STEPS + 1)), f"steps: {lines}")
    expect(5.2 < lines[0]["loss"] < 5.9, f"random weights know something: {lines[0]}")
    expect(lines[-1]["loss"] < 0.8 * lines[0]["loss"], f"learns nothing: {lines[-1]}")
    expect(sum("validation_loss" in line for line in lines) == 4, f"validations: {lines}")
    expect(result.stdout.count("####") >= 10, f"no losses are shown: {result.stdout}")

    expect("words that were written occur in the text that was learnt from" in result.stdout,
           f"nothing is said of what is written: {result.stdout}")
    words = [sys.executable, os.path.join(root, "tools/compare-words"), path("demo", "text.txt")]
    with open(path("demo", "text.txt"), encoding="utf-8") as file:
        learnt = file.read(20000)
    shuffled = list(learnt)
    random.Random(1).shuffle(shuffled)
    for name, written, imitates in (("learnt", learnt, True), ("shuffled", "".join(shuffled), False)):
        with open(path(name), "w", encoding="utf-8") as file:
            file.write(written)
        found = run([*words, path(name)], check=False)
        expect((found.returncode == 0) == imitates and "%" in found.stdout, f"{name} text: {found}")
        expect(imitates or found.stderr == "error: what was written does not imitate the text\n", f"{name}: {found}")

    named = [line.split()[0] for line in result.stdout.split("To open:")[1].splitlines()[1:]]
    expect(len(named) == 5, f"names {named}")
    for name in named:
        expect(os.path.getsize(name) > 1000, f"{name} is empty")
    svg, decoding, training, *traces = named
    xml.etree.ElementTree.parse(svg)
    for page in (decoding, training):
        with open(page) as file:
            expect("</html>" in file.read(), f"{page} is cut off")
    for trace, steps in zip(traces, (3, 1)):
        with open(trace) as file:
            events = json.load(file)["traceEvents"]
        found = sum(event.get("cat") == "step" for event in events)
        expect(found >= steps, f"{trace} holds {found} steps")
    print(f"{STEPS} steps: {lines[0]['loss']:.2f} to {lines[-1]['loss']:.2f}; {len(named)} files to open")
    if arguments.whole:
        run([os.path.join(root, "tools/random-checkpoint"), path("checkpoint"), "--hidden", 64, "--layers", 2])
        answer = run([*demo, "--scratch", path("other"), path("checkpoint")]).stdout
        expect("tokens/s" in answer, f"a checkpoint of one's own: {answer}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--whole", action="store_true", help="of the whole tree, and of a checkpoint")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
