"""What Transformers makes of conversations: tokens, and which are the assistant's.

    VENV/bin/python test/runtime/documents/golden/conversations.py    # transformers 5.23.0

writes conversations.json: of small tokenizers (test/golden/tokenizer) and a template with
{% generation %} what apply_chat_template returns, with return_assistant_tokens_mask. Each
case also has the template without marks, which has to come to the same. Where an answer's
text changes once more messages follow, that is one document for each answer.
"""

import json
import os

from transformers import PreTrainedTokenizerFast

HERE = os.path.dirname(os.path.abspath(__file__))
TOKENIZERS = os.path.join(HERE, "../../../golden/tokenizer")
OPEN, CLOSE = "{% generation %}", "{% endgeneration %}"

CHATML = """{% for message in messages %}<|im_start|>{{ message.role }}
{% if message.role == 'assistant' %}[{{ message.content }}<|im_end|>]{% else %}{{ message.content }}<|im_end|>{% endif %}

{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
LLAMA3 = ("{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message.role }}<|end_header_id|>\n\n"
          "{% if message.role == 'assistant' %}[{{ message.content | trim }}<|eot_id|>]{% else %}"
          "{{ message.content | trim }}<|eot_id|>{% endif %}{% endfor %}"
          "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}")
PHI3 = ("{{ bos_token }}{% for message in messages %}{% if message.role == 'assistant' %}<|assistant|>\n[{{ message.content }}<|end|>]\n"
        "{% else %}<|user|>\n{{ message.content }}<|end|>\n{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>\n{% endif %}")
BRACKETS = ("{{ bos_token }}{% for message in messages %}{% if message.role == 'assistant' %}"
            "[ {{ message.content | trim }}{{ eos_token }}]{% else %}{{ '[INST] ' + message.content + ' [/INST]' }}"
            "{% endif %}{% endfor %}")
# Thoughts of earlier answers are left out, and an answer may begin with the end of them.
THINKING = """{% for message in messages %}<|im_start|>{{ message.role }}
{% if message.role == 'assistant' %}[{% if loop.last %}<think>
{{ message.reasoning_content | default('') }}
</think>
{% endif %}{{ message.content }}<|im_end|>]{% else %}{{ message.content }}<|im_end|>{% endif %}

{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

TURNS = [("user", "What joins two tokens?"), ("assistant", "A merge joins them."), ("user", "And then?"),
         ("assistant", "The next one, until none is left.")]
CONVERSATIONS = [
    TURNS,
    [("user", "How many workers?"), ("assistant", "12"), ("user", "Thanks.")],
    [("user", "日本語？"), ("assistant", "日本語のテキスト 😀 café"), ("user", "naïve"), ("assistant", "straße")],
    [("user", " spaces "), ("assistant", "\n\n  begins with lines\n"), ("user", "x"), ("assistant", "ends with spaces  ")],
    # Decomposed: a normalizer makes other bytes of it.
    [("user", "cafe\u0301"), ("assistant", "cafe\u0301, e\u0301te\u0301"), ("user", "e\u0301"), ("assistant", "o\u0308")],
]
CASES = [("qwen-420", CHATML, CONVERSATIONS + [[("system", "Be brief."), *TURNS]]),
         ("smollm-298", CHATML, CONVERSATIONS), ("llama3-560", LLAMA3, CONVERSATIONS),
         ("phi3-280", PHI3, CONVERSATIONS), ("gemma-320", BRACKETS, CONVERSATIONS),
         ("llama2-300", BRACKETS, CONVERSATIONS[:3]), ("qwen-420", THINKING, CONVERSATIONS[:3])]
TOKENS = {"llama3-560": ("<|begin_of_text|>", "<|end_of_text|>"), "gemma-320": ("<bos>", "</s>"),
          "llama2-300": ("<s>", "</s>"), "phi3-280": ("<s>", "</s>")}


def encoded(tokenizer, template, messages):
    result = tokenizer.apply_chat_template(messages, chat_template=template, tokenize=True, return_dict=True,
                                           return_assistant_tokens_mask=True)
    return {"tokens": result["input_ids"], "mask": "".join(map(str, result["assistant_masks"]))}


def main():
    result = []
    for name, template, conversations in CASES:
        begin, end = TOKENS.get(name, ("", ""))
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=os.path.join(TOKENIZERS, name, "tokenizer.json"),
                                            **({"bos_token": begin, "eos_token": end} if begin else {}))
        # Square brackets mark answers; where templates have others, those are in texts of Jinja.
        marked = template.replace("[{", OPEN + "{").replace("[ {", OPEN + " {").replace("}]", "}" + CLOSE)
        marked = marked.replace(">]", ">" + CLOSE)
        plain = marked.replace(OPEN, "").replace(CLOSE, "")
        cases = []
        for conversation in conversations:
            messages = [{"role": role, "content": content} for role, content in conversation]
            whole = encoded(tokenizer, marked, messages)
            apart = [whole]
            if template is THINKING:
                # Only the last message's mark counts.
                last = marked.replace("message.role == 'assistant' %}" + OPEN, "message.role == 'assistant' and loop.last %}" + OPEN)
                apart = [encoded(tokenizer, last, messages[:i + 1]) for i, message in enumerate(messages)
                         if message["role"] == "assistant"]
            cases.append({"messages": messages, "marked": whole, "plain": apart})
        result.append({"tokenizer": name, "begin": begin, "end": end, "marked": marked, "plain": plain, "cases": cases})
    with open(os.path.join(HERE, "conversations.json"), "w") as file:
        json.dump(result, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
