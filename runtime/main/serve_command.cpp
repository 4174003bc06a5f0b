//===- serve_command.cpp - serves the model over HTTP ---------------------===//

#include "runtime/main/commands.h"

#include "runtime/comm/message_passing.h"
#include "runtime/error.h"
#include "runtime/main/adapters.h"
#include "runtime/main/batch_start.h"
#include "runtime/main/decode_ranks.h"
#include "runtime/main/free_memory.h"
#include "runtime/main/memory_size.h"
#include "runtime/main/output.h"
#include "runtime/main/serving_setup.h"
#include "runtime/main/weights.h"
#include "runtime/serve/embedding_answer.h"
#include "runtime/serve/llama_completion.h"
#include "runtime/serve/model_router.h"
#include "runtime/serve/service.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

namespace baton {

namespace {

/// Those of the flags, of the file and of the environment.
std::vector<std::string> read_api_keys(const ServeOptions &options) {
  std::vector<std::string> keys = options.api_keys;
  if (const char *key = std::getenv("BATON_API_KEY"); key && *key)
    keys.emplace_back(key);
  if (options.api_key_file) {
    std::ifstream stream(*options.api_key_file);
    if (!stream)
      throw Error("--api-key-file: " + *options.api_key_file +
                  " cannot be read");
    for (std::string line; std::getline(stream, line);)
      if (!line.empty())
        keys.push_back(line);
  }
  for (const std::string &key : keys)
    if (key.empty())
      throw Error("--api-key: an empty key would let everybody in");
  return keys;
}

/// Keys for requests that do not have them.
void read_defaults(const std::string &text, ServedModel &model) {
  model.defaults = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!model.defaults.is_object())
    throw Error("--defaults: expected a JSON object, as in "
                "{\"temperature\": 0.7}");
  try {
    llama_default_settings(model);
  } catch (const Error &failure) {
    throw Error("--defaults: " + std::string(failure.what()));
  }
}

std::string url_of(const std::string &host, uint16_t port) {
  const bool is_v6 = host.find(':') != std::string::npos;
  return "http://" + (is_v6 ? "[" + host + "]" : host) + ":" +
         std::to_string(port);
}

void print_addresses(const ServeOptions &options, uint16_t port) {
  for (const std::string &host : options.hosts)
    print(url_of(host, port) + "\n");
}

void run_server(const Metadata &metadata, const ServeOptions &options,
                const DecodeRanks &ranks) {
  ServiceOptions service = {
      .http = {.hosts = options.hosts,
               .port = options.port,
               .max_body = parse_memory_size("--max-body", options.max_body)},
      .api_keys = read_api_keys(options),
      .cors_origins = options.cors_origins,
      .max_requests = options.max_requests,
      .prefill_chunk = chosen_prefill_chunk(options.run, metadata),
      .prefix_cache = !options.no_prefix_cache,
      .prompt_lookup = options.prompt_lookup,
      .drain_seconds = options.drain_seconds,
      .has_page = !options.no_page};
  // What is wrong with these is said before weights are read.
  std::shared_ptr<ServedModel> model = read_served_model(
      metadata, options.run, options.name, options.chat_template);
  if (options.pooling)
    model->pooling = parse_pooling("--pooling", *options.pooling);
  if (options.score_template)
    model->judge = read_judge(*options.score_template, options.score_tokens,
                              model->format);
  model->format.adapters = read_adapters(metadata, options.adapters);
  for (const auto &adapter : model->format.adapters->all())
    if (adapter->name() == model->name)
      throw Error("--adapter: " + adapter->name() +
                  " is the model's own name; give the adapter another, or the "
                  "model one by --name");
  if (options.defaults)
    read_defaults(*options.defaults, *model);
  // Connections, their requests and answers.
  constexpr uint64_t of_service = uint64_t(16) << 20;
  BatchStart start(metadata, options.run, options.offload, options.kv_memory,
                   ".", of_service);
  Execution &execution = start.load(ranks);
  model->format.shape = start.shape();
  Service server(execution, model, std::move(service));
  if (!options.run.quiet && !model->conversation)
    std::fprintf(stderr, "note: no conversations: %s\n",
                 model->no_conversation.c_str());
  print_addresses(options, server.port());
  server.run();
}

void run_router(const ServeOptions &options) {
  if (launched_ranks())
    throw Error("--models: each model is a program of its own; start this one "
                "without mpirun");
  ModelPoolOptions pool;
  pool.most_loaded = options.models_max;
  pool.most_waiting = options.max_requests;
  pool.room_seconds = options.models_wait;
  if (options.models_memory)
    pool.memory = parse_memory_size("--models-memory", *options.models_memory);
  else if (std::optional<uint64_t> free = free_memory())
    pool.memory = *free / 5 * 4;
  if (options.kv_memory)
    pool.kv_memory = parse_memory_size("--kv-memory", *options.kv_memory);
  pool.flags = {{"--max-body", options.max_body},
                {"--max-requests", std::to_string(options.max_requests)},
                {"--drain-seconds", std::to_string(options.drain_seconds)}};
  if (options.run.quiet)
    pool.flags.emplace_back("--quiet", "");
  RouterOptions router = {
      .http = {.hosts = options.hosts,
               .port = options.port,
               .max_body = parse_memory_size("--max-body", options.max_body)},
      .api_keys = read_api_keys(options),
      .cors_origins = options.cors_origins,
      .drain_seconds = options.drain_seconds,
      .has_page = !options.no_page,
      .pool = std::move(pool)};
  std::string left_out;
  std::vector<ModelFiles> models = read_model_folder(
      *options.models,
      [](const std::string &size) {
        return parse_memory_size("flags.txt: --kv-memory", size);
      },
      [&](const std::string &name, const std::string &why) {
        left_out = name + ": " + why;
        if (!options.run.quiet)
          std::fprintf(stderr, "note: left out: %s\n", left_out.c_str());
      });
  if (models.empty())
    throw Error("--models: " + *options.models + " has no model" +
                (left_out.empty() ? ": of each it has a folder with program "
                                    "and weights"
                                  : "; left out: " + left_out));
  ModelRouter server(std::move(models), std::move(router));
  print_addresses(options, server.port());
  server.run();
}

} // namespace

void serve_command(const Metadata &metadata, const ServeOptions &options) {
  // Of this program nothing is used but its server.
  if (options.models)
    return run_router(options);
  on_decode_ranks(
      metadata, options.run, options,
      [&](const DecodeRanks &ranks) { run_server(metadata, options, ranks); });
}

} // namespace baton
