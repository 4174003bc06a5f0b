"""LangChain: ChatOpenAI and OpenAIEmbeddings."""

import langchain_core.messages
import langchain_openai
from clients_openai import chat
from clients_server import FORECAST, KEY, NAME, QUESTION, expect, expect_equal, expect_forecast


def model_of(server, **keys):
    keys = {"temperature": 0, "max_tokens": 24} | keys
    return langchain_openai.ChatOpenAI(base_url=server.url + "/v1", api_key=KEY, model=NAME, max_retries=0, **keys)


def check_langchain(server):
    found = model_of(server).invoke([("system", "Answer briefly."), ("human", "What is the capital of France?")])
    expect_equal(found.content, chat(server).choices[0].message.content, "the answer of a chat completion")
    expect(found.usage_metadata["output_tokens"] > 0, "no usage")
    pieces = list(model_of(server).stream(QUESTION))
    expect_equal("".join(piece.content for piece in pieces), model_of(server).invoke(QUESTION).content, "a stream")
    expect_equal([found.content for found in model_of(server).batch([QUESTION] * 3)], [model_of(server).invoke(
        QUESTION).content] * 3, "a batch")


def check_langchain_embeddings(server):
    embeddings = langchain_openai.OpenAIEmbeddings(base_url=server.url + "/v1", api_key=KEY, model=NAME, max_retries=0,
                                                   check_embedding_ctx_length=False)
    texts = ["one", "another"]
    expect_equal(embeddings.embed_documents(texts), [embeddings.embed_query(text) for text in texts], "embeddings")


def check_langchain_tools(server):
    tool = {"title": "forecast", "description": "The weather to come.", **FORECAST}
    bound = model_of(server, max_tokens=200).bind_tools([tool], tool_choice="forecast")
    found = bound.invoke(QUESTION)
    expect_equal([call["name"] for call in found.tool_calls], ["forecast"], "calls")
    expect_forecast(found.tool_calls[0]["args"], "arguments")
    answer = model_of(server).bind_tools([tool], tool_choice="none").invoke(
        [("human", QUESTION), found,
         langchain_core.messages.ToolMessage("Rain.", tool_call_id=found.tool_calls[0]["id"])])
    expect(not answer.tool_calls, "a call that was not wanted")


def check_langchain_structured_output(server):
    schema = {"title": "forecast", "description": "The weather to come.", **FORECAST}
    for method in ("json_schema", "function_calling"):
        found = model_of(server, max_tokens=200).with_structured_output(schema, method=method).invoke(QUESTION)
        expect_forecast(found, method)
