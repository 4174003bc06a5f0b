//===- commands.h - what a compiled program does from the command line ---===//
//
// Each command prints its result to standard output, everything else to
// standard error, and throws Error when it fails.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_MAIN_COMMANDS_H
#define BATON_RUNTIME_MAIN_COMMANDS_H

#include "runtime/decode/sampler.h"
#include "runtime/execute/metadata.h"
#include "runtime/main/run_options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace baton {

struct GenerateOptions : RankOptions {
  RunOptions run;
  /// Exactly one of the two.
  std::optional<std::string> prompt;
  std::optional<std::string> tokens;
  /// A PEFT folder.
  std::optional<std::string> adapter;
  uint64_t max_new_tokens = 0;
  SamplingOptions sampling;
  bool json = false;
};
void generate_command(const Metadata &metadata, const GenerateOptions &options);

struct LogitsOptions : RankOptions {
  RunOptions run;
  /// Exactly one of the two; with the first also `out`.
  std::optional<std::string> tokens;
  DataOptions text;
  std::optional<std::string> out;
  std::optional<std::string> dump;
  /// A PEFT folder.
  std::optional<std::string> adapter;
};
void logits_command(const Metadata &metadata, const LogitsOptions &options);

struct CalibrateOptions {
  RunOptions run;
  DataOptions text;
  std::string out;
  /// Second moments of the inputs of linears whose weights' names hold this,
  /// instead of squares of all.
  std::optional<std::string> moments;
  /// "4-7": of these layers only, as tensors' names count them.
  std::optional<std::string> layers;
};
void calibrate_command(const Metadata &metadata,
                       const CalibrateOptions &options);

/// Tokens that are guessed of a text in a step.
inline constexpr uint32_t usual_prompt_lookup = 8;

/// Of the commands batch and score.
struct BatchCommandOptions : RankOptions {
  RunOptions run;
  /// Texts are scored.
  bool scores = false;
  std::string requests;
  std::string out;
  /// Of requests that do not say.
  uint64_t max_new_tokens = 256;
  /// "NAME=DIR", PEFT folders that requests may name.
  std::vector<std::string> adapters;
  /// "4GiB"; else what fits.
  std::optional<std::string> kv_memory;
  OffloadFlags offload;
  bool no_prefix_cache = false;
  uint32_t prompt_lookup = usual_prompt_lookup;
  /// Of --memory: say what stays, and load nothing.
  bool dry_run = false;
  bool json = false;
};
void batch_command(const Metadata &metadata,
                   const BatchCommandOptions &options);

struct ServeOptions : RankOptions {
  RunOptions run;
  /// Addresses to listen at, and the port; 0: any that is free.
  std::vector<std::string> hosts = {"127.0.0.1"};
  uint16_t port = 8080;
  /// What the API calls the model; else the name of the checkpoint.
  std::optional<std::string> name;
  std::vector<std::string> api_keys;
  /// A file with a key in each line.
  std::optional<std::string> api_key_file;
  std::vector<std::string> cors_origins;
  /// Instead of the checkpoint's.
  std::optional<std::string> chat_template;
  /// "mean", "last" or "none": of embeddings, instead of the checkpoint's.
  std::optional<std::string> pooling;
  /// A template of a query and a document, behind which "YES,NO" are compared.
  std::optional<std::string> score_template;
  std::string score_tokens = "yes,no";
  /// A JSON object: keys for requests that do not have them.
  std::optional<std::string> defaults;
  /// "NAME=DIR", PEFT folders that requests may name.
  std::vector<std::string> adapters;
  std::optional<std::string> kv_memory;
  OffloadFlags offload;
  bool no_prefix_cache = false;
  uint32_t prompt_lookup = usual_prompt_lookup;
  /// "64MiB": of a request's body.
  std::string max_body = "64MiB";
  uint64_t max_requests = 2048;
  double drain_seconds = 60;
  bool no_page = false;
  /// A folder with several models, instead of weights.
  std::optional<std::string> models;
  uint64_t models_max = 4;
  /// "16GiB"; else most of what is free.
  std::optional<std::string> models_memory;
  /// Seconds that a request waits for room.
  double models_wait = 60;
};
void serve_command(const Metadata &metadata, const ServeOptions &options);

struct ChatTemplateOptions {
  std::string weights;
};
void chat_template_command(const ChatTemplateOptions &options);

struct BenchOptions : RankOptions {
  RunOptions run;
  uint64_t prefill = 512;
  uint64_t decode = 64;
  /// Numbers of sequences that decode together; none: one alone.
  std::vector<uint64_t> batch;
  /// The file for times of steps over a grid, of which `batch` is an axis, and
  /// its other axes: rows of prompts, and positions before all rows.
  std::optional<std::string> step_times;
  std::vector<uint64_t> chunks, contexts;
  /// "NAME=DIR", PEFT folders that sequences of a batch have in turn.
  std::vector<std::string> adapters;
  OffloadFlags offload;
  /// 0: a few, as time allows.
  uint64_t repeat = 0;
  bool profile = false;
  /// Times and the verdict only.
  bool brief = false;
  /// Of how many traced runs each step's phases are told.
  uint64_t steps = 0;
  /// Where the logits of the run that is measured go.
  std::optional<std::string> logits;
  bool json = false;
  /// Only say what the runs would take.
  bool dry_run = false;
};
void bench_command(const Metadata &metadata, const BenchOptions &options);

/// What is trained with, or measured.
struct TrainingDataOptions {
  /// PATH, or PATH=WEIGHT of documents.
  std::vector<std::string> paths;
  /// Of documents only; see the usual ones in command_line.cpp.
  std::optional<std::string> loss_on, packing, long_documents;
  bool skip_bad_lines = false;
};

struct TrainOptions : RankOptions {
  RunOptions run;
  /// Instead of weights: random ones; of an adapter, of its own.
  std::optional<uint64_t> init_seed;
  /// The folder of the adapter to begin with.
  std::optional<std::string> adapter;
  /// Whose config.json and tokenizer go with checkpoints of random weights.
  std::optional<std::string> model;
  TrainingDataOptions data;
  uint64_t steps = 0;
  std::string out;
  uint64_t batch = 8;
  uint64_t sequence = 0;
  uint64_t accumulate = 1;
  double learning_rate = 3e-4;
  std::string schedule = "cosine";
  /// Of the largest learning rate; else the schedule's usual one.
  std::optional<double> final_fraction;
  uint64_t warm_up = 0;
  /// Of the optimizer: NAME=VALUE.
  std::vector<std::string> numbers;
  /// A learned optimizer's: a file or a folder.
  std::optional<std::string> optimizer_weights;
  double clip = 1;
  /// Of programs in F16: the scale to begin with.
  std::optional<double> loss_scale;
  /// Of losses of pairs of answers; else the usual one.
  std::optional<double> dpo_beta;
  /// How much of the optimizer's states is in memory, as 512MiB; all of them.
  std::optional<std::string> state_memory;
  /// Of a program that obeys a cap: another one, as 6GiB; and of how many first
  /// layers weights, gradients and states stay in memory, and saved values do
  /// not, instead of what moves the fewest bytes.
  std::optional<std::string> memory;
  std::optional<uint64_t> persistent_layers, swapped_layers;
  /// Where the others are; else in the run's folder.
  std::optional<std::string> offload_dir;
  /// Of losses that have a teacher: its folder, the factors of the divergence
  /// and of the cross-entropy, and whose divergence from whom; else the usual
  /// ones.
  std::optional<std::string> teacher;
  std::optional<double> kl, ce;
  std::optional<std::string> divergence;
  uint64_t save_every = 0;
  uint64_t keep = 2;
  /// 0 without; of a run that is resumed, its own.
  std::optional<uint64_t> seed;
  double validation_fraction = 0.1;
  /// Steps from one validation to the next; 0: none.
  uint64_t validate_every = 0;
  bool resume = false;
  /// Also write a file of events.
  bool tensorboard = false;
  /// Of several ranks: compare their times; how much longer a slow rank takes,
  /// else the usual; and write them to a file.
  bool health = true;
  std::optional<double> health_threshold;
  bool health_log = false;
  /// Where the gradients of the last step go.
  std::optional<std::string> gradients;
  /// What is printed either way.
  bool json = false;
  /// Only say what the run would take.
  bool dry_run = false;
};
void train_command(const Metadata &metadata, const TrainOptions &options);

struct TeachOptions : RankOptions {
  RunOptions run;
  /// A PEFT folder.
  std::optional<std::string> adapter;
  /// The folder whose tokenizer and chat template make tokens; else the
  /// weights'.
  std::optional<std::string> tokenizer;
  TrainingDataOptions data;
  uint64_t sequence = 0;
  /// "64", or "all" for the vocabulary.
  std::string top_k = "64";
  double temperature = 1;
  /// "256MiB": of a shard.
  std::string shard = "256MiB";
  std::string out;
  bool json = false;
  /// Only say how much would be written.
  bool dry_run = false;
};
void teach_command(const Metadata &metadata, const TeachOptions &options);

struct EvaluationOptions : RankOptions {
  RunOptions run;
  /// The folder of the adapter that is measured beside the model.
  std::optional<std::string> adapter;
  TrainingDataOptions data;
  uint64_t batch = 8;
  uint64_t sequence = 0;
  bool json = false;
};
void evaluate_command(const Metadata &metadata,
                      const EvaluationOptions &options);

struct InfoOptions {
  bool json = false;
};
void info_command(const Metadata &metadata, const InfoOptions &options);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_COMMANDS_H
