"""What is changed in llama.cpp's tests, and why.

Of a test's source `old` becomes `new`. The kind is

    another model   words, tokens and sizes are those of the model that is there
    another word    Baton says it in another way, which is documented
"""

import os
import re

MODEL, WORD = "another model", "another word"

ANY_WORD = '"\\\\w"'
BASIC, COMPLETION, CHAT = "test_basic.py", "test_completion.py", "test_chat_completion.py"
METRICS, TOKENIZE, RESPONSES = "test_metrics.py", "test_tokenize.py", "test_compat_oai_responses.py"
SECURITY = "test_security.py"
# llama.cpp's names, and Baton's.
METRIC_NAMES = {
    "prompt_tokens_total": "vllm:prompt_tokens_total",
    "prompt_tokens_cached_total": "vllm:prefix_cache_hits_total",
    "prompt_seconds_total": None,
    "tokens_predicted_total": "vllm:generation_tokens_total",
    "tokens_predicted_seconds_total": None,
    "n_decode_total": "baton:steps_total",
    "n_tokens_max": None,
    "spec_decode_num_draft_tokens_total": None,
    "spec_decode_num_accepted_tokens_total": None,
    "spec_decode_num_drafts_total": None,
    "prompt_tokens_seconds": None,
    "predicted_tokens_seconds": None,
    "requests_processing": "vllm:num_requests_running",
    "requests_deferred": "vllm:num_requests_waiting",
    "n_busy_slots_per_decode": None}
ANTHROPIC = "test_compat_anthropic.py"
CONTEXT = "test_ctx_shift.py"
CUT_OFF = "what max_output_tokens cuts off is incomplete, as OpenAI has it"
NAMES = "metrics have vLLM's names"
OWN_WORDS = "this model's words and tokens"
NO_BEGIN = "this model's texts begin with no token of their own"
FIRST_CHUNK = "the first part of a stream has an empty text, as OpenAI's has"
PAGES = "texts share whole pages of 64 positions"
SHOWN_PROMPT = "a request asks for its prompt; there is no flag"

# File, test, old, new, kind, why.
PATCHES = [
    (BASIC, "test_server_slots", 'assert res.status_code == 501 # ERROR_TYPE_NOT_SUPPORTED\n    assert "error" in res.body',
     "assert res.status_code == 200", WORD, "/slots is always there"),
    *[(COMPLETION, test, *change, MODEL, OWN_WORDS)
      for test in ("test_completion", "test_completion_stream")
      for change in (('"(going|bed)+", 18', ANY_WORD + ", 7"),
                     ('"(princesses|everyone|kids|Anna|forest)+", 46', ANY_WORD + ", 15"))],
    *[(COMPLETION, test, '"(going|bed)+"', ANY_WORD, MODEL, OWN_WORDS)
      for test in ("test_completion_with_openai_library", "test_completion_stream_with_openai_library")],
    (COMPLETION, "test_nocache_long_input_prompt", "*32", "*40", MODEL, "it has fewer tokens"),
    (COMPLETION, "test_completion_response_fields", '"<s> " + prompt', "prompt", MODEL, NO_BEGIN),
    (COMPLETION, "test_completion_prompt_cache", "(40 + r)*5 + 2", "(40 + r)*3", MODEL, OWN_WORDS),
    (TOKENIZE, "test_tokenize_with_bos", "bosId = 1",
     'bosId = server.make_request("POST", "/tokenize", data={"content": content}).body["tokens"][0]', MODEL, NO_BEGIN),
    *[(CHAT, "test_chat_completion", *change, MODEL, OWN_WORDS)
      for change in (('"But she couldn\'t", 69', ANY_WORD + ", 16"),
                     ('"(Suddenly)+|\\\\{ \\" Sarax.", 77', ANY_WORD + ", 20"),
                     ('"^ blue",                    23', ANY_WORD + ", 9"),
                     ('128, "(Aside|she|felter|alonger)+", 104, 128', "32, " + ANY_WORD + ", 29, 32"),
                     ('"Whillicter", 79', ANY_WORD + ", 21"))],
    *[(CHAT, "test_chat_completion_cached_tokens", *change, WORD, PAGES)
      for change in (('"content": "Test"', '"content": "Test " * 60'), ("77, 0)", "86, 0)"), ("77, 76)", "86, 64)"),
                     ("77, 51)", "86, 64)"), ("77, 47)", "86, 64)"))],
    *[(CHAT, "test_chat_completion_stream", *change, MODEL, OWN_WORDS)
      for change in (('"(Suddenly)+", 77', ANY_WORD + ", 20"), ('128, "(Aside|she|felter|alonger)+", 104, 128', "32, " + ANY_WORD + ", 29, 32"))],
    *[(CHAT, test, 'content"] is None', 'content"] == ""', WORD, FIRST_CHUNK)
      for test in ("test_chat_completion_stream", "test_chat_completion_with_timings_per_token")],
    (CHAT, "test_logprobs_stream", "content is None", 'content == ""', WORD, FIRST_CHUNK),
    (CHAT, "test_chat_completion_with_openai_library", '"(Suddenly)+"', ANY_WORD, MODEL, OWN_WORDS),
    (CHAT, "test_chat_template", '== "<s> ', '== "', MODEL, NO_BEGIN),
    *[(CHAT, test, '"max_tokens": 8,', '"max_tokens": 8, "verbose": True,', WORD, SHOWN_PROMPT)
      for test in ("test_chat_template", "test_chat_template_assistant_prefill",
                   "test_chat_template_continue_final_message_vllm_compat")],
    (CHAT, "test_chat_template_assistant_prefill", "Wh\\n\\nill", "Wh\\nill", WORD, "parts of a content are lines"),
    (CHAT, "test_return_progress", "* 10", "* 30", MODEL, "it has fewer tokens"),
    (SECURITY, "test_access_static_assets_without_api_key", '"/", "/sw.js", "/manifest.webmanifest", "/_app/version.json"', '"/"',
     WORD, "the page is one file"),
    (SECURITY, "test_cors_options", '"Access-Control-Allow-Headers", "*"', '"Access-Control-Allow-Headers", "Authorization"', WORD,
     "the headers that a page asks for; to a browser * is all but Authorization"),
    (METRICS, "fetch_metrics", '    assert "Process-Start-Time-Unix" in res.headers\n', "", WORD, NAMES),
    (METRICS, "parse_metrics", 'line.startswith("llamacpp:") and "{" not in line:\n            name, value = line.split(" ", 1)',
     'line.startswith(("vllm:", "baton:")) and "_bucket{" not in line:\n'
     '            name, value = line.rsplit(" ", 1)\n            name = name.partition("{")[0]', WORD, NAMES),
    (METRICS, "parse_metrics", "assert name in types", "assert re.sub('_(sum|count)$', '', name) in types or name in types", WORD, NAMES),
    (METRICS, "test_metrics_disabled", "== 501", "== 200", WORD, "/metrics is always there"),
    *[(METRICS, "test_metrics_prometheus_format", f'        "llamacpp:{name}",\n', f'        "{own}",\n' if own else "", WORD, NAMES)
      for name, own in METRIC_NAMES.items()],
    *[(METRICS, "test_metrics_prometheus_format", f'["llamacpp:{name}"]', f'["{METRIC_NAMES[name]}"]', WORD, NAMES)
      for name in ("n_decode_total", "requests_processing")],
    *[(METRICS, "test_metrics_prompt_processed_and_cached", *change, WORD, NAMES)
      for change in (('the lazy dog"', 'the lazy dog" * 10'),
                     ('["llamacpp:prompt_tokens_total"][1] == n_processed', '["vllm:prompt_tokens_total"][1] == n_processed + n_cached'),
                     ("llamacpp:prompt_tokens_cached_total", "vllm:prefix_cache_hits_total"))],
    (METRICS, "test_metrics_predicted_total_matches_requests", "llamacpp:tokens_predicted_total", "vllm:generation_tokens_total",
     WORD, NAMES),
    (RESPONSES, "test_responses_with_openai_library", '"(Suddenly)+"', ANY_WORD, MODEL, OWN_WORDS),
    (RESPONSES, "test_responses_stream_with_openai_library", '"(Suddenly)+"', ANY_WORD, MODEL, OWN_WORDS),
    (RESPONSES, "test_responses_stream_with_openai_library", '== "response.completed"', '== "response.incomplete"', WORD, CUT_OFF),
    (RESPONSES, "test_responses_stream_with_llama_telemetry", '== "response.completed"', '== "response.incomplete"', WORD, CUT_OFF),
    ("../utils.py", None, "get('content') is not None:\n                        assert len",
     "get('content'):\n                        assert len", WORD, FIRST_CHUNK),
    *[(ANTHROPIC, test, *change, WORD, "what cannot be done is a client's mistake, not the server's")
      for test in ("test_anthropic_tool_result_with_image", "test_anthropic_vision_format_accepted")
      for change in (("status_code == 500", "status_code == 400"), ("image input is not supported", "reads text only"))],
    *[(CONTEXT, "test_ctx_shift_disabled_short_prompt", *change, MODEL, OWN_WORDS)
      for change in (('"n_predict": n_predict,', '"n_predict": n_predict, "ignore_eos": True,'), ("(-1, 248,", "(-1, 252,"))],
    (CONTEXT, "test_ctx_shift_disabled_long_prompt", "LONG_TEXT,", "LONG_TEXT * 2,", MODEL, "it has fewer tokens"),
    (CONTEXT, "test_ctx_shift_disabled_stream", '"n_predict": 256,', '"n_predict": 256, "ignore_eos": True,', MODEL, OWN_WORDS),
]
# Tests that use what is changed elsewhere.
INDIRECT = {("test_tool_call.py", "test_completion_without_tool_call_fast"): WORD}
# A server for each kind of model is started to fetch these.
SETUP = [("conftest.py", "        ServerPreset.load_all()", "        pass")]


def test_text(source, test):
    """Begin and end of a test, with its decorators."""
    found = re.search(rf"(?m)^((?:@.*\n(?:[ \t\)\]#].*\n|\n)*)*)def {test}\(.*\n(?:[ \t\)].*\n|\n)*", source)
    if not found:
        raise SystemExit(f"there is no {test}; has llama.cpp changed?")
    return found.span()


def replace(path, test, old, new):
    with open(path) as file:
        source = file.read()
    begin, end = test_text(source, test) if test else (0, len(source))
    if old not in source[begin:end]:
        raise SystemExit(f"{path}: {test} has no {old!r}; has llama.cpp changed?")
    with open(path, "w") as file:
        file.write(source[:begin] + source[begin:end].replace(old, new) + source[end:])


def apply(folder):
    for file, old, new in SETUP:
        replace(os.path.join(folder, file), None, old, new)
    for file, test, old, new, _, _ in PATCHES:
        replace(os.path.join(folder, "unit", file), test, old, new)


def kind_of(file, test):
    """Of a test that passes: "as it is", or what was changed in it."""
    kinds = {patch[4] for patch in PATCHES if patch[:2] == (file, test)} | {INDIRECT.get((file, test))}
    return WORD if WORD in kinds else MODEL if MODEL in kinds else "as it is"
