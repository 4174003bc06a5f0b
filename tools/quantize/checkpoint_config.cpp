//===- checkpoint_config.cpp - a config as a GGUF file says it ------------===//

#include "tools/quantize/checkpoint_config.h"

#include "runtime/error.h"
#include "runtime/weights/json_file.h"
#include "runtime/weights/message.h"

#include <cmath>
#include <map>
#include <numbers>
#include <optional>

namespace baton {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Fields of a config, and keys of the architecture that say them.
class Config {
public:
  Config(const fs::path &file, GgufHeader &header)
      : file(file), values(read_json(file)), header(header) {
    if (!values.is_object())
      throw Error(file.string() + ": is no object");
  }

  [[noreturn]] void fail(const std::string &what) const {
    throw Error(file.string() + ": " + what);
  }
  bool has(const char *field) const {
    return values.contains(field) && !values[field].is_null();
  }
  std::optional<double> number(const json &holder, const char *field) const {
    const auto found = holder.find(field);
    if (found == holder.end() || found->is_null())
      return std::nullopt;
    if (!found->is_number() || !std::isfinite(found->get<double>()))
      fail("'" + std::string(field) + "' is no number");
    return found->get<double>();
  }
  std::optional<double> number(const char *field) const {
    return number(values, field);
  }
  double needed(const char *field) const {
    if (const auto value = number(field))
      return *value;
    fail("has no '" + std::string(field) + "'");
  }
  std::optional<uint64_t> size(const char *field) const {
    const auto value = number(field);
    if (!value)
      return std::nullopt;
    if (*value < 0 || *value > double(UINT32_MAX) ||
        *value != std::floor(*value))
      fail("'" + std::string(field) + "' is no size");
    return static_cast<uint64_t>(*value);
  }
  uint64_t needed_size(const char *field) const {
    if (const auto value = size(field); value && *value)
      return *value;
    fail("has no '" + std::string(field) + "'");
  }
  bool flag(const char *field, bool absent) const {
    if (!has(field))
      return absent;
    if (!values[field].is_boolean())
      fail("'" + std::string(field) + "' is neither true nor false");
    return values[field].get<bool>();
  }
  std::string word(const json &holder, const char *field,
                   const char *absent) const {
    const auto found = holder.find(field);
    return found != holder.end() && found->is_string()
               ? found->get<std::string>()
               : absent;
  }
  std::string word(const char *field, const char *absent) const {
    return word(values, field, absent);
  }
  /// Refuses what a file cannot say.
  void expect_activation(std::initializer_list<const char *> names) const {
    const char *field = has("hidden_activation") ? "hidden_activation"
                        : has("hidden_act")      ? "hidden_act"
                                                 : "activation_function";
    const std::string own = word(field, *names.begin());
    if (std::find(names.begin(), names.end(), own) == names.end())
      fail("'" + std::string(field) + "' is " + own +
           ", which a GGUF file cannot say of the architecture");
  }

  void set_integer(const char *key, uint64_t value) {
    header.integer(architecture + "." + key, value);
  }
  void set_number(const char *key, double value) {
    header.number(architecture + "." + key, value);
  }
  void set_text(const char *key, const char *value) {
    header.text(architecture + "." + key, value);
  }

  fs::path file;
  json values;
  GgufHeader &header;
  std::string architecture;
};

/// The rotation, as configs of any age spell it.
struct Rope {
  json fields = json::object();
  double theta = 10000;
  std::string type = "default";
};

Rope read_rope(const Config &config, const char *layer_type = nullptr,
               const char *base_field = "rope_theta") {
  Rope rope;
  rope.theta = config.number(base_field).value_or(rope.theta);
  const char *holder =
      config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  if (config.has(holder) && config.values[holder].is_object()) {
    rope.fields = config.values[holder];
    const bool by_type = rope.fields.contains("full_attention");
    if (by_type && layer_type)
      rope.fields = rope.fields.value(layer_type, json::object());
    else if (layer_type && std::string(layer_type) == "sliding_attention")
      rope.fields = json::object();
  }
  rope.theta = config.number(rope.fields, "rope_theta").value_or(rope.theta);
  rope.type = config.word(rope.fields, "rope_type",
                          config.word(rope.fields, "type", "default").c_str());
  return rope;
}

double needed(const Config &config, const Rope &rope, const char *field) {
  if (const auto value = config.number(rope.fields, field))
    return *value;
  config.fail("has no '" + std::string(field) + "' of its rotary scaling");
}

/// What each frequency of the rule "llama3" is divided by.
std::vector<float> llama3_factors(const Config &config, const Rope &rope,
                                  uint64_t width) {
  const double factor = needed(config, rope, "factor"),
               low = needed(config, rope, "low_freq_factor"),
               high = needed(config, rope, "high_freq_factor"),
               context =
                   needed(config, rope, "original_max_position_embeddings");
  std::vector<float> factors;
  for (uint64_t i = 0; i < width; i += 2) {
    const double frequency = std::pow(rope.theta, -double(i) / double(width));
    const double turns = context * frequency / (2 * std::numbers::pi);
    const double smooth = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    factors.push_back(static_cast<float>(1 / ((1 - smooth) / factor + smooth)));
  }
  return factors;
}

void write_rope(Config &config, const Rope &rope, CheckpointConfig &result,
                uint64_t turning) {
  config.set_number("rope.freq_base", rope.theta);
  config.set_integer("rope.dimension_count", turning);
  if (rope.type == "default")
    return;
  if (rope.type == "linear") {
    config.set_text("rope.scaling.type", "linear");
    config.set_number("rope.scaling.factor", needed(config, rope, "factor"));
    return;
  }
  if (rope.type == "llama3" && result.architecture == "llama") {
    result.tensors.push_back(
        {"rope_freqs.weight", llama3_factors(config, rope, turning)});
    return;
  }
  config.fail("rotary scaling of type " + quote_name(rope.type) +
              " cannot be said in a GGUF file of " + result.architecture);
}

/// What all but GPT-2 have. Returns the columns of a head.
uint64_t write_decoder(Config &config, CheckpointConfig &result,
                       std::optional<uint64_t> head_dim_default = {}) {
  const uint64_t width = config.needed_size("hidden_size"),
                 heads = config.needed_size("num_attention_heads");
  const uint64_t head_dim =
      config.size("head_dim")
          .value_or(head_dim_default.value_or(width / heads));
  config.set_integer("embedding_length", width);
  config.set_integer("block_count", config.needed_size("num_hidden_layers"));
  config.set_integer("feed_forward_length",
                     config.needed_size("intermediate_size"));
  config.set_integer("attention.head_count", heads);
  config.set_integer("attention.head_count_kv",
                     config.size("num_key_value_heads").value_or(heads));
  config.set_number("attention.layer_norm_rms_epsilon",
                    config.number("rms_norm_eps").value_or(1e-6));
  result.vocabulary = config.needed_size("vocab_size");
  result.ties_head = config.flag("tie_word_embeddings",
                                 result.architecture.starts_with("gemma"));
  result.head_rows = head_dim;
  config.set_integer("vocab_size", result.vocabulary);
  if (result.architecture != "phi3") {
    config.set_integer("attention.key_length", head_dim);
    config.set_integer("attention.value_length", head_dim);
  }
  return head_dim;
}

void expect_whole_rotation(const Config &config, const Rope &rope) {
  const double part =
      config.number(rope.fields, "partial_rotary_factor")
          .value_or(config.number("partial_rotary_factor").value_or(1));
  if (part != 1)
    config.fail("'partial_rotary_factor' is not 1, which a GGUF file cannot "
                "say of the architecture");
}

/// Whether some layers see a window only, of the Qwen families.
bool qwen_slides(const Config &config) {
  if (!config.flag("use_sliding_window", false))
    return false;
  if (!config.has("layer_types"))
    return config.size("max_window_layers").value_or(28) <
           config.needed_size("num_hidden_layers");
  for (const json &type : config.values["layer_types"])
    if (type == "sliding_attention")
      return true;
  return false;
}

/// Positions of the model. Of architectures whose files have no window, those
/// of the window, within which all see all positions.
void write_context(Config &config, CheckpointConfig &result, bool slides,
                   uint64_t absent_window) {
  uint64_t positions = config.needed_size("max_position_embeddings");
  const bool has_none = config.values.contains("sliding_window") &&
                        config.values["sliding_window"].is_null();
  const uint64_t window =
      slides && !has_none
          ? config.size("sliding_window").value_or(absent_window)
          : positions;
  if (window < positions) {
    result.notes.push_back(
        "a GGUF file of " + result.architecture +
        " has no sliding window: context_length is " + std::to_string(window) +
        ", the window, instead of " + std::to_string(positions));
    positions = window;
  }
  config.set_integer("context_length", positions);
}

/// Of a mixture. Whether the weights of a row's experts add up to 1 is the
/// architecture's.
void write_experts(Config &config, const char *count, const char *width,
                   bool normalizes, bool absent) {
  config.set_integer("expert_count", config.needed_size(count));
  config.set_integer("expert_used_count",
                     config.needed_size("num_experts_per_tok"));
  config.set_integer("expert_feed_forward_length", config.needed_size(width));
  if (config.flag("norm_topk_prob", absent) != normalizes)
    config.fail(
        "'norm_topk_prob' is " + std::string(normalizes ? "false" : "true") +
        ", which a GGUF file of " + config.architecture + " cannot say");
}

void write_llama(Config &config, CheckpointConfig &result) {
  config.expect_activation({"silu", "swish"});
  const Rope rope = read_rope(config);
  expect_whole_rotation(config, rope);
  const std::string type = config.word("model_type", "");
  const bool slides = type == "mistral" || type == "mixtral";
  write_context(config, result, slides, 4096);
  write_rope(config, rope, result, write_decoder(config, result));
  if (type == "mixtral")
    write_experts(config, "num_local_experts", "intermediate_size",
                  /*normalizes=*/true, /*absent=*/true);
}

void write_olmoe(Config &config, CheckpointConfig &result) {
  config.expect_activation({"silu"});
  const Rope rope = read_rope(config);
  expect_whole_rotation(config, rope);
  write_context(config, result, /*slides=*/false, 0);
  write_rope(config, rope, result, write_decoder(config, result));
  write_experts(config, "num_experts", "intermediate_size",
                /*normalizes=*/false, /*absent=*/false);
  if (config.has("clip_qkv"))
    config.set_number("attention.clamp_kqv", config.needed("clip_qkv"));
}

void write_qwen(Config &config, CheckpointConfig &result) {
  config.expect_activation({"silu"});
  for (const char *gate :
       {"headwise_attn_output_gate", "elementwise_attn_output_gate"})
    if (config.flag(gate, false))
      config.fail("'" + std::string(gate) +
                  "' is true, which a GGUF file cannot say");
  const Rope rope = read_rope(config);
  expect_whole_rotation(config, rope);
  write_context(config, result, qwen_slides(config), 4096);
  const std::optional<uint64_t> head_dim = result.architecture == "qwen3"
                                               ? std::optional<uint64_t>(128)
                                               : std::nullopt;
  write_rope(config, rope, result, write_decoder(config, result, head_dim));
}

void write_qwen_experts(Config &config, CheckpointConfig &result) {
  write_qwen(config, result);
  write_experts(config, "num_experts", "moe_intermediate_size",
                /*normalizes=*/result.architecture == "qwen3moe",
                /*absent=*/false);
  if (result.architecture == "qwen2moe")
    config.set_integer("expert_shared_feed_forward_length",
                       config.needed_size("shared_expert_intermediate_size"));
}

/// Files do not say what scores are divided by: readers know it.
void expect_score_scale(const Config &config, uint64_t head_dim,
                        uint64_t largest) {
  const uint64_t heads = config.needed_size("num_attention_heads");
  const double scalar = config.number("query_pre_attn_scalar").value_or(256);
  const uint64_t known = config.needed_size("num_hidden_layers") == largest
                             ? config.needed_size("hidden_size") / heads
                             : head_dim;
  if (scalar != double(known))
    config.fail("'query_pre_attn_scalar' is not " + std::to_string(known) +
                ", which is what readers of GGUF files take");
}

void write_gemma2(Config &config, CheckpointConfig &result) {
  config.expect_activation({"gelu_pytorch_tanh"});
  config.set_integer("context_length",
                     config.needed_size("max_position_embeddings"));
  const uint64_t head_dim = write_decoder(config, result, 256);
  expect_score_scale(config, head_dim, 46);
  const Rope rope = read_rope(config);
  write_rope(config, rope, result, head_dim);
  config.set_integer("attention.sliding_window",
                     config.size("sliding_window").value_or(4096));
  config.set_number("attn_logit_softcapping",
                    config.needed("attn_logit_softcapping"));
  config.set_number("final_logit_softcapping",
                    config.needed("final_logit_softcapping"));
}

/// Every how many layers one sees all positions.
uint64_t gemma3_period(const Config &config) {
  uint64_t period = config.size("sliding_window_pattern").value_or(6);
  if (!config.has("layer_types"))
    return period;
  const json &types = config.values["layer_types"];
  auto is_whole = [&](size_t layer) {
    return types[layer] == "full_attention";
  };
  size_t first = 0;
  while (first < types.size() && !is_whole(first))
    ++first;
  period = first + 1;
  for (size_t layer = 0; layer < types.size(); ++layer)
    if (is_whole(layer) != (layer % period == period - 1))
      config.fail("'layer_types' do not repeat, which a GGUF file cannot say");
  // Where none is whole, none may become so.
  return first == types.size() ? types.size() + 1 : period;
}

void write_gemma3(Config &config, CheckpointConfig &result) {
  config.expect_activation({"gelu_pytorch_tanh"});
  if (config.has("attn_logit_softcapping"))
    config.fail("'attn_logit_softcapping' cannot be said in a GGUF file of "
                "gemma3");
  config.set_integer("context_length",
                     config.needed_size("max_position_embeddings"));
  const uint64_t head_dim = write_decoder(config, result, 256);
  expect_score_scale(config, head_dim, 62);
  write_rope(config, read_rope(config, "full_attention"), result, head_dim);
  const Rope near =
      read_rope(config, "sliding_attention", "rope_local_base_freq");
  if (near.type != "default")
    config.fail("rotary scaling of layers with a window cannot be said in a "
                "GGUF file");
  if (near.theta != 10000)
    config.set_number("rope.freq_base_swa", near.theta);
  config.set_integer("attention.sliding_window",
                     config.size("sliding_window").value_or(4096));
  if (const uint64_t period = gemma3_period(config); period != 6)
    config.set_integer("attention.sliding_window_pattern", period);
  if (config.has("final_logit_softcapping"))
    config.set_number("final_logit_softcapping",
                      config.needed("final_logit_softcapping"));
}

void write_phi3(Config &config, CheckpointConfig &result) {
  config.expect_activation({"silu"});
  const uint64_t positions = config.needed_size("max_position_embeddings");
  config.set_integer("context_length", positions);
  const uint64_t head_dim = write_decoder(config, result);
  const Rope rope = read_rope(config);
  const double part =
      config.number(rope.fields, "partial_rotary_factor")
          .value_or(config.number("partial_rotary_factor").value_or(1));
  const auto turning = static_cast<uint64_t>(double(head_dim) * part);
  config.set_integer("attention.sliding_window",
                     config.size("sliding_window").value_or(0));
  if (rope.type != "longrope" && rope.type != "su")
    return write_rope(config, rope, result, turning);
  config.set_number("rope.freq_base", rope.theta);
  config.set_integer("rope.dimension_count", turning);
  const char *name = "original_max_position_embeddings";
  const double original =
      config.number(rope.fields, name)
          .value_or(config.number(name).value_or(double(positions)));
  const double factor = config.number(rope.fields, "factor")
                            .value_or(double(positions) / original);
  const double scale =
      factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original));
  config.set_integer("rope.scaling.original_context_length",
                     static_cast<uint64_t>(original));
  config.set_number(
      "rope.scaling.attn_factor",
      config.number(rope.fields, "attention_factor").value_or(scale));
  for (const auto &[field, tensor] :
       {std::pair("short_factor", "rope_factors_short.weight"),
        std::pair("long_factor", "rope_factors_long.weight")}) {
    const auto found = rope.fields.find(field);
    std::vector<float> values;
    if (found != rope.fields.end() && found->is_array())
      for (const json &value : *found)
        if (value.is_number())
          values.push_back(value.get<float>());
    if (values.size() != turning / 2)
      config.fail("'" + std::string(field) + "' does not have " +
                  std::to_string(turning / 2) + " numbers");
    result.tensors.push_back({tensor, std::move(values)});
  }
}

void write_gpt2(Config &config, CheckpointConfig &result) {
  config.expect_activation({"gelu_new", "gelu_pytorch_tanh"});
  const uint64_t width = config.needed_size("n_embd"),
                 heads = config.needed_size("n_head");
  config.set_integer("context_length", config.needed_size("n_positions"));
  config.set_integer("embedding_length", width);
  config.set_integer("feed_forward_length",
                     config.size("n_inner").value_or(4 * width));
  config.set_integer("block_count", config.needed_size("n_layer"));
  config.set_integer("attention.head_count", heads);
  config.set_number("attention.layer_norm_epsilon",
                    config.number("layer_norm_epsilon").value_or(1e-5));
  result.vocabulary = config.needed_size("vocab_size");
  config.set_integer("vocab_size", result.vocabulary);
  result.ties_head = config.flag("tie_word_embeddings", true);
  result.head_rows = width / heads;
}

struct Family {
  const char *architecture;
  void (*write)(Config &, CheckpointConfig &);
};

/// By model_type.
const std::map<std::string, Family> &families() {
  static const std::map<std::string, Family> known = {
      {"gemma2", {"gemma2", write_gemma2}},
      {"gemma3_text", {"gemma3", write_gemma3}},
      {"gpt2", {"gpt2", write_gpt2}},
      {"llama", {"llama", write_llama}},
      {"mistral", {"llama", write_llama}},
      {"mixtral", {"llama", write_llama}},
      {"olmoe", {"olmoe", write_olmoe}},
      {"phi3", {"phi3", write_phi3}},
      {"qwen2", {"qwen2", write_qwen}},
      {"qwen2_moe", {"qwen2moe", write_qwen_experts}},
      {"qwen3", {"qwen3", write_qwen}},
      {"qwen3_moe", {"qwen3moe", write_qwen_experts}}};
  return known;
}

} // namespace

CheckpointConfig describe_checkpoint(const fs::path &folder,
                                     GgufHeader &header) {
  Config config(folder / "config.json", header);
  const std::string type = config.word("model_type", "");
  const auto family = families().find(type);
  if (family == families().end()) {
    std::string list;
    for (const auto &[name, known] : families())
      list += (list.empty() ? "" : ", ") + name;
    config.fail("'model_type' is " + quote_name(type) + ", expected one of " +
                list);
  }
  if (config.has("hyper_connections"))
    config.fail("has hyper-connections, which a GGUF file cannot say");
  CheckpointConfig result;
  result.architecture = config.architecture = family->second.architecture;
  header.text("general.architecture", result.architecture);
  // Also where the path ends with a slash.
  const fs::path own = fs::weakly_canonical(folder);
  header.text("general.name", own.filename().string());
  family->second.write(config, result);
  return result;
}

} // namespace baton
