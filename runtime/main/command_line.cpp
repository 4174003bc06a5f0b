//===- command_line.cpp - the command line of a compiled program ---------===//

#include "runtime/main/command_line.h"

#include "runtime/comm/message_passing.h"
#include "runtime/error.h"
#include "runtime/main/batch_commands.h"
#include "runtime/main/commands.h"
#include "runtime/main/interrupt.h"
#include "runtime/main/output.h"
#include "runtime/main/training_commands.h"
#include "runtime/weights/message.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <new>
#include <thread>

namespace baton {

namespace {

/// Joins lines, so that every complaint is one.
std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  for (char &letter : text)
    if (letter == '\n' || letter == '\r')
      letter = ' ';
  return text;
}

/// Without a remark in the help, which N says already; CLI11's own words for
/// this quote the largest double.
CLI::Validator positive() {
  return CLI::Validator(
      [](std::string &text) -> std::string {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && value > 0)
          return "";
        return text + " is not a number greater than 0";
      },
      "");
}

/// CLI11 takes -1 for the largest number, and what is beyond it, too.
CLI::Validator whole(uint64_t least = 0) {
  return CLI::Validator(
      [least](std::string &text) -> std::string {
        uint64_t value = 0;
        auto [end, failure] =
            std::from_chars(text.data(), text.data() + text.size(), value);
        if (failure == std::errc() && end == text.data() + text.size() &&
            value >= least)
          return "";
        return text + " is no whole number from " + std::to_string(least) +
               " to " + std::to_string(std::numeric_limits<uint64_t>::max());
      },
      "");
}

void add_program_options(CLI::App &command, RunOptions &options,
                         const std::string &weights_help) {
  command.add_option("--weights", options.weights, weights_help)
      ->type_name("DIR");
  command
      .add_option("--workers", options.workers,
                  "Threads (default: one for each core)")
      ->type_name("N")
      ->check(whole(1));
  command
      .add_option("--prefill-chunk", options.prefill_chunk,
                  "Tokens of the prompt in one step (default: as many as the "
                  "program takes)")
      ->type_name("N")
      ->check(whole(1));
  command.add_flag("--no-cache", options.no_cache,
                   "Neither read nor write packed weights beside the "
                   "checkpoint");
  command.add_flag("--quiet", options.quiet, "Nothing but results and errors");
  // For tests of the wrap at 2^32; in no group, it is not shown.
  command.add_option("--event-origin", options.event_origin)
      ->check(CLI::Range(uint64_t(0),
                         uint64_t(std::numeric_limits<uint32_t>::max())))
      ->group("");
}

/// Of a run that has an end.
void add_run_options(CLI::App &command, RunOptions &options,
                     const std::string &weights_help) {
  add_program_options(command, options, weights_help);
  command
      .add_option("--trace", options.trace,
                  "Write when each task ran, as JSON for ui.perfetto.dev")
      ->type_name("OUT.json");
}

void add_memory_check(CLI::App &command, RunOptions &options) {
  command
      .add_option("--check-memory", options.check_memory,
                  "Of programs compiled with --sanitize=address: watch that "
                  "tasks touch what they declare only, and write how far "
                  "each went")
      ->type_name("OUT.json");
}

void add_rank_options(CLI::App &command, RankOptions &options) {
  command
      .add_option("--ranks", options.ranks,
                  "Of programs compiled with --mesh: how many ranks there are, "
                  "which has to be the mesh's number (default)")
      ->type_name("N")
      ->check(whole(1));
  command
      .add_option("--rank-timeout", options.rank_timeout,
                  "Seconds that a rank waits for others until the run ends")
      ->type_name("S")
      ->capture_default_str();
  // For tests of ranks that fail; in no group, it is not shown.
  command.add_option("--rank-fault", options.rank_fault)->group("");
}

/// An option whose help says what it is without.
template <typename Value>
CLI::Option *add_number(CLI::App &command, const char *flag, Value &value,
                        const char *type, const char *text) {
  return command.add_option(flag, value, text)
      ->type_name(type)
      ->capture_default_str();
}

/// What is trained with, or measured.
void add_training_data(CLI::App &command, TrainingDataOptions &options) {
  command
      .add_option("--data", options.paths,
                  "A text, a folder of texts, tokens (.u16, .u32), or "
                  "documents: a .jsonl file, or a folder of such, whose lines "
                  "have \"messages\", \"prompt\" and \"completion\", or "
                  "\"text\"; of a program compiled with --loss=dpo, "
                  "\"chosen\" and \"rejected\". Of documents there may be "
                  "several --data; with "
                  "=WEIGHT behind it, an epoch has each document so many times")
      ->type_name("PATH[=WEIGHT]")
      ->allow_extra_args(false)
      ->required();
  command
      .add_option("--loss-on", options.loss_on,
                  "Of documents, which tokens are learned: completions, which "
                  "are the assistant's messages, completions and texts "
                  "(default), or all")
      ->type_name("WHAT");
  command
      .add_option("--packing", options.packing,
                  "Of documents: best puts several into a sequence, where none "
                  "sees the others (default); none gives each its own")
      ->type_name("HOW");
  command
      .add_option("--long-documents", options.long_documents,
                  "Of documents with more tokens than a sequence: cut leaves "
                  "the end out (default), split makes several documents of "
                  "one, drop leaves it out")
      ->type_name("HOW");
  command.add_flag("--skip-bad-lines", options.skip_bad_lines,
                   "Leave out lines of .jsonl files that cannot be read, and "
                   "count them, instead of an error");
}

/// What a run begins with, what it reads, and where it ends.
void add_training_ends(CLI::App &command, TrainOptions &options) {
  command
      .add_option("--weights", options.run.weights,
                  "The folder with the weights to begin with; of a program "
                  "compiled with --adapter, of the model beside which it "
                  "trains, or its .gguf file")
      ->type_name("DIR");
  command
      .add_option(
          "--init-seed", options.init_seed,
          "Begin with random weights, or beside --weights with a random "
          "adapter (default there: 0); the same seed gives the same")
      ->type_name("S")
      ->check(whole());
  command
      .add_option("--adapter", options.adapter,
                  "Begin with the adapter in this PEFT folder")
      ->type_name("DIR");
  command
      .add_option("--model", options.model,
                  "With --init-seed: the folder with config.json, and a "
                  "tokenizer.json if text is not read byte by byte")
      ->type_name("DIR");
  add_training_data(command, options.data);
  command.add_option("--steps", options.steps, "Steps of the whole run")
      ->type_name("N")
      ->required()
      ->check(whole(1));
  command
      .add_option("--out", options.out,
                  "Where checkpoints and the loss curve go")
      ->type_name("DIR")
      ->required();
}

/// What a step consists of.
template <typename Options>
void add_sequence_sizes(CLI::App &command, Options &options) {
  add_number(command, "--batch", options.batch, "B",
             "Sequences of a microbatch")
      ->check(whole(1));
  command
      .add_option("--seq", options.sequence,
                  "Tokens of a sequence (default: as many as the model takes, "
                  "at most 256)")
      ->type_name("T")
      ->check(whole(1));
}

void add_step_sizes(CLI::App &command, TrainOptions &options) {
  add_sequence_sizes(command, options);
  add_number(command, "--accumulate", options.accumulate, "A",
             "Microbatches of a step")
      ->check(whole(1));
}

void add_optimizer_options(CLI::App &command, TrainOptions &options) {
  add_number(command, "--lr", options.learning_rate, "X",
             "The largest learning rate")
      ->check(positive());
  add_number(command, "--lr-schedule", options.schedule, "NAME",
             "How it falls: constant, linear, cosine");
  command
      .add_option("--final-fraction", options.final_fraction,
                  "What it falls to, as a fraction of the largest (default: "
                  "0.1 of cosine, 0 of linear)")
      ->type_name("X");
  add_number(command, "--warmup", options.warm_up, "N",
             "Steps until it is reached")
      ->check(whole());
  command
      .add_option("--set", options.numbers,
                  "A number of the optimizer's, for example beta2=0.95, or "
                  "muon.momentum=0.9 of one rule; info lists them")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--optimizer-weights", options.optimizer_weights,
                  "Of a learned optimizer, as small_fc_lopt: its weights, a "
                  "safetensors file, or the folder of a model.safetensors; "
                  "info lists its tensors")
      ->type_name("PATH");
  command
      .add_option_function<std::string>(
          "--weight-decay",
          [&options](const std::string &value) {
            options.numbers.push_back("weight_decay=" + value);
          },
          "As --set weight_decay=X")
      ->type_name("X");
  add_number(command, "--clip", options.clip, "X",
             "Largest norm of the gradients; 0: any");
  command
      .add_option("--loss-scale", options.loss_scale,
                  "Of programs compiled with --dtype=f16: what losses are "
                  "multiplied by at first, a power of two; halved whenever a "
                  "gradient is infinite (default: 65536)")
      ->type_name("X");
  command
      .add_option("--dpo-beta", options.dpo_beta,
                  "Of programs compiled with --loss=dpo: how much a model is "
                  "held to the reference, which it is as the run begins "
                  "(default: 0.1)")
      ->type_name("X");
  command
      .add_option("--teacher", options.teacher,
                  "Of programs compiled with --loss=distill: the folder that a "
                  "teacher's command teach has written for the same --data")
      ->type_name("DIR");
  command
      .add_option("--kl", options.kl,
                  "With --teacher: the factor of the divergence from it, which "
                  "the square of its temperature multiplies, too (default: 1)")
      ->type_name("X");
  command
      .add_option("--ce", options.ce,
                  "With --teacher: the factor of the cross-entropy of the "
                  "data's tokens (default: 0)")
      ->type_name("X");
  command
      .add_option("--divergence", options.divergence,
                  "With --teacher: forward, KL(teacher || model) (default), or "
                  "reverse, KL(model || teacher)")
      ->type_name("WHICH");
}

void add_state_options(CLI::App &command, TrainOptions &options) {
  command
      .add_option("--state-memory", options.state_memory,
                  "The most memory for the optimizer's states, of each rank, "
                  "as in 512MiB or 4GiB: the others are in a file on a disk, "
                  "or, of a GPU's, in this machine's memory (default: all are "
                  "in memory)")
      ->type_name("SIZE");
  command
      .add_option("--memory", options.memory,
                  "Of a program compiled with batonc --memory: another cap on "
                  "what the run has resident, as in 512MiB or 6GiB (default: "
                  "the one that it was compiled with)")
      ->type_name("SIZE");
  command
      .add_option("--persistent-layers", options.persistent_layers,
                  "With a cap: of how many first layers weights, gradients and "
                  "states stay in memory (default, as of the next flag: what "
                  "moves the fewest bytes)")
      ->type_name("N")
      ->check(whole());
  command
      .add_option("--swapped-layers", options.swapped_layers,
                  "With a cap: of how many first layers saved values are in "
                  "the file between the forward and the backward step")
      ->type_name("N")
      ->check(whole());
  command
      .add_option("--offload-dir", options.offload_dir,
                  "The folder of the file that has what is not in memory; it "
                  "has no name there (default: --out)")
      ->type_name("DIR");
}

/// What comes of a run besides its last weights.
void add_training_results(CLI::App &command, TrainOptions &options) {
  command
      .add_option("--save-every", options.save_every,
                  "Steps from one checkpoint to the next (default: only one, "
                  "at the end)")
      ->type_name("N")
      ->check(whole());
  add_number(command, "--keep", options.keep, "K",
             "Checkpoints that stay; 0: all")
      ->check(whole());
  command
      .add_option("--seed", options.seed,
                  "Of the order of sequences (default: 0, or that of the run "
                  "that is resumed)")
      ->type_name("S")
      ->check(whole());
  add_number(command, "--validation-fraction", options.validation_fraction, "X",
             "Of the sequences, or of each file's documents, set aside: the "
             "last ones");
  command
      .add_option("--validate-every", options.validate_every,
                  "Steps from one measurement of the validation loss to the "
                  "next, and after the last one (default: none)")
      ->type_name("N")
      ->check(whole());
  command
      .add_option("--gradients", options.gradients,
                  "Also write the gradients of the last step, under the "
                  "names of their parameters")
      ->type_name("OUT.safetensors");
  command.add_flag("--tensorboard", options.tensorboard,
                   "Also write each step's numbers to a file of events in "
                   "--out, for tensorboard --logdir");
}

void add_worker_options(CLI::App &command, RunOptions &options) {
  command
      .add_option(
          "--workers", options.workers,
          "Threads, of all ranks together, which have at least one each "
          "(default: one for each core)")
      ->type_name("N")
      ->check(whole(1));
}

void add_engine_option(CLI::App &command, RankOptions &options) {
  command
      .add_option("--engine", options.engine,
                  "What connects ranks: threads of this process, or mpi "
                  "(default: mpi under mpirun, threads otherwise); on GPUs, "
                  "where either does, nccl moves tensors")
      ->type_name("NAME");
}

void add_quiet_flag(CLI::App &command, RunOptions &options) {
  command.add_flag("--quiet", options.quiet, "Nothing but results and errors");
}

void add_health_options(CLI::App &command, TrainOptions &options) {
  command.add_flag_callback(
      "--no-health", [&options] { options.health = false; },
      "Of several ranks: do not compare the times that they compute, and warn "
      "of none that is slower than its peers");
  command
      .add_option("--health-threshold", options.health_threshold,
                  "How much longer than its peers a rank takes that is slow "
                  "(default: 0.03, which is 3 %)")
      ->type_name("X");
  command.add_flag("--health-log", options.health_log,
                   "Of several ranks: also write their times of each step to "
                   "health-STEP.csv in --out, for batonc health");
}

/// How a run runs.
void add_training_run(CLI::App &command, TrainOptions &options) {
  add_memory_check(command, options.run);
  command.add_flag("--no-cache", options.run.no_cache,
                   "Neither read nor write the packed weights of an adapter's "
                   "model beside its checkpoint");
  command.add_flag("--resume", options.resume,
                   "Go on from the newest intact checkpoint in --out, which "
                   "has the model's weights and files");
  add_worker_options(command, options.run);
  add_rank_options(command, options);
  add_engine_option(command, options);
  add_health_options(command, options);
  add_quiet_flag(command, options.run);
  command
      .add_option("--trace", options.run.trace,
                  "Write when each task ran, as JSON for ui.perfetto.dev")
      ->type_name("OUT.json");
  command.add_flag(
      "--json", options.json,
      "One JSON object a step, as always; of documents, one about them "
      "before the first; of ranks, one where a rank becomes slow, or is so no "
      "longer; and at the end, of several ranks, one about what they "
      "have exchanged; with --dry-run one object in all");
}

/// A run that is not made needs neither data nor a place for its results.
void add_dry_run(CLI::App &command, TrainOptions &options) {
  command.add_flag_callback(
      "--dry-run",
      [&command, &options] {
        options.dry_run = true;
        for (const char *name : {"--data", "--steps", "--out"})
          command.get_option(name)->required(false);
      },
      "Load nothing and make no step: print the plan, the memory that it takes "
      "beside what this machine has, and the operations and least time of a "
      "step; takes neither weights, --data, --steps nor --out");
}

void add_train_options(CLI::App &command, TrainOptions &options,
                       const std::string &program) {
  add_training_ends(command, options);
  add_dry_run(command, options);
  add_step_sizes(command, options);
  add_optimizer_options(command, options);
  add_state_options(command, options);
  add_training_results(command, options);
  add_training_run(command, options);
  command.footer(
      "Examples:\n  " + program +
      " train --weights DIR --data texts --steps 100 --out run\n  " + program +
      " train --init-seed 1 --model DIR --data texts --steps 1000 "
      "--warmup 50 --save-every 200 --out run\n  " +
      program +
      " train --resume --data texts --steps 1000 --warmup 50 "
      "--save-every 200 --out run\n  " +
      program +
      " train --weights DIR --data chats.jsonl --data more.jsonl=0.5 "
      "--steps 100 --seq 1024 --batch 2 --out run\n  " +
      program + " train --dry-run --batch 2 --seq 1024\n  mpirun -n 2 " +
      program +
      " train --weights DIR --data texts --steps 100 --out run\n"
      "The last one is for programs compiled with --mesh=dp=2; "
      "without mpirun their ranks are threads.");
}

void add_evaluation_options(CLI::App &command, EvaluationOptions &options,
                            const std::string &program) {
  command
      .add_option(
          "--weights", options.run.weights,
          "The folder with the weights, which may be a run's checkpoint; of a "
          "program compiled with --adapter, of the model, or its .gguf file")
      ->type_name("DIR")
      ->required();
  command
      .add_option("--adapter", options.adapter,
                  "The PEFT folder of the adapter beside it (default: none, "
                  "which is the model alone)")
      ->type_name("DIR");
  add_training_data(command, options.data);
  add_sequence_sizes(command, options);
  add_worker_options(command, options.run);
  add_rank_options(command, options);
  add_engine_option(command, options);
  add_quiet_flag(command, options.run);
  command.add_flag("--json", options.json,
                   "One JSON object instead of a table");
  command.footer("Losses are means over targets, in nats; all of the data is "
                 "measured, and nothing is trained.\n\nExamples:\n  " +
                 program + " eval --weights DIR --data held-out.jsonl\n  " +
                 program +
                 " eval --weights run/step-200 --data chats.jsonl --data "
                 "answers.jsonl --seq 1024 --batch 2 --json");
}

/// CLI11 takes "--flag=" without a value as "--flag" and swallows the next
/// argument. Splitting these makes an empty value what it is.
std::vector<std::string> split_empty_values(int argc, char **argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.starts_with("--") && argument.ends_with('=') &&
        argument.find('=') == argument.size() - 1) {
      argument.pop_back();
      arguments.push_back(argument);
      arguments.emplace_back();
    } else {
      arguments.push_back(argument);
    }
  }
  return arguments;
}

/// How tokens are drawn. Returns what completes and checks that, once the
/// command line is read.
std::function<void()> add_sampling(CLI::App &command,
                                   SamplingOptions &sampling) {
  CLI::Option *temperature =
      command
          .add_option("--temperature", sampling.temperature,
                      "Sample from softmax(logits / T); 0, the default, takes "
                      "the most likely token")
          ->type_name("T");
  CLI::Option *top_k =
      command
          .add_option("--top-k", sampling.top_k,
                      "Sample from the K most likely tokens only; implies "
                      "--temperature 1")
          ->type_name("K")
          ->check(whole(1));
  CLI::Option *top_p =
      command
          .add_option("--top-p", sampling.top_p,
                      "Sample from the most likely tokens that together reach "
                      "probability P; implies --temperature 1")
          ->type_name("P");
  command
      .add_option("--seed", sampling.seed,
                  "The same seed samples the same tokens (default 0)")
      ->check(whole())
      ->type_name("S");
  return [=, &sampling] {
    if (!std::isfinite(sampling.temperature) || sampling.temperature < 0)
      throw Error("--temperature: expected a number that is not negative");
    if (!(sampling.top_p > 0 && sampling.top_p <= 1))
      throw Error("--top-p: expected a probability above 0 and at most 1");
    if (temperature->count() == 0 && top_k->count() + top_p->count() > 0)
      sampling.temperature = 1;
  };
}

void add_lone_adapter(CLI::App &command, std::optional<std::string> &adapter) {
  command
      .add_option("--adapter", adapter,
                  "The PEFT folder of a low-rank adapter beside the model, of "
                  "programs compiled with --max-adapters")
      ->type_name("DIR");
}

/// Returns what completes them, once the command line is read.
std::function<void()> add_generate_options(CLI::App &command,
                                           GenerateOptions &options,
                                           const std::string &program) {
  add_run_options(command, options.run,
                  "The checkpoint's folder, or a GGUF file");
  add_rank_options(command, options);
  add_memory_check(command, options.run);
  command.add_option("--prompt", options.prompt, "The text to continue")
      ->type_name("TEXT");
  command
      .add_option("--tokens", options.tokens,
                  "The token ids to continue, instead of a text")
      ->type_name("1,2,3");
  command
      .add_option("--max-new-tokens", options.max_new_tokens,
                  "Stop after this many tokens, if the text does not end "
                  "before")
      ->type_name("N")
      ->required()
      ->check(whole(1));
  add_lone_adapter(command, options.adapter);
  std::function<void()> complete = add_sampling(command, options.sampling);
  command.add_flag("--json", options.json,
                   "Print one JSON object at the end instead of the text");
  command.footer(
      "The text is printed as it is generated. Without a tokenizer in the "
      "folder each byte of a prompt\nis a token. Without one, or with one that "
      "is not supported, --tokens prints token ids.\n\nExamples:\n  " +
      program +
      " generate --weights DIR --prompt \"Once upon a time\" "
      "--max-new-tokens 64\n  " +
      program +
      " generate --weights DIR --prompt Hello --max-new-tokens 64 "
      "--temperature 0.8 --top-p 0.95 --seed 7\n  " +
      program +
      " generate --weights DIR --tokens 1,2,3 --max-new-tokens 8 --json");
  return complete;
}

/// How the text of --data is cut.
void add_windows(CLI::App &command, DataOptions &options, CLI::Option *data) {
  command
      .add_option("--context", options.context,
                  "Tokens of a window of --data (default: 512, or as many as "
                  "the program has positions for)")
      ->type_name("N")
      ->check(whole(1))
      ->needs(data);
  command
      .add_option("--windows", options.windows,
                  "The first windows of --data only (default: all)")
      ->type_name("N")
      ->check(whole(1))
      ->needs(data);
}

void add_logits_options(CLI::App &command, LogitsOptions &options,
                        const std::string &program) {
  add_run_options(command, options.run,
                  "The checkpoint's folder, or a GGUF file");
  add_rank_options(command, options);
  add_memory_check(command, options.run);
  add_lone_adapter(command, options.adapter);
  CLI::Option *tokens =
      command.add_option("--tokens", options.tokens, "The text's token ids")
          ->type_name("1,2,3");
  CLI::Option *out =
      command
          .add_option("--out", options.out,
                      "The array to write: float32 [tokens, vocabulary]")
          ->type_name("LOGITS.npy");
  CLI::Option *dump =
      command
          .add_option("--dump", options.dump,
                      "Also write every value that the program computes, one "
                      ".npy each and an index.json in program order; runs one "
                      "worker")
          ->type_name("DIR");
  CLI::Option *data =
      command
          .add_option("--data", options.text.data,
                      "A long text, in windows: standard output gets a line of "
                      "JSON that says how many there are, all tokens, and the "
                      "logits of each window's second half, as they come")
          ->type_name("TEXT")
          ->excludes(tokens)
          ->excludes(out)
          ->excludes(dump);
  add_windows(command, options.text, data);
  command.footer("Examples:\n  " + program +
                 " logits --weights DIR --tokens 1,2,3 --out logits.npy\n  " +
                 program +
                 " logits --weights DIR --tokens 1,2,3 --out logits.npy "
                 "--dump values\n  " +
                 program +
                 " logits --weights DIR --data text.txt --context 256 > "
                 "logits\n"
                 "batonc compare reads what --data writes, of two programs.");
}

/// Of programs of many sequences.
void add_adapters(CLI::App &command, std::vector<std::string> &adapters) {
  command
      .add_option("--adapter", adapters,
                  "A low-rank adapter that requests may name, and its PEFT "
                  "folder; once for each, of programs compiled with "
                  "--max-adapters")
      ->type_name("NAME=DIR")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

void add_page_options(CLI::App &command, std::optional<std::string> &kv_memory,
                      bool &no_prefix_cache) {
  command
      .add_option("--kv-memory", kv_memory,
                  "Memory for keys and values, as in 512MiB or 4GiB (default: "
                  "what all sequences may need, at most half of what is free)")
      ->type_name("SIZE");
  command.add_flag("--no-prefix-cache", no_prefix_cache,
                   "Compute every prompt as a whole, also where others begin "
                   "alike");
}

/// Of programs of --offload.
void add_offload_options(CLI::App &command, OffloadFlags &flags,
                         const std::string &usual_folder) {
  command
      .add_option("--memory", flags.memory,
                  "The most that the process has in memory, as in 512MiB or "
                  "4GiB, of a program of --offload: weights, keys and values "
                  "beyond that come from files, layer by layer. The tokens are "
                  "the same (default: what batonc --memory said, else all is "
                  "in memory)")
      ->type_name("SIZE");
  command
      .add_option("--kv-in-memory", flags.kv_in_memory,
                  "Of --memory, for keys and values that stay there (default: "
                  "all of them if the weights of two layers fit beside them, "
                  "else as many as do)")
      ->type_name("SIZE");
  command
      .add_option("--offload-dir", flags.folder,
                  "Folder on a disk for a file of what does not stay in memory "
                  "(default: " +
                      usual_folder +
                      "); weights lie in the checkpoint's .baton, unless "
                      "--no-cache is given")
      ->type_name("DIR");
  command.add_flag("--no-prefetch", flags.no_prefetch,
                   "Of --memory, for comparison: a layer comes when the one "
                   "before is done, not while it computes");
}

/// Of those that generate.
void add_prompt_lookup(CLI::App &command, uint32_t &most) {
  add_number(command, "--prompt-lookup", most, "N",
             "Most tokens that a step guesses of a text, from what the text "
             "has already; the same tokens come sooner (0: none)")
      ->check(CLI::Range(0, 64));
}

/// What texts are continued or scored with.
void add_request_options(CLI::App &command, BatchCommandOptions &options) {
  add_run_options(command, options.run,
                  "The checkpoint's folder, or a GGUF file");
  add_rank_options(command, options);
  add_memory_check(command, options.run);
  command
      .add_option("--requests", options.requests,
                  "The requests, one JSON object a line")
      ->type_name("IN.jsonl")
      ->required();
  command
      .add_option("--out", options.out,
                  "The results, one a line; those that are there already are "
                  "not computed again")
      ->type_name("OUT.jsonl")
      ->required();
  add_adapters(command, options.adapters);
  add_page_options(command, options.kv_memory, options.no_prefix_cache);
  add_offload_options(command, options.offload, "that of --out");
  command.add_flag("--dry-run", options.dry_run,
                   "Of --memory: load nothing and make no step: print what "
                   "stays in memory");
  command.add_flag("--json", options.json,
                   "Print one JSON object at the end about the whole run");
}

void add_batch_options(CLI::App &command, BatchCommandOptions &options,
                       const std::string &program) {
  add_request_options(command, options);
  add_number(command, "--max-new-tokens", options.max_new_tokens, "N",
             "Tokens of requests that do not say how many")
      ->check(whole(1));
  add_prompt_lookup(command, options.prompt_lookup);
  command.footer(
      "A request is a line like\n"
      "  {\"id\": \"a\", \"prompt\": \"Once upon a time\", "
      "\"max_new_tokens\": 64}\n"
      "with an id of its own. \"tokens\": [1, 2, 3] may stand for the "
      "prompt, and these may be added:\ntemperature, top_k, top_p, min_p, "
      "seed, n, stop, logprobs, repetition_penalty, presence_penalty,\n"
      "frequency_penalty, logit_bias, prompt_logprobs, score_from, adapter. "
      "Lines of "
      "OpenAI's batches for "
      "/v1/completions and\n/v1/chat/completions are taken as they are.\n\n"
      "Results are written as requests finish, in the end in their order. A "
      "line that is wrong has a result\nthat says why. When a run was "
      "interrupted or killed, the same command goes on. Which requests run\n"
      "together, and in which chunks, changes no result.\n\nExamples:\n  " +
      program + " batch --weights DIR --requests in.jsonl --out out.jsonl\n  " +
      program +
      " batch --weights DIR --requests in.jsonl --out out.jsonl "
      "--max-new-tokens 64 --kv-memory 4GiB --json");
}

/// Of embeddings and scores.
void add_vector_options(CLI::App &command, ServeOptions &options) {
  command
      .add_option("--pooling", options.pooling,
                  "What an embedding is of a text's hidden states: mean, last "
                  "or none (all of them, for /embedding), instead of what the "
                  "checkpoint says")
      ->type_name("POOLING");
  CLI::Option *score_template =
      command
          .add_option("--score-template", options.score_template,
                      "Of a model that says whether a document answers a "
                      "query: the prompt, in Jinja, of query, document and "
                      "instruction. Scores are then probabilities")
          ->type_name("FILE");
  add_number(command, "--score-tokens", options.score_tokens, "YES,NO",
             "The two answers behind that prompt, a token each")
      ->needs(score_template);
}

void add_serve_options(CLI::App &command, ServeOptions &options,
                       const std::string &program) {
  add_program_options(command, options.run,
                      "The checkpoint's folder, or a GGUF file");
  add_rank_options(command, options);
  command
      .add_option("--host", options.hosts,
                  "An address to listen at, once for each; 0.0.0.0 is all of "
                  "this machine (default: 127.0.0.1)")
      ->type_name("HOST")
      ->allow_extra_args(false);
  add_number(command, "--port", options.port, "N",
             "The port; 0 takes one that is free");
  command
      .add_option("--name", options.name,
                  "What clients call the model (default: the name of the "
                  "checkpoint)")
      ->type_name("NAME");
  command
      .add_option("--api-key", options.api_keys,
                  "Answer only who shows this key, or one of several; so do "
                  "BATON_API_KEY and --api-key-file")
      ->type_name("KEY")
      ->allow_extra_args(false);
  command
      .add_option("--api-key-file", options.api_key_file,
                  "A file with a key in each line")
      ->type_name("FILE");
  command
      .add_option("--cors-origin", options.cors_origins,
                  "Pages of this origin may use the server; * for all")
      ->type_name("ORIGIN")
      ->allow_extra_args(false);
  command
      .add_option("--chat-template", options.chat_template,
                  "A template in Jinja, instead of the checkpoint's")
      ->type_name("FILE");
  add_vector_options(command, options);
  command
      .add_option("--defaults", options.defaults,
                  "Keys for requests that do not have them, as in "
                  "'{\"temperature\": 0.7, \"max_tokens\": 500}'")
      ->type_name("JSON");
  add_adapters(command, options.adapters);
  add_page_options(command, options.kv_memory, options.no_prefix_cache);
  add_offload_options(command, options.offload, "the current one");
  add_prompt_lookup(command, options.prompt_lookup);
  add_number(command, "--max-body", options.max_body, "SIZE",
             "The largest body of a request");
  add_number(command, "--max-requests", options.max_requests, "N",
             "Requests that may wait or run; more are told to try later")
      ->check(whole(1));
  add_number(command, "--drain-seconds", options.drain_seconds, "S",
             "How long requests may go on once the server is told to end");
  command.add_flag("--no-page", options.no_page, "Without the page at /");
  CLI::Option *models =
      command
          .add_option("--models", options.models,
                      "Serve several models, each loaded when it is asked for: "
                      "of each a folder with program, weights (or "
                      "weights.gguf) and further flags in flags.txt")
          ->type_name("FOLDER");
  // Of one model.
  for (const char *flag :
       {"--weights", "--workers", "--prefill-chunk", "--no-cache", "--ranks",
        "--name", "--chat-template", "--pooling", "--score-template",
        "--no-prefix-cache", "--prompt-lookup", "--defaults", "--memory",
        "--kv-in-memory", "--offload-dir", "--no-prefetch"})
    models->excludes(command.get_option(flag));
  add_number(command, "--models-max", options.models_max, "N",
             "Models that are loaded at a time")
      ->check(whole(1))
      ->needs(models);
  add_number(command, "--models-wait", options.models_wait, "S",
             "How long a request may wait for models that are busy to make "
             "room")
      ->needs(models);
  command
      .add_option("--models-memory", options.models_memory,
                  "What loaded models may take together (default: 80 % of what "
                  "is free)")
      ->type_name("SIZE")
      ->needs(models);
  command.footer(
      "Serves OpenAI's API (/v1/chat/completions, /v1/completions, "
      "/v1/responses, /v1/embeddings), Anthropic's\n(/v1/messages) and some of "
      "llama.cpp's server. A browser finds a page to converse with the model\n"
      "at /. The first line of standard output is the address. SIGTERM or "
      "Ctrl-C lets requests finish; a\nsecond one does not "
      "wait.\n\nExamples:\n  " +
      program + " serve --weights DIR\n  " + program +
      " serve --weights DIR --host 0.0.0.0 --port 8000 --api-key KEY "
      "--kv-memory 8GiB\n  " +
      program +
      " serve --models FOLDER --models-memory 16GiB\n  curl "
      "localhost:8080/v1/chat/completions -d "
      "'{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'");
}

void add_score_options(CLI::App &command, BatchCommandOptions &options,
                       const std::string &program) {
  options.scores = true;
  add_request_options(command, options);
  command.footer(
      "A request is a line like one of these, with an id of its own:\n"
      "  {\"id\": \"a\", \"prompt\": \"The sky is\", \"continuations\": "
      "[\" blue\", \" a fish\"]}\n"
      "  {\"id\": \"b\", \"prompt\": \"Is it blue? Answer:\", \"choices\": "
      "[\" yes\", \" no\"]}\n"
      "Its result has for each continuation the logarithm of its probability "
      "behind the prompt, how many\ntokens it is, and whether each of them was "
      "the most likely one; for each choice, which is a single\ntoken, also "
      "its "
      "probability among them:\n"
      "  {\"id\": \"a\", \"scores\": [{\"logprob\": -1.2, \"tokens\": 1, "
      "\"greedy\": true}, ...], ...}\n"
      "\"tokens\": [1, 2, 3] may stand for the prompt, and lists of token ids "
      "for texts. \"logprobs\": 5 adds\nthose of each token and of the 5 most "
      "likely ones. What continuations have in common is computed once.\n\n"
      "Results are written as requests finish, in the end in their order. A "
      "line that is wrong has a result\nthat says why. When a run was "
      "interrupted or killed, the same command goes on. A program compiled\n"
      "with a larger --max-outputs scores more tokens in a step.\n\n"
      "Examples:\n  " +
      program + " score --weights DIR --requests in.jsonl --out out.jsonl\n  " +
      program +
      " score --weights DIR --requests in.jsonl --out out.jsonl "
      "--kv-memory 4GiB --json");
}

void add_teach_options(CLI::App &command, TeachOptions &options,
                       const std::string &program) {
  add_run_options(command, options.run,
                  "The checkpoint's folder, or a GGUF file");
  command
      .add_option("--adapter", options.adapter,
                  "The teacher has the adapter in this PEFT folder, too")
      ->type_name("DIR");
  command
      .add_option("--tokenizer", options.tokenizer,
                  "The folder whose tokenizer and chat template make tokens of "
                  "the data, which is the student's (default: --weights)")
      ->type_name("DIR");
  add_training_data(command, options.data);
  command
      .add_option("--seq", options.sequence,
                  "Tokens of a sequence of the student's, as train has it "
                  "(default: as many as the model takes, at most 256)")
      ->type_name("T")
      ->check(whole(1));
  command
      .add_option("--top-k", options.top_k,
                  "How many tokens to name at each position, or all, which is "
                  "the vocabulary")
      ->type_name("K")
      ->capture_default_str();
  add_number(command, "--temperature", options.temperature, "T",
             "What logits are divided by, the student's, too")
      ->check(positive());
  command
      .add_option("--shard", options.shard,
                  "How large a file becomes, at least")
      ->type_name("SIZE")
      ->capture_default_str();
  command
      .add_option("--out", options.out,
                  "The folder to write. Where it is of the same data and "
                  "flags, the command goes on")
      ->type_name("DIR")
      ->required();
  add_rank_options(command, options);
  add_engine_option(command, options);
  command.add_flag("--dry-run", options.dry_run,
                   "Only say how much would be written");
  command.add_flag("--json", options.json, "Print one JSON object");
  command.footer(
      "The likeliest tokens at each position of documents' targets, for "
      "programs that batonc --mode=train\n--loss=distill makes. --data, "
      "--loss-on, --long-documents and --seq have to be those of train.\n\n"
      "Examples:\n  " +
      program +
      " teach --weights DIR --data chats.jsonl --seq 1024 --out taught\n  " +
      program +
      " teach --weights BIG --tokenizer SMALL --data chats.jsonl --seq 1024 "
      "--top-k 128 --temperature 2 --out taught");
}

void add_bench_options(CLI::App &command, BenchOptions &options,
                       const std::string &program) {
  add_run_options(command, options.run,
                  "The checkpoint's folder, or a GGUF file (default: "
                  "random weights)");
  command.add_option("--prefill", options.prefill, "Tokens of the prompt")
      ->type_name("N")
      ->capture_default_str()
      ->check(whole(1));
  command.add_option("--decode", options.decode, "Tokens decoded after it")
      ->type_name("N")
      ->capture_default_str()
      ->check(whole(1));
  command
      .add_option("--batch", options.batch,
                  "Sequences that decode together, of a program of many: the "
                  "rates of so many each")
      ->type_name("N,N,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole(1));
  add_offload_options(command, options.offload, "the current one");
  CLI::Option *steps =
      command
          .add_option("--step-times", options.step_times,
                      "Measure steps over a grid instead, of a program of "
                      "many sequences, and write their times for batonc plan "
                      "serve; --batch lists rows with logits")
          ->type_name("OUT.json");
  command
      .add_option("--chunks", options.chunks,
                  "The grid's rows of prompts, in a step beside those with "
                  "logits (default: powers of two from 16)")
      ->type_name("N,N,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole(1))
      ->needs(steps);
  command
      .add_option("--contexts", options.contexts,
                  "The grid's positions before the rows of a step (default: "
                  "none, a quarter and as many as there is room for)")
      ->type_name("N,N,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole())
      ->needs(steps);
  add_adapters(command, options.adapters);
  command
      .add_option("--repeat", options.repeat,
                  "Runs that are measured, each from an empty context "
                  "(default: up to 8 in 15 seconds; 1 with --batch; 5 times "
                  "through the grid)")
      ->type_name("N")
      ->check(whole(1));
  command.add_flag("--profile", options.profile,
                   "Also show where the time goes, phase by phase, in a run "
                   "with one worker; on a device, with all workers, from a "
                   "trace");
  command
      .add_option("--steps", options.steps,
                  "With --json: also how long each iteration of each phase "
                  "took in every step of so many traced runs, with all "
                  "workers, and what was between steps")
      ->type_name("RUNS");
  command.add_flag("--brief", options.brief,
                   "Only times and the verdict: neither layers nor the "
                   "machine's limits");
  command
      .add_option("--logits", options.logits,
                  "Also write the logits of the run that is measured: float32 "
                  "[1 + tokens decoded, vocabulary]")
      ->type_name("OUT.npy");
  command.add_flag("--json", options.json, "Print one JSON object");
  command.add_flag("--dry-run", options.dry_run,
                   "Load nothing and make no step: print the memory that the "
                   "program takes beside what this machine has, and the least "
                   "time of a prompt and of a token");
  command.footer("Examples:\n  " + program + " bench\n  " + program +
                 " bench --weights DIR --prefill 128 --decode 32 "
                 "--workers 4 --json\n  " +
                 program + " bench --profile\n  " + program +
                 " bench --dry-run --prefill 2048 --decode 256\n  " + program +
                 " bench --batch 1,4,16 --prefill 128 --decode 32\n  " +
                 program + " bench --weights DIR --step-times times.json");
}

void add_calibrate_options(CLI::App &command, CalibrateOptions &options,
                           const std::string &program) {
  add_run_options(command, options.run,
                  "The checkpoint's folder, or a GGUF file");
  CLI::Option *data =
      command
          .add_option("--data", options.text.data, "A long text, in windows")
          ->type_name("TEXT")
          ->required();
  add_windows(command, options.text, data);
  command
      .add_option("--out", options.out,
                  "The file to write: of each linear's weights, by the "
                  "tensor's name, F32 [inputs]")
      ->type_name("OUT.safetensors")
      ->required();
  CLI::Option *moments =
      command
          .add_option("--moments", options.moments,
                      "Instead, of linears whose weights' names hold TEXT, the "
                      "mean products of any two inputs: F64 [inputs, inputs]; "
                      "batonc prune runs this")
          ->type_name("TEXT");
  command
      .add_option("--layers", options.layers,
                  "With --moments: of these layers only (default: all)")
      ->type_name("FIRST-LAST")
      ->needs(moments);
  command.footer(
      "An input's mean square over the text says how much an error of its "
      "weights counts. batonc quantize\n--calibration runs this command, and "
      "batonc quantize --importance reads its file. The program has to\nkeep "
      "all inputs: compile it with --disable-pass=norm-rewrites. One worker "
      "runs.\n\nExample:\n  " +
      program +
      " calibrate --weights DIR --data text.txt --windows 32 --out "
      "squares.safetensors");
}

void add_chat_template_options(CLI::App &command, ChatTemplateOptions &options,
                               const std::string &program) {
  command
      .add_option("--weights", options.weights,
                  "The checkpoint's folder, or a GGUF file")
      ->type_name("DIR")
      ->required();
  command.footer("One JSON object: the template in Jinja, and the texts of the "
                 "tokens that begin and end a text.\n\nExample:\n  " +
                 program + " chat-template --weights DIR");
}

/// A program's commands, the options of each, and the one that is named.
class Commands {
public:
  Commands(const Metadata &metadata, CLI::App &application,
           const std::string &program)
      : metadata(metadata), application(application) {
    CLI::App *generating =
        application.add_subcommand("generate", "Continue a text");
    std::function<void()> complete =
        add_generate_options(*generating, generate, program);
    generating->callback([this, complete] {
      command = [this, complete] {
        complete();
        generate_command(this->metadata, generate);
      };
    });
    CLI::App *scoring = application.add_subcommand(
        "logits", "Write the logits at every position of a text");
    add_logits_options(*scoring, logits, program);
    scoring->callback([this] {
      command = [this] { logits_command(this->metadata, logits); };
    });
    CLI::App *batching = application.add_subcommand(
        "batch", "Continue many texts at once; of programs compiled with "
                 "--max-batch");
    add_batch_options(*batching, batch, program);
    batching->callback([this] {
      command = [this] {
        batch_commands("batch").batch(this->metadata, batch);
      };
    });
    CLI::App *judging = application.add_subcommand(
        "score", "Say how likely continuations of texts are; of programs "
                 "compiled with --max-batch");
    add_score_options(*judging, score, program);
    judging->callback([this] {
      command = [this] {
        batch_commands("score").batch(this->metadata, score);
      };
    });
    CLI::App *teaching = application.add_subcommand(
        "teach", "Write what the model says of documents, for another one to "
                 "learn; of programs compiled with --max-batch");
    add_teach_options(*teaching, teach, program);
    teaching->callback([this] {
      command = [this] {
        batch_commands("teach").teach(this->metadata, teach);
      };
    });
    CLI::App *serving = application.add_subcommand(
        "serve", "Serve the model over HTTP; of programs compiled with "
                 "--max-batch");
    add_serve_options(*serving, serve, program);
    serving->callback([this] {
      command = [this] {
        batch_commands("serve").serve(this->metadata, serve);
      };
    });
    CLI::App *measuring = application.add_subcommand(
        "bench", "Measure speed, against what this machine can do");
    add_bench_options(*measuring, bench, program);
    measuring->callback(
        [this] { command = [this] { bench_command(this->metadata, bench); }; });
    CLI::App *calibrating = application.add_subcommand(
        "calibrate", "Measure the inputs of linears on a text, for quantising");
    add_calibrate_options(*calibrating, calibrate, program);
    calibrating->callback([this] {
      command = [this] { calibrate_command(this->metadata, calibrate); };
    });
    CLI::App *conversing = application.add_subcommand(
        "chat-template", "Show how the checkpoint writes conversations");
    add_chat_template_options(*conversing, chatting, program);
    conversing->callback(
        [this] { command = [this] { chat_template_command(chatting); }; });
    describing = application.add_subcommand(
        "info", "Say what this program is, needs, and is proved to do");
    describing->add_flag("--json", info.json, "Print one JSON object");
    describing->callback(
        [this] { command = [this] { info_command(this->metadata, info); }; });
    training = application.add_subcommand(
        "train", "Train the model; of programs compiled with --mode=train");
    add_train_options(*training, train, program);
    training->callback([this] {
      command = [this] {
        training_commands("train").train(this->metadata, train);
      };
    });
    evaluating = application.add_subcommand(
        "eval", "Measure the loss on data; of programs compiled with "
                "--mode=train");
    add_evaluation_options(*evaluating, evaluation, program);
    evaluating->callback([this] {
      command = [this] {
        training_commands("eval").evaluate(this->metadata, evaluation);
      };
    });
  }
  Commands(const Commands &) = delete;

  /// Runs the one that the command line, which was read, names. Throws Error
  /// when there is none, or one that the program is not for.
  void run() const {
    bool trains = metadata.json.value("training", nlohmann::json()).is_object();
    if (!command)
      throw Error(std::string("name a command: ") +
                  (trains
                       ? "train, eval or info"
                       : "generate, logits, batch, score, teach, serve, bench, "
                         "calibrate, chat-template or info") +
                  "; try " + application.get_name() + " --help");
    for (CLI::App *named : application.get_subcommands())
      if (named != describing &&
          trains != (named == training || named == evaluating))
        throw Error(named->get_name() + ": this program " +
                    (trains ? "trains; compile one with --mode=decode"
                            : "decodes; compile one with --mode=train"));
    command();
  }

private:
  const Metadata &metadata;
  CLI::App &application;
  GenerateOptions generate;
  LogitsOptions logits;
  BatchCommandOptions batch, score;
  TeachOptions teach;
  ServeOptions serve;
  BenchOptions bench;
  CalibrateOptions calibrate;
  ChatTemplateOptions chatting;
  InfoOptions info;
  TrainOptions train;
  EvaluationOptions evaluation;
  CLI::App *describing, *training, *evaluating;
  std::function<void()> command;
};

/// The long names of a command's flags, but for those that help does not show.
std::vector<std::string> flags_of(const CLI::App &command) {
  std::vector<std::string> names;
  for (const CLI::Option *option : command.get_options())
    if (!option->get_group().empty())
      for (const std::string &name : option->get_lnames())
        names.push_back(name);
  return names;
}

/// The first flag of what CLI11 has left. One dash is too few, and taken for
/// two.
const std::string *first_flag(const std::vector<std::string> &left) {
  for (const std::string &argument : left)
    if (size_t dashes = argument.find_first_not_of('-');
        dashes == 1 || dashes == 2)
      return &argument;
  return nullptr;
}

/// What a wrong command line has to be told: of a command or a flag that there
/// is not, before what is missing because of it. `named` is the command, or
/// the application where there is none.
std::string problem_of(const CLI::App &application, const CLI::App &named,
                       const CLI::ParseError &failure) {
  const bool has_command = &named != &application;
  const std::vector<std::string> outside = application.remaining();
  if (const std::string *flag = first_flag(outside); flag && has_command)
    return quote_name(*flag) + ": flags stand behind the command " +
           named.get_name();
  if (!has_command && !outside.empty() && !outside.front().starts_with('-')) {
    std::vector<std::string> names;
    for (const CLI::App *command : application.get_subcommands({}))
      names.push_back(command->get_name());
    return "there is no command " + quote_name(outside.front()) +
           nearest_text(outside.front(), names);
  }
  const std::vector<std::string> unknown = named.remaining();
  if (const std::string *flag = first_flag(unknown)) {
    const std::string name = flag->substr(0, flag->find('='));
    return "there is no flag " + quote_name(name) +
           nearest_text(name.substr(name.find_first_not_of('-')),
                        flags_of(named), "--");
  }
  return one_line(failure.what());
}

/// False when help was asked for, which is printed then.
bool parse(CLI::App &application, std::vector<std::string> arguments) {
  const std::string program = application.get_name();
  // The command that was named.
  auto named = [&]() -> const CLI::App & {
    const std::vector<CLI::App *> parsed = application.get_subcommands();
    return parsed.empty() ? application : *parsed.back();
  };
  try {
    // CLI11 takes them last one first.
    std::reverse(arguments.begin(), arguments.end());
    application.parse(std::move(arguments));
  } catch (const CLI::CallForHelp &) {
    print(named().help(&named() == &application ? "" : program));
    return false;
  } catch (const CLI::ParseError &failure) {
    throw Error(
        problem_of(application, named(), failure) + "; try " + program + " " +
        (&named() == &application ? "" : named().get_name() + " ") + "--help");
  }
  return true;
}

void run(int argc, char **argv, std::string_view metadata_text) {
  Metadata metadata = Metadata::parse(metadata_text);
  std::string program =
      argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "program";
  std::string model =
      metadata.json.at("model").value("name", std::string("model"));
  CLI::App application("Runs " + model + ", compiled by Baton.\n", program);
  application.footer(
      "Examples:\n  " + program +
      " generate --weights DIR --prompt \"Once upon a time\" "
      "--max-new-tokens 64\n  " +
      program + " logits --weights DIR --tokens 1,2,3 --out logits.npy\n  " +
      program + " bench --prefill 512 --decode 64\n  " + program + " info\n\n" +
      program + " COMMAND --help says more about each.");
  application.require_subcommand(0, 1);
  Commands commands(metadata, application, program);
  if (parse(application, split_empty_values(argc, argv)))
    commands.run();
}

/// Of processes that fail alike before they are connected, rank 0 says why, and
/// mpirun ends the others meanwhile. One that is left has failed on its own.
void wait_for_first_rank() {
  end_silently();
  std::this_thread::sleep_for(std::chrono::seconds(2));
}

int complain(const std::string &message) {
  if (launched_rank() != 0)
    wait_for_first_rank();
  std::string line = "error: " + one_line(message) + "\n";
  std::fputs(line.c_str(), stderr);
  return 1;
}

} // namespace

int run_command_line(int argc, char **argv, std::string_view metadata) {
  handle_signals();
  occupy_standard_streams();
  try {
    run(argc, argv, metadata);
    return 0;
  } catch (const std::bad_alloc &) {
    return complain("out of memory");
  } catch (const std::exception &failure) {
    return complain(failure.what());
  }
}

} // namespace baton
