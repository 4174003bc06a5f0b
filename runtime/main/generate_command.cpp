//===- generate_command.cpp - continues a text ---------------------------===//

#include "runtime/main/commands.h"

#include "runtime/decode/generation.h"
#include "runtime/decode/output_queue.h"
#include "runtime/decode/stop_tokens.h"
#include "runtime/error.h"
#include "runtime/execute/execution.h"
#include "runtime/main/adapters.h"
#include "runtime/main/decode_ranks.h"
#include "runtime/main/interrupt.h"
#include "runtime/main/memory_check.h"
#include "runtime/main/output.h"
#include "runtime/main/progress.h"
#include "runtime/main/run_trace.h"
#include "runtime/main/text_tokens.h"
#include "runtime/main/weights.h"
#include "runtime/tokenizer/stream_decoder.h"
#include "runtime/tokenizer/tokenizer.h"

#include <algorithm>
#include <cstdio>

namespace baton {

namespace {

using namespace std::chrono_literals;

/// What makes tokens of the prompt, or text of tokens that the user gave: then
/// one that is not there, or not understood, is none.
std::optional<TextTokens> find_tokens(const std::filesystem::path &path,
                                      const Metadata &metadata,
                                      const GenerateOptions &options) {
  if (options.prompt)
    return find_text_tokens(path, metadata.vocabulary,
                            {"--prompt", "--tokens instead of --prompt"},
                            !options.run.quiet);
  try {
    if (auto tokenizer = find_tokenizer(path))
      return TextTokens{std::move(*tokenizer), false};
  } catch (const Error &error) {
    if (!options.run.quiet)
      std::fprintf(stderr, "note: %s; tokens are printed, not text\n",
                   error.what());
  }
  return std::nullopt;
}

std::vector<int32_t> prompt_tokens(const GenerateOptions &options,
                                   const Metadata &metadata,
                                   const std::optional<TextTokens> &text) {
  std::string flag = options.prompt ? "--prompt" : "--tokens";
  std::vector<int32_t> tokens = options.prompt
                                    ? text->encode(*options.prompt)
                                    : parse_token_list(flag, *options.tokens);
  check_tokens(flag, tokens, metadata);
  if (tokens.size() == metadata.max_seq)
    throw Error(flag + ": " + std::to_string(tokens.size()) +
                " tokens take all of the program's positions and leave none "
                "for a new one; compile with a larger --max-seq");
  return tokens;
}

/// Prints new tokens while the program goes on: as text, or as ids separated by
/// commas when there is no tokenizer.
class StreamPrinter {
public:
  explicit StreamPrinter(const std::optional<TextTokens> &text) {
    if (text)
      decoder.emplace(text->tokenizer, /*skip_special_tokens=*/true);
  }

  void tokens(const std::vector<int32_t> &tokens) {
    std::string text;
    for (int32_t token : tokens) {
      if (decoder) {
        text += decoder->push(token);
        continue;
      }
      text += (first ? "" : ",") + std::to_string(token);
      first = false;
    }
    print(text);
  }

  void end() { print((decoder ? decoder->finish() : std::string()) + "\n"); }

private:
  std::optional<StreamDecoder> decoder;
  bool first = true;
};

/// Runs the generation to its end, or until printing fails.
void run_and_print(Execution &execution, Generation &generation,
                   TokenQueue &queue, StreamPrinter *printer,
                   size_t prompt_size, bool quiet) {
  Interruptible interruptible(execution.stop);
  try {
    std::optional<Progress> progress;
    progress.emplace("reading the prompt", quiet);
    execution.start(generation);
    std::vector<int32_t> tokens;
    TokenQueue::State state;
    do {
      state = queue.take(tokens, 100ms);
      if (!tokens.empty())
        progress.reset();
      if (progress)
        progress->update(generation.prefilled(), prompt_size);
      if (printer)
        printer->tokens(tokens);
    } while (state == TokenQueue::State::Open);
  } catch (...) {
    execution.stop = true;
    execution.wait();
    throw;
  }
  execution.wait();
  if (printer)
    printer->end();
  check_interrupted();
}

void print_json(const Generation &generation,
                const std::vector<int32_t> &prompt,
                const std::optional<TextTokens> &text, unsigned workers) {
  nlohmann::ordered_json result;
  result["prompt_tokens"] = prompt;
  result["tokens"] = generation.new_tokens();
  result["text"] = nullptr;
  if (text)
    result["text"] = text->tokenizer.decode(generation.new_tokens(),
                                            /*skip_special_tokens=*/true,
                                            /*at_start=*/false);
  result["finish_reason"] = finish_reason_name(generation.finish_reason());
  result["prefill_s"] = generation.prefill_seconds();
  result["decode_s"] = generation.decode_seconds();
  result["tokens_per_s"] = generation.tokens_per_second();
  result["workers"] = workers;
  print(result.dump() + "\n");
}

void print_summary(const Generation &generation, size_t prompt_size,
                   unsigned workers) {
  std::fprintf(stderr,
               "%zu tokens at %.1f tokens/s, after %zu tokens of prompt in "
               "%.2f s, with %u worker%s\n",
               generation.new_tokens().size(), generation.tokens_per_second(),
               prompt_size, generation.prefill_seconds(), workers,
               workers == 1 ? "" : "s");
}

} // namespace

static void generate(const Metadata &metadata, const GenerateOptions &options,
                     const DecodeRanks &ranks) {
  if (options.prompt.has_value() == options.tokens.has_value())
    throw Error("generate: give either --prompt TEXT or --tokens 1,2,3");
  unsigned workers = program_workers(options.run, metadata);
  std::filesystem::path path = weights_path(options.run);
  std::optional<TextTokens> text = find_tokens(path, metadata, options);

  GenerationRequest request;
  request.prompt = prompt_tokens(options, metadata, text);
  request.max_new_tokens = std::min<uint64_t>(
      options.max_new_tokens, metadata.max_seq - request.prompt.size());
  request.stop_tokens = read_stop_tokens(path);
  request.prefill_chunk = chosen_prefill_chunk(options.run, metadata);
  request.sampling = options.sampling;
  std::vector<int32_t> prompt = request.prompt;
  const LoneAdapter adapter(metadata, options.adapter);

  RankParameters parameters = ranks.load_weights(options.run);
  TokenQueue queue;
  Generation generation(std::move(request),
                        {.on_token = [&](int32_t token) { queue.push(token); },
                         .on_finish = [&] { queue.close(); }});
  std::unique_ptr<Execution> execution =
      ranks.make_execution(parameters, options.run, workers);
  adapter.load(*execution);
  RunTrace trace(metadata, options.run, *execution);
  MemoryCheck memory(metadata, options.run, *execution);
  std::optional<StreamPrinter> printer;
  if (!options.json)
    printer.emplace(text);
  run_and_print(*execution, generation, queue, printer ? &*printer : nullptr,
                prompt.size(), options.run.quiet);
  trace.publish();
  memory.publish();
  if (options.json)
    print_json(generation, prompt, text, execution->workers());
  if (!options.run.quiet)
    print_summary(generation, prompt.size(), execution->workers());
}

void generate_command(const Metadata &metadata,
                      const GenerateOptions &options) {
  on_decode_ranks(
      metadata, options.run, options,
      [&](const DecodeRanks &ranks) { generate(metadata, options, ranks); });
}

} // namespace baton
