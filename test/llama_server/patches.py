"""What is changed in llama.cpp's tests, and why.

The kinds of changes are

    another model   words, tokens and sizes are those of the model that is there
    another word    Baton says it in another way, which docs/serving.md tells
"""

import os
import re

MODEL, WORD = "another model", "another word"
BASIC, COMPLETION, CHAT = "test_basic.py", "test_completion.py", "test_chat_completion.py"
METRICS, TOKENIZE, RESPONSES = "test_metrics.py", "test_tokenize.py", "test_compat_oai_responses.py"
SECURITY, ANTHROPIC, CONTEXT = "test_security.py", "test_compat_anthropic.py", "test_ctx_shift.py"
EMBEDDING, RERANK = "test_embedding.py", "test_rerank.py"
TOOLS, UTILITIES, SETUP = "test_tool_call.py", "../utils.py", "../conftest.py"

OWN_WORDS = "this model's words and tokens"
NO_BEGIN = "this model's texts begin with no token of their own"
FEWER = "this model has fewer tokens for it"
FIRST_PART = "the first part of a stream has an empty text, as OpenAI's has"
PAGES = "texts share whole pages of 64 positions"
SHOWN_PROMPT = "a request asks for its prompt; there is no flag"
NAMES = "metrics have vLLM's names"
CUT_OFF = "what max_output_tokens cuts off is incomplete, as OpenAI has it"
ALWAYS = "the path is always there"
MISTAKE = "what cannot be done is a client's mistake, not the server's"

ANY_WORD = '"\\\\w"'
LATE_STOP = '128, "(Aside|she|felter|alonger)+", 104, 128'
EARLY_STOP = f"32, {ANY_WORD}, 29, 32"
LATE_JOKE = '64, "(princesses|everyone|kids|Anna|forest)+", 46, 64'
EARLY_JOKE = f"32, {ANY_WORD}, 15, 32"
FIRST_TOKEN = 'server.make_request("POST", "/tokenize", data={"content": content}).body["tokens"][0]'

# llama.cpp's names of metrics, and Baton's.
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
LISTED_NAMES = [(f'        "llamacpp:{name}",\n', f'        "{own}",\n' if own else "")
                for name, own in METRIC_NAMES.items()]
READ_NAMES = [(f'["llamacpp:{name}"]', f'["{METRIC_NAMES[name]}"]')
              for name in ("n_decode_total", "requests_processing")]

# Kind, why, file, test or None, and what becomes what.
PATCHES = [
    (MODEL, "one model is there, which is not fetched anew", SETUP, None,
     ("        ServerPreset.load_all()", "        pass")),
    (WORD, FIRST_PART, UTILITIES, None,
     ("get('content') is not None:\n                        assert",
      "get('content'):\n                        assert")),

    (WORD, ALWAYS, BASIC, "test_server_slots",
     ('== 501 # ERROR_TYPE_NOT_SUPPORTED\n    assert "error" in res.body', "== 200")),

    *[(MODEL, OWN_WORDS, COMPLETION, test,
       ('"(going|bed)+", 18', ANY_WORD + ", 7"),
       (LATE_JOKE, EARLY_JOKE))
      for test in ("test_completion", "test_completion_stream")],
    *[(MODEL, OWN_WORDS, COMPLETION, test, ('"(going|bed)+"', ANY_WORD))
      for test in ("test_completion_with_openai_library", "test_completion_stream_with_openai_library")],
    (MODEL, FEWER, COMPLETION, "test_nocache_long_input_prompt", ("*32", "*40")),
    (MODEL, NO_BEGIN, COMPLETION, "test_completion_response_fields", ('"<s> " + prompt', "prompt")),
    (MODEL, OWN_WORDS, COMPLETION, "test_completion_prompt_cache", ("(40 + r)*5 + 2", "(40 + r)*3")),

    (MODEL, NO_BEGIN, TOKENIZE, "test_tokenize_with_bos", ("bosId = 1", "bosId = " + FIRST_TOKEN)),

    (MODEL, OWN_WORDS, CHAT, "test_chat_completion",
     ('"But she couldn\'t", 69', ANY_WORD + ", 16"),
     ('"(Suddenly)+|\\\\{ \\" Sarax.", 77', ANY_WORD + ", 20"),
     ('"^ blue",                    23', ANY_WORD + ", 9"),
     (LATE_STOP, EARLY_STOP),
     ('"Whillicter", 79', ANY_WORD + ", 21")),
    (WORD, PAGES, CHAT, "test_chat_completion_cached_tokens",
     ('"content": "Test"', '"content": "Test " * 60'),
     ("77, 0)", "86, 0)"), ("77, 76)", "86, 64)"), ("77, 51)", "86, 64)"), ("77, 47)", "86, 64)")),
    (MODEL, OWN_WORDS, CHAT, "test_chat_completion_stream",
     ('"(Suddenly)+", 77', ANY_WORD + ", 20"), (LATE_STOP, EARLY_STOP)),
    *[(WORD, FIRST_PART, CHAT, test, ('content"] is None', 'content"] == ""'))
      for test in ("test_chat_completion_stream", "test_chat_completion_with_timings_per_token")],
    (WORD, FIRST_PART, CHAT, "test_logprobs_stream", ("content is None", 'content == ""')),
    (MODEL, OWN_WORDS, CHAT, "test_chat_completion_with_openai_library", ('"(Suddenly)+"', ANY_WORD)),
    (MODEL, NO_BEGIN, CHAT, "test_chat_template", ('== "<s> ', '== "')),
    *[(WORD, SHOWN_PROMPT, CHAT, test, ('"max_tokens": 8,', '"max_tokens": 8, "verbose": True,'))
      for test in ("test_chat_template", "test_chat_template_assistant_prefill",
                   "test_chat_template_continue_final_message_vllm_compat")],
    (WORD, "parts of a content are lines", CHAT, "test_chat_template_assistant_prefill", ("Wh\\n\\nill", "Wh\\nill")),
    (MODEL, FEWER, CHAT, "test_return_progress", ("* 10", "* 30")),

    (WORD, "the page is one file", SECURITY, "test_access_static_assets_without_api_key",
     ('"/", "/sw.js", "/manifest.webmanifest", "/_app/version.json"', '"/"')),
    (WORD, "headers that a page asks for are named: to a browser * is all but Authorization", SECURITY,
     "test_cors_options", ('"Access-Control-Allow-Headers", "*"', '"Access-Control-Allow-Headers", "Authorization"')),

    (WORD, NAMES, METRICS, "fetch_metrics", ('    assert "Process-Start-Time-Unix" in res.headers\n', "")),
    (WORD, NAMES, METRICS, "parse_metrics",
     ('line.startswith("llamacpp:") and "{" not in line:',
      'line.startswith(("vllm:", "baton:")) and "_bucket{" not in line:'),
     ('name, value = line.split(" ", 1)',
      'name, value = line.rsplit(" ", 1)\n            name = name.partition("{")[0]'),
     ("assert name in types", "assert {name, name.removesuffix('_sum'), name.removesuffix('_count')} & set(types)"),
     ("(types[name]", "(types.get(name)")),
    (WORD, ALWAYS, METRICS, "test_metrics_disabled", ("== 501", "== 200")),
    (WORD, NAMES, METRICS, "test_metrics_prometheus_format", *LISTED_NAMES, *READ_NAMES),
    (WORD, NAMES, METRICS, "test_metrics_prompt_processed_and_cached",
     ('the lazy dog"', 'the lazy dog" * 10'),
     ('llamacpp:prompt_tokens_total"][1] == n_processed', 'vllm:prompt_tokens_total"][1] == n_processed + n_cached'),
     ("llamacpp:prompt_tokens_cached_total", "vllm:prefix_cache_hits_total")),
    (WORD, NAMES, METRICS, "test_metrics_predicted_total_matches_requests",
     ("llamacpp:tokens_predicted_total", "vllm:generation_tokens_total")),

    *[(MODEL, OWN_WORDS, RESPONSES, test, ('"(Suddenly)+"', ANY_WORD))
      for test in ("test_responses_with_openai_library", "test_responses_stream_with_openai_library")],
    *[(WORD, CUT_OFF, RESPONSES, test, ('== "response.completed"', '== "response.incomplete"'))
      for test in ("test_responses_stream_with_openai_library", "test_responses_stream_with_llama_telemetry")],

    *[(WORD, MISTAKE, ANTHROPIC, test,
       ("status_code == 500", "status_code == 400"), ("image input is not supported", "reads text only"))
      for test in ("test_anthropic_tool_result_with_image", "test_anthropic_vision_format_accepted")],

    (MODEL, OWN_WORDS, CONTEXT, "test_ctx_shift_disabled_short_prompt",
     ('"n_predict": n_predict,', '"n_predict": n_predict, "ignore_eos": True,'), ("(-1, 248,", "(-1, 252,")),
    (MODEL, FEWER, CONTEXT, "test_ctx_shift_disabled_long_prompt", ("LONG_TEXT,", "LONG_TEXT * 2,")),
    (MODEL, OWN_WORDS, CONTEXT, "test_ctx_shift_disabled_stream",
     ('"n_predict": 256,', '"n_predict": 256, "ignore_eos": True,')),

    (MODEL, NO_BEGIN, EMBEDDING, "test_embedding_pooling_none", ("== 5", "== 3")),
    (MODEL, NO_BEGIN, EMBEDDING, "test_embedding_usage_single", ('is", 9)', 'is", 7)'), ('test", 6)', 'test", 4)')),
    (MODEL, NO_BEGIN, EMBEDDING, "test_embedding_usage_multiple", ("2 * 9", "2 * 7")),
    (WORD, "a text is too long, not its batch", EMBEDDING, "test_embedding_error_prompt_too_long",
     ("too large", "exceeds the available context size")),
    (MODEL, "no token stands between two texts, and a query is computed once", RERANK, "test_rerank_usage",
     ('is", 19)', 'is", 7)'), ('la", 26)', 'la", 13)')),
    (WORD, NAMES, METRICS, "test_metrics_embedding_prompt_is_counted",
     ("llamacpp:prompt_tokens_total", "vllm:prompt_tokens_total"),
     ("llamacpp:n_decode_total", "baton:steps_total"),
     ("llamacpp:tokens_predicted_total", "vllm:generation_tokens_total")),
]
# Tests that use what is changed elsewhere.
INDIRECT = {(TOOLS, "test_completion_without_tool_call_fast"): WORD}


def test_span(source, test):
    """Begin and end of a function, with its decorators."""
    found = re.search(rf"(?m)^(?:@.*\n(?:[ \t)\]#].*\n|\n)*)*def {test}\(.*\n(?:[ \t)].*\n|\n)*", source)
    if not found:
        raise SystemExit(f"there is no {test}; has llama.cpp changed?")
    return found.span()


def apply(folder):
    """Changes the tests in a folder."""
    for _, _, file, test, *changes in PATCHES:
        path = os.path.join(folder, "unit", file)
        with open(path) as stream:
            source = stream.read()
        for old, new in changes:
            begin, end = test_span(source, test) if test else (0, len(source))
            if old not in source[begin:end]:
                raise SystemExit(f"{file}: {test} has no {old!r}; has llama.cpp changed?")
            source = source[:begin] + source[begin:end].replace(old, new) + source[end:]
        with open(path, "w") as stream:
            stream.write(source)


def kind_of(file, test):
    """Of a test that passes: "as it is", or what was changed in it."""
    kinds = {patch[0] for patch in PATCHES if patch[2:4] == (file, test)} | {INDIRECT.get((file, test))}
    return WORD if WORD in kinds else MODEL if MODEL in kinds else "as it is"
