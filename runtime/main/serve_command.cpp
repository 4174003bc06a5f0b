//===- serve_command.cpp - serves the model over HTTP ---------------------===//

#include "runtime/main/commands.h"

#include "runtime/error.h"
#include "runtime/main/batch_setup.h"
#include "runtime/main/decode_ranks.h"
#include "runtime/main/output.h"
#include "runtime/main/weights.h"
#include "runtime/serve/api_json.h"
#include "runtime/serve/service.h"
#include "runtime/weights/hash.h"

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

/// "smollm2-135m" of a folder or a file of this name.
std::string model_name(const std::filesystem::path &weights) {
  std::filesystem::path path = std::filesystem::weakly_canonical(weights);
  return path.extension() == ".gguf" ? path.stem().string()
                                     : path.filename().string();
}

std::shared_ptr<ServedModel> read_model(const Metadata &metadata,
                                        const ServeOptions &options) {
  auto model = std::make_shared<ServedModel>();
  const std::filesystem::path path = weights_path(options.run);
  model->name = options.name.value_or(model_name(path));
  model->created = unix_time();
  const std::string plan = metadata.json.dump();
  model->fingerprint =
      "baton-" + hash_text(hash_bytes(plan.data(), plan.size(), 0));
  const nlohmann::json &description = metadata.json.at("model");
  model->architecture = description.value("name", std::string("model"));
  model->weights = path.string();
  for (const PhaseDescription &phase : metadata.phases)
    model->phases.push_back(phase.name);
  model->format = read_batch_format(metadata, options.run);
  model->format.shape = batch_capacities(metadata, 0);
  model->sampling = read_recommended_sampling(path);
  read_conversation_of(path, options.chat_template, *model);
  model->constraints = std::make_shared<ConstraintCache>(
      model->format.tokenizer, metadata.vocabulary, model->format.stop_tokens);
  return model;
}

std::string url_of(const std::string &host, uint16_t port) {
  const bool is_v6 = host.find(':') != std::string::npos;
  return "http://" + (is_v6 ? "[" + host + "]" : host) + ":" +
         std::to_string(port);
}

void run_server(const Metadata &metadata, const ServeOptions &options,
                const DecodeRanks &ranks) {
  const unsigned wanted_workers = program_workers(options.run, metadata);
  ServiceOptions service = {
      .http = {.hosts = options.hosts,
               .port = options.port,
               .max_body = parse_memory_size("--max-body", options.max_body)},
      .api_keys = read_api_keys(options),
      .cors_origins = options.cors_origins,
      .max_requests = options.max_requests,
      .prefill_chunk = chosen_prefill_chunk(options.run, metadata),
      .prefix_cache = !options.no_prefix_cache,
      .drain_seconds = options.drain_seconds,
      .has_page = !options.no_page};
  // What is wrong with these is said before weights are read.
  std::shared_ptr<ServedModel> model = read_model(metadata, options);
  const RankParameters parameters = ranks.load_weights(options.run);
  // Of what weights have left.
  model->format.shape =
      batch_capacities(metadata, choose_pages(metadata, options.kv_memory));
  std::unique_ptr<Execution> execution = ranks.make_execution(
      parameters, options.run, wanted_workers, model->format.shape.pages);
  Service server(*execution, model, std::move(service));
  if (!options.run.quiet && !model->conversation)
    std::fprintf(stderr, "note: no conversations: %s\n",
                 model->no_conversation.c_str());
  for (const std::string &host : options.hosts)
    print(url_of(host, server.port()) + "\n");
  server.run();
}

} // namespace

void serve_command(const Metadata &metadata, const ServeOptions &options) {
  if (!metadata.batch)
    throw Error("serve: this program holds one sequence; compile with "
                "--max-batch");
  on_decode_ranks(
      metadata, options.run, options,
      [&](const DecodeRanks &ranks) { run_server(metadata, options, ranks); });
}

} // namespace baton
