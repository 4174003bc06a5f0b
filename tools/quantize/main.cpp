//===- main.cpp - what batonc quantize runs -------------------------------===//
//
// A program of its own, as the compiler has nothing of the runtime. One line on
// standard error and status 1 for anything wrong.
//
//===----------------------------------------------------------------------===//

#include "runtime/error.h"
#include "runtime/main/progress.h"
#include "runtime/weights/message.h"
#include "tools/command/command.h"
#include "tools/quantize/calibration.h"
#include "tools/quantize/quantize.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include <unistd.h>

using namespace baton;
using Json = nlohmann::ordered_json;

namespace {
struct QuantizeFlags {
  std::string model, output, format, head, scale = "search", calibration,
                                           importance, batonc;
  uint64_t windows = 32;
  unsigned threads = 0;
  bool no_tokenizer = false, list = false, quiet = false, json = false;
};
} // namespace

static const char *const footer =
    R"(q2_k to f32 make a GGUF file, which Baton and llama.cpp read. It has the model's config, its tokenizer
and its chat template. Vectors stay F32. The head, or the table of embeddings where that is the head, is
Q6_K, or Q8_0 of q8_0 (--head says otherwise). Where rows are no whole blocks, a tensor gets the next
format: q4_0 instead of q2_k and q3_k, q5_0 of q4_k, q5_1 of q5_k, q8_0 of q6_k, and f16 of all others.

int4-g32 to nf4 make a folder, which Baton and Transformers read: nf4 with bitsandbytes, the others with
compressed-tensors. Layers' linears are quantised, all other tensors and files are copied. Linears whose
inputs are no multiple of a scale's (int4-g128: 128; mxfp4: 32; others: 64) stay as they are.

A run that is interrupted goes on when the same command is run again: what is complete is in OUT.part.

Examples:
  batonc quantize ./llama --format q4_k -o llama-q4.gguf
  batonc llama-q4.gguf -o llama                          compile it
  batonc compare ./llama llama-q4.gguf --data wiki.txt   what it has cost
  batonc quantize ./llama --format q4_k --calibration wiki.txt -o llama-q4.gguf
  batonc quantize ./llama --format q4_k --list           what types tensors would have
  batonc quantize llama-f16.gguf --format q8_0 -o llama-q8.gguf
  batonc quantize ./llama --format nvfp4 -o llama-nvfp4
)";

static std::string format_names() {
  std::string names;
  for (const QuantizeFormat &format : quantize_formats())
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  return names;
}

static void add_flags(CLI::App &app, QuantizeFlags &flags) {
  app.add_option("MODEL", flags.model,
                 "a checkpoint's folder, or a .gguf file of F32, F16 or BF16")
      ->required();
  app.add_option("--format", flags.format, "of matrices: " + format_names())
      ->type_name("FORMAT")
      ->required();
  app.add_option("-o", flags.output, "where the file, or the folder, goes")
      ->type_name("OUT");
  app.add_option("--head", flags.head,
                 "format of a GGUF file's head, and of the table of embeddings "
                 "where that is the head")
      ->type_name("FORMAT");
  app.add_option("--scale", flags.scale,
                 "how scales are chosen: search (least squared error), or max "
                 "(largest weights are representable)")
      ->type_name("HOW");
  CLI::Option *calibration =
      app.add_option("--calibration", flags.calibration,
                     "a text: a search then counts errors of weights by how "
                     "large their inputs are on it")
          ->type_name("TEXT");
  app.add_option("--windows", flags.windows,
                 "windows of 512 tokens of that text, at most: 32")
      ->type_name("N")
      ->check(CLI::Range(uint64_t(1), uint64_t(1) << 32))
      ->needs(calibration);
  app.add_option("--importance", flags.importance,
                 "the same, as a program's calibrate has measured it before")
      ->type_name("FILE");
  // What batonc says of itself.
  app.add_option("--batonc", flags.batonc)->group("");
  app.add_option("--threads", flags.threads, "threads: as many as cores")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  app.add_flag("--no-tokenizer", flags.no_tokenizer,
               "leave the tokenizer of a folder out");
  app.add_flag("--list", flags.list,
               "say what types tensors would have, and write nothing");
  app.add_flag("--quiet", flags.quiet, "say nothing but errors");
  app.add_flag("--json", flags.json,
               "print one JSON object: bits, and of each tensor its type and "
               "its error");
}

/// The type of a format's name; nothing where there is none.
static std::optional<DataType> format_of(const std::string &name) {
  for (const QuantizeFormat &format : quantize_formats())
    if (std::equal(name.begin(), name.end(), format.name,
                   format.name + std::strlen(format.name),
                   [](char a, char b) { return std::tolower(a) == b; }))
      return format.type;
  return std::nullopt;
}

/// Throws Error for a flag that is wrong.
static QuantizeOptions options_of(const QuantizeFlags &flags) {
  QuantizeOptions options;
  const auto unknown = [&](const char *flag, const std::string &name) {
    return Error(std::string(flag) + " " + name + " is unknown; there is " +
                 format_names());
  };
  auto format = format_of(flags.format);
  if (!format)
    throw unknown("--format", flags.format);
  options.format = *format;
  if (!flags.head.empty() && !(options.head = format_of(flags.head)))
    throw unknown("--head", flags.head);
  if (options.head && makes_folder(*options.head))
    throw Error("--head " + flags.head + " is no format of GGUF files");
  if (options.head && makes_folder(options.format))
    throw Error("--head is of GGUF files, and --format " + flags.format +
                " makes a folder, whose head stays as it is");
  if (flags.scale != "search" && flags.scale != "max")
    throw Error("--scale " + flags.scale + " is unknown; there is search, max");
  options.scales =
      flags.scale == "max" ? ScaleChoice::Largest : ScaleChoice::Search;
  for (const auto &[flag, value] :
       {std::pair{"--calibration", flags.calibration},
        {"--importance", flags.importance}})
    if (!value.empty() && options.scales == ScaleChoice::Largest)
      throw Error(std::string(flag) +
                  " is for --scale search; --scale max counts no errors");
  if (!flags.calibration.empty() && !flags.importance.empty())
    throw Error("--calibration and --importance are two ways to the same; give "
                "one");
  if (flags.output.empty() && !flags.list)
    throw Error("-o is missing: where should the model go?");
  options.model = flags.model;
  options.output = flags.output;
  options.no_tokenizer = flags.no_tokenizer;
  options.threads = flags.threads;
  if (!flags.importance.empty())
    options.importance = Importance(flags.importance);
  return options;
}

static std::string spell(const char *form, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), form, value);
  return text;
}

static std::string line_of(const QuantizedTensor &tensor) {
  std::string text = tensor.name;
  text.resize(std::max<size_t>(text.size(), 30), ' ');
  text += "  " + shape_text(tensor.shape) + "  " +
          std::string(stored_type_name(tensor.from)) + " -> " +
          std::string(stored_type_name(tensor.to)) + ", " +
          std::to_string(tensor.bytes) + " bytes";
  if (tensor.error)
    text += ", error " + spell("%.3f %%", 100 * *tensor.error);
  return text + "\n";
}

static std::string summary_of(const QuantizedModel &model,
                              const std::string &output) {
  return (output.empty() ? "" : output + ": ") +
         std::to_string(model.tensors.size()) + " tensors, " +
         std::to_string(model.bytes) + " bytes, " +
         spell("%.3f", model.bits_per_weight()) + " bits a weight\n";
}

static Json json_of(const QuantizedModel &model, const QuantizeFlags &flags) {
  Json tensors = Json::array();
  for (const QuantizedTensor &tensor : model.tensors) {
    Json entry = {{"name", tensor.name},
                  {"shape", tensor.shape},
                  {"from", std::string(stored_type_name(tensor.from))},
                  {"to", std::string(stored_type_name(tensor.to))},
                  {"bytes", tensor.bytes}};
    if (tensor.error)
      entry["rms_error"] = *tensor.error;
    tensors.push_back(std::move(entry));
  }
  return {{"model", flags.model},
          {"output", flags.output},
          {"format", flags.format},
          {"scale", flags.scale},
          {"bytes", model.bytes},
          {"bits_per_weight", model.bits_per_weight()},
          {"resumed_tensors", model.resumed},
          {"notes", model.notes},
          {"tensors", std::move(tensors)}};
}

static QuantizedModel run(QuantizeOptions options, const QuantizeFlags &flags) {
  if (flags.list)
    return plan_quantization(options);
  if (!flags.calibration.empty()) {
    // What cannot be written is refused before.
    plan_quantization(options);
    options.importance =
        calibrate({flags.batonc, options.model, flags.calibration,
                   options.output.string() + ".part.calibration", flags.windows,
                   flags.quiet});
  }
  Progress progress("quantising", flags.quiet);
  return quantize(options,
                  [&](uint64_t done, uint64_t all, const std::string &tensor) {
                    progress.update(done, all, tensor);
                  });
}

static void print(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
      std::fflush(stdout) != 0)
    throw Error("standard output cannot be written");
}

static void report(const QuantizedModel &model, const QuantizeFlags &flags) {
  if (!flags.quiet) {
    for (const std::string &note : model.notes)
      std::fprintf(stderr, "note: %s\n", note.c_str());
    if (model.resumed)
      std::fprintf(stderr, "note: %llu tensors were complete before\n",
                   static_cast<unsigned long long>(model.resumed));
  }
  if (flags.json)
    return print(json_of(model, flags)
                     .dump(1, ' ', false, Json::error_handler_t::replace) +
                 "\n");
  if (flags.quiet && !flags.list)
    return;
  std::string text;
  if (flags.list)
    for (const QuantizedTensor &tensor : model.tensors)
      text += line_of(tensor);
  print(text + summary_of(model, flags.output));
}

/// Signals end the process with one line; what is complete stays.
static void end_on_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  struct sigaction ending = {};
  ending.sa_handler = [](int) {
    constexpr char message[] = "error: interrupted\n";
    [[maybe_unused]] ssize_t ignored =
        write(STDERR_FILENO, message, sizeof(message) - 1);
    _exit(1);
  };
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before;
    sigaction(signal, nullptr, &before);
    // A shell starts background jobs with SIGINT ignored; that stays.
    if (before.sa_handler != SIG_IGN)
      sigaction(signal, &ending, nullptr);
  }
}

int main(int argc, char **argv) {
  end_on_signals();
  CLI::App app{"batonc quantize writes a model whose weights have fewer bits: "
               "a GGUF file, of a checkpoint or of\na GGUF file that is not "
               "quantised, or a folder of Hugging Face, of such a folder.",
               "batonc quantize"};
  app.footer(footer);
  QuantizeFlags flags;
  add_flags(app, flags);
  return run_command(app, argc, argv, [&] {
    const QuantizeOptions options = options_of(flags);
    report(run(options, flags), flags);
  });
}
