"""Tests of llama.cpp's server that do not pass, and why."""

# Files whose tests are not asked.
OTHER_WORK = {
    "test_compat_gcp.py": "Google's Vertex AI",
    "test_infill.py": "texts between two others (infill)",
    "test_kv_keep_only_active.py": "lines of llama.cpp's log about its caches",
    "test_lora.py": "LoRA adapters",
    "test_mcp_servers.py": "servers of tools (MCP)",
    "test_proxy.py": "a proxy for the page's tools",
    "test_router.py": "models that are fetched and loaded by name; --models has tests of its own",
    "test_sleep.py": "giving memory back while nobody asks",
    "test_slot_save.py": "keys and values in files",
    "test_speculative.py": "speculative decoding",
    "test_stream.py": "streams that are resumed, through the router",
    "test_systemone.py": "models of classes and sounds",
    "test_tools_builtin.py": "tools that the server runs",
    "test_vision_api.py": "images",
}
IMAGES = "images"
# By the beginning of "file::test[parameters]".
FAILING = {
    "test_basic.py::test_load_split_model": "its model of several files cannot be fetched",
    "test_basic.py::test_server_model_aliases_and_tags": "a model has one name, as clients may write any",
    "test_chat_completion.py::test_invalid_chat_completion_req[messages7]":
        "two messages of an assistant at the end are no error: the answer continues the last one",
    "test_compat_anthropic.py::test_anthropic_empty_messages":
        "a conversation without a message is an error, as in Anthropic's API",
    "test_compat_anthropic.py::test_anthropic_vision_base64_with_multimodal_model": IMAGES,
    "test_completion.py::test_n_probs_post_backend_sampling":
        "post_sampling_probs needs temperature 1 without top_k, top_p and min_p",
    "test_ctx_shift.py::test_ctx_shift_enabled": "a text that forgets its beginning (context shift)",
    "test_embedding.py::test_embedding_mixed_input[-False]": "a text without a token has no vector",
    "test_security.py::test_cors_origins_defaults_to_localhost_with_tools_enabled": "tools that the server runs",
    "test_security.py::test_cors_proxy_only_forwards_explicit_proxy_headers": "a proxy for the page's tools",
    "test_security.py::test_local_media_file[../../../tools": IMAGES,
    "test_template.py::test_date_inside_prompt[fireworks":
        "its template wants `functions` and `datetime`, which a request may give it",
}


def reason_of(name):
    """Why a test does not pass, or None."""
    return next((reason for beginning, reason in FAILING.items() if name.startswith(beginning)), None)
