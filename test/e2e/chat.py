"""tools/chat writes a conversation as the checkpoint's template says.

Answers are what `generate` says behind the text that the template makes of the messages,
which is spelled out here. --real also holds one with SmolLM2, which tools/fetch-model
fetches; without a network that part is skipped.
"""

import argparse
import json
import os
import subprocess
import sys

import programs
from programs import expect, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INPUTS = ["tools/chat", "tools/fetch-model", "tools/random-checkpoint", "models/examples/bytes/*"]
# With a loop control, the sandbox's helpers, and blocks whose line ends vanish.
TEMPLATE = """{%- for message in messages %}
{% if message.role == 'tool' %}{% continue %}{% endif %}
{% if message.content == 'refuse' %}
{{ raise_exception('no such word') }}
{% endif %}
<{{ message.role }}>{{ message.content | tojson }};
{% endfor %}
{% if add_generation_prompt %}
<answer>
{%- endif %}"""


def chat(*arguments, said, check=True):
    result = subprocess.run([sys.executable, os.path.join(ROOT, "tools/chat"), *map(str, arguments)], input=said,
                            capture_output=True, text=True)
    expect(not check or result.returncode == 0, f"tools/chat {arguments}: {result.stderr}")
    return result


def real(arguments, scratch):
    model = os.path.join(scratch, "smollm2.gguf")
    fetched = subprocess.run([os.path.join(ROOT, "tools/fetch-model"), "smollm2", model], capture_output=True, text=True)
    if fetched.returncode != 0:
        print(f"skipped: {fetched.stderr.strip()}")
        sys.exit(77)
    found = chat(model, "--batonc", arguments.batonc, "--scratch", scratch,
                 said="What is the capital of France?\nAnd of Italy?\n").stdout
    expect(found == "The capital of France is Paris.\nThe capital of Italy is Rome.\n", f"SmolLM2 says {found!r}")


def test(arguments, scratch):
    if arguments.real:
        real(arguments, scratch)
        return
    model = os.path.join(scratch, "model")
    run([os.path.join(ROOT, "tools/random-checkpoint"), model, "--hidden", 64, "--layers", 2])
    begin = [model, "--batonc", arguments.batonc, "--scratch", scratch, "--max-new-tokens", 8]

    result = chat(*begin, said="hello\n", check=False)
    expect(result.returncode == 1 and "has no chat template" in result.stderr, f"no template: {result.stderr}")

    for where in ("tokenizer_config.json", "chat_template.jinja"):
        with open(os.path.join(model, where), "w") as file:
            if where.endswith("json"):
                json.dump({"chat_template": [{"name": "other", "template": "no"}, {"name": "default", "template": TEMPLATE}],
                           "eos_token": {"content": "<end>"}}, file)
            else:
                file.write(TEMPLATE)
        program = os.path.join(scratch, "chat-model")
        found = chat(*begin, "--system", "Be \"brief\"", said="héllo\n\nand?\n/new\nhéllo\n").stdout
        text, answers = '<system>"Be \\"brief\\"";\n<user>"héllo";\n<answer>', []
        for more in ("and?", None):
            said = run([program, "generate", "--weights", model, "--prompt", text, "--max-new-tokens", 8, "--quiet"]).stdout
            answers.append(said if said.endswith("\n") else said + "\n")
            said = json.dumps(said.strip(), ensure_ascii=False)
            text = text.removesuffix("<answer>") + f"<assistant>{said};\n<user>{json.dumps(more)};\n<answer>"
        expect(found == "".join([*answers, answers[0]]), f"{where}: found {found!r}, expected {answers}")
        os.remove(os.path.join(model, where))

    with open(os.path.join(model, "chat_template.jinja"), "w") as file:
        file.write(TEMPLATE)
    result = chat(*begin, said="refuse\n", check=False)
    expect(result.returncode == 1 and "the chat template refuses them" in result.stderr and "no such word" in result.stderr, f"refused: {result.stderr}")
    with open(os.path.join(model, "chat_template.jinja"), "w") as file:
        file.write("{% for %}")
    result = chat(*begin, said="hello\n", check=False)
    expect(result.returncode == 1 and "model:1:8: Expected an expression" in result.stderr, f"no Jinja: {result.stderr}")
    # A template is somebody else's program: it is run in a sandbox.
    with open(os.path.join(model, "chat_template.jinja"), "w") as file:
        file.write("{{ ''.__class__.__mro__ }}")
    result = chat(*begin, said="hello\n", check=False)
    expect(result.returncode == 1 and "unsafe" in result.stderr, f"no sandbox: {result.stderr}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--real", action="store_true", help="with a trained model")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
