//===- GgufConfig.cpp - the config that a GGUF file's metadata stand for --===//
//
// Keys are those that llama.cpp's convert_hf_to_gguf.py writes, and where it
// writes none, values are those that llama.cpp computes with.
//
//===----------------------------------------------------------------------===//

#include "models/GgufConfig.h"

#include "runtime/weights/message.h"

#include <cstring>
#include <set>

using namespace baton;
using namespace baton::models;
using nlohmann::json;

const char *models::ggufWeightType(const GgufModel &model) {
  std::set<DataType> types;
  for (const auto &file : model.files())
    for (const auto &[name, tensor] : file->tensors())
      if (tensor.shape.size() > 1)
        types.insert(tensor.type);
  if (types == std::set<DataType>{DataType::F16})
    return "float16";
  if (types == std::set<DataType>{DataType::BF16})
    return "bfloat16";
  return "float32";
}

namespace {

/// The fields of a config, and the keys that say them. Keys are spelled without
/// the architecture in front.
class Fields {
public:
  explicit Fields(const GgufModel &model)
      : model(model), file(model.metadata()),
        prefix(model.architecture() + ".") {}

  void set(const std::string &field, json value) {
    values[json::json_pointer("/" + replaced(field))] = std::move(value);
  }
  /// Sets the field to the key's value, if there is one. Without one an error
  /// about the field names the key.
  bool integer(const std::string &field, const std::string &key) {
    std::optional<uint64_t> value = optionalInteger(key);
    spelled[field] = prefix + key;
    if (value)
      set(field, *value);
    return value.has_value();
  }
  bool number(const std::string &field, const std::string &key) {
    std::optional<double> value = file.number(use(key));
    spelled[field] = prefix + key;
    if (value)
      set(field, *value);
    return value.has_value();
  }

  std::optional<uint64_t> optionalInteger(const std::string &key) {
    return file.integer(use(key), INT64_MAX);
  }
  std::optional<double> optionalNumber(const std::string &key) {
    return file.number(use(key));
  }
  bool boolean(const std::string &field, const std::string &key) {
    std::optional<bool> value = file.boolean(use(key));
    spelled[field] = prefix + key;
    if (value)
      set(field, *value);
    return value.has_value();
  }
  std::string text(const std::string &key, const char *absent) {
    return std::string(file.text(use(key)).value_or(absent));
  }
  /// What the field was set to; 0 where it was not.
  uint64_t valueOf(const char *field) const { return values.value(field, 0ul); }

  /// Refuses another value than `expected`.
  void expectInteger(const std::string &key, uint64_t expected) {
    std::optional<uint64_t> value = optionalInteger(key);
    if (value && *value != expected)
      fail(key, "is " + std::to_string(*value) + ", expected " +
                    std::to_string(expected));
  }
  /// The key changes nothing.
  void ignore(const std::string &key) { use(key); }

  [[noreturn]] void fail(const std::string &key, const std::string &what) {
    file.fail(prefix + key, what);
  }

  bool hasTensor(const std::string &name) const { return model.find(name); }
  /// The numbers of a small tensor that is no weight.
  json numbers(const std::string &name) const;

  /// Refuses keys of the architecture that nobody asked for.
  Config finish();

  const GgufModel &model;
  const GgufFile &file;

private:
  std::string use(const std::string &key) {
    used.insert(prefix + key);
    return prefix + key;
  }
  static std::string replaced(std::string field) {
    std::replace(field.begin(), field.end(), '.', '/');
    return field;
  }

  std::string prefix;
  json values = json::object();
  std::map<std::string, std::string> spelled;
  std::set<std::string, std::less<>> used;
};

} // namespace

json Fields::numbers(const std::string &name) const {
  const Tensor &tensor = *model.find(name);
  if (tensor.type != DataType::F32 || tensor.shape.size() != 1 ||
      tensor.shape[0] > uint64_t(kMaxDimension))
    file.fail("tensor " + quote_name(name) + " has the type " +
              std::string(stored_type_name(tensor.type)) + " and the shape " +
              shape_text(tensor.shape) + ", expected a list of F32");
  std::vector<float> numbers(tensor.shape[0]);
  std::memcpy(numbers.data(), tensor.data, tensor.bytes);
  return numbers;
}

Config Fields::finish() {
  for (std::string_view key : file.keys())
    if (key.starts_with(prefix) && !used.contains(key))
      file.fail(key, "is not known");
  return Config::of(file.path().string(), std::move(values),
                    std::move(spelled));
}

//===----------------------------------------------------------------------===//
// Parts that architectures share
//===----------------------------------------------------------------------===//

/// The number of tokens and the head, by the tensors.
static void readVocabulary(Fields &fields, const char *table) {
  const Tensor *tensor = fields.model.find(table);
  if (!tensor || tensor->shape.size() != 2)
    fields.file.fail("has no tensor \"token_embd.weight\" of two dimensions");
  fields.set("vocab_size", tensor->shape[0]);
  fields.set("tie_word_embeddings", !fields.hasTensor("lm_head.weight"));
  fields.ignore("vocab_size");
}

static void readHeadDim(Fields &fields) {
  bool isSet = fields.integer("head_dim", "attention.key_length");
  uint64_t width = fields.valueOf("hidden_size");
  uint64_t heads = fields.valueOf("num_attention_heads");
  if (!isSet && heads && width % heads == 0)
    fields.set("head_dim", width / heads);
  if (uint64_t headDim = fields.valueOf("head_dim"))
    fields.expectInteger("attention.value_length", headDim);
}

/// Linear scaling, by the key of today or that of older files.
static void readScaling(Fields &fields) {
  std::string type = fields.text("rope.scaling.type", "none");
  std::optional<double> old = fields.optionalNumber("rope.scale_linear");
  if (type == "none" && old && *old != 1) {
    fields.set("rope_scaling.rope_type", "linear");
    fields.number("rope_scaling.factor", "rope.scale_linear");
  } else if (type == "linear") {
    fields.set("rope_scaling.rope_type", type);
    fields.number("rope_scaling.factor", "rope.scaling.factor");
  } else if (type == "yarn") {
    fields.set("rope_scaling.rope_type", type);
    fields.number("rope_scaling.factor", "rope.scaling.factor");
    fields.integer("rope_scaling.original_max_position_embeddings",
                   "rope.scaling.original_context_length");
    fields.number("rope_scaling.beta_fast", "rope.scaling.yarn_beta_fast");
    fields.number("rope_scaling.beta_slow", "rope.scaling.yarn_beta_slow");
  } else if (type != "none") {
    fields.fail("rope.scaling.type",
                "is " + quote_name(type) + ", expected none, linear or yarn");
  }
  fields.ignore("rope.scaling.factor");
  fields.ignore("rope.scaling.original_context_length");
  fields.ignore("rope.scaling.finetuned");
}

/// Divisors of the frequencies, which Llama 3.1 and later have.
static void readFrequencyFactors(Fields &fields) {
  if (!fields.hasTensor("rope_freqs.weight"))
    return;
  if (fields.text("rope.scaling.type", "none") != "none")
    fields.fail("rope.scaling.type",
                "is there beside the tensor \"rope_freqs.weight\", "
                "expected one of the two");
  fields.set("rope_scaling.rope_type", "factors");
  fields.set("rope_scaling.factors", fields.numbers("rope_freqs.weight"));
}

/// What families have that are a models/Decoder.h, but for their heads.
static void readLayers(Fields &fields) {
  fields.integer("hidden_size", "embedding_length");
  fields.integer("intermediate_size", "feed_forward_length");
  fields.integer("num_hidden_layers", "block_count");
  fields.integer("num_attention_heads", "attention.head_count");
  fields.integer("max_position_embeddings", "context_length");
  if (!fields.number("rms_norm_eps", "attention.layer_norm_rms_epsilon"))
    fields.fail("attention.layer_norm_rms_epsilon", "is missing");
  if (!fields.number("rope_theta", "rope.freq_base"))
    fields.set("rope_theta", 10000);
  readVocabulary(fields, "model.embed_tokens.weight");
  // Of the conversion of Llama's first files; the order of rows is the same.
  fields.ignore("tensor_data_layout");
}

/// With heads that all have keys and values of one width.
static void readDecoder(Fields &fields) {
  readLayers(fields);
  fields.integer("num_key_value_heads", "attention.head_count_kv");
  readHeadDim(fields);
}

static void expectNoExperts(Fields &fields) {
  fields.expectInteger("expert_count", 0);
  fields.ignore("expert_used_count");
}

/// Of a mixture of experts, whose weights llama.cpp makes add up to 1, or does
/// not, by the architecture.
static void readExperts(Fields &fields, const char *width, bool normalizes,
                        const char *count = "num_experts") {
  fields.integer(count, "expert_count");
  fields.integer("num_experts_per_tok", "expert_used_count");
  if (!fields.integer(width, "expert_feed_forward_length"))
    fields.integer(width, "feed_forward_length");
  fields.set("norm_topk_prob", normalizes);
  fields.ignore("expert_gating_func");
  fields.ignore("expert_weights_scale");
  fields.ignore("expert_weights_norm");
}

static void expectWholeRotation(Fields &fields) {
  if (uint64_t headDim = fields.valueOf("head_dim"))
    fields.expectInteger("rope.dimension_count", headDim);
  readScaling(fields);
}

/// Whether all layers' attention has biases.
static bool hasBias(const Fields &fields, const char *module) {
  return fields.hasTensor("model.layers.0." + std::string(module) + ".bias");
}

/// The divisor of scores: of each family's largest model another one.
static void readScoreScale(Fields &fields, uint64_t largest) {
  uint64_t heads = fields.valueOf("num_attention_heads");
  bool isLargest = fields.valueOf("num_hidden_layers") == largest && heads;
  fields.set("query_pre_attn_scalar",
             isLargest ? fields.valueOf("hidden_size") / heads
                       : fields.valueOf("head_dim"));
}

//===----------------------------------------------------------------------===//
// Architectures
//===----------------------------------------------------------------------===//

static void readLlama(Fields &fields) {
  readDecoder(fields);
  expectWholeRotation(fields);
  readFrequencyFactors(fields);
  fields.set("model_type", "llama");
  fields.set("attention_bias", hasBias(fields, "self_attn.q_proj"));
  fields.set("mlp_bias", hasBias(fields, "mlp.up_proj"));
  if (fields.optionalInteger("expert_count").value_or(0) == 0)
    return;
  fields.set("model_type", "mixtral");
  readExperts(fields, "intermediate_size", /*normalizes=*/true,
              "num_local_experts");
}

static void readGptOss(Fields &fields) {
  readDecoder(fields);
  expectWholeRotation(fields);
  // llama.cpp cuts borders between pairs to whole ones, the model does not.
  if (fields.text("rope.scaling.type", "none") == "yarn")
    fields.set("rope_scaling.truncate", false);
  readExperts(fields, "intermediate_size", /*normalizes=*/true,
              "num_local_experts");
  fields.set("model_type", "gpt_oss");
  fields.set("attention_bias", hasBias(fields, "self_attn.q_proj"));
  fields.set("separate_experts", true);
  fields.set("sliding_window", nullptr);
  fields.integer("sliding_window", "attention.sliding_window");
}

/// A width of heads: `name` for the heads of the model, or where all share one
/// state and `name` is the state's, `name`_mla.
static uint64_t readLatentWidth(Fields &fields, const std::string &name) {
  const std::optional<uint64_t> stored = fields.optionalInteger(name),
                                own = fields.optionalInteger(name + "_mla");
  if (!stored && !own)
    fields.fail(name, "is missing");
  return own ? *own : *stored;
}

/// Heads' keys and values of one compressed row.
static void readLatentHeads(Fields &fields) {
  const uint64_t heads = fields.valueOf("num_attention_heads"),
                 shared = fields.optionalInteger("attention.head_count_kv")
                              .value_or(heads);
  if (shared != 1 && shared != heads)
    fields.fail("attention.head_count_kv",
                "is " + std::to_string(shared) + ", expected 1 or the " +
                    std::to_string(heads) + " of attention.head_count");
  fields.set("num_key_value_heads", heads);
  fields.set("q_lora_rank", nullptr);
  fields.integer("q_lora_rank", "attention.q_lora_rank");
  fields.integer("kv_lora_rank", "attention.kv_lora_rank");
  fields.integer("qk_rope_head_dim", "rope.dimension_count");
  const uint64_t key = readLatentWidth(fields, "attention.key_length"),
                 turning = fields.valueOf("qk_rope_head_dim");
  if (key <= turning)
    fields.fail("attention.key_length",
                "leaves " + std::to_string(key) +
                    " columns of a head, expected more than the " +
                    std::to_string(turning) + " of rope.dimension_count");
  fields.set("qk_nope_head_dim", key - turning);
  fields.set("v_head_dim", readLatentWidth(fields, "attention.value_length"));
  fields.set("attention_bias", hasBias(fields, "self_attn.o_proj"));
  fields.set("separate_kv_b_proj",
             fields.hasTensor("model.layers.0.self_attn.k_b_proj.weight"));
}

/// Sigmoids are DeepSeek-V3's, a softmax is V2's, as where the key is missing.
static void readLatentExperts(Fields &fields) {
  fields.integer("n_routed_experts", "expert_count");
  fields.integer("num_experts_per_tok", "expert_used_count");
  fields.integer("moe_intermediate_size", "expert_feed_forward_length");
  fields.set("n_shared_experts", 0);
  fields.integer("n_shared_experts", "expert_shared_count");
  fields.set("first_k_dense_replace", 0);
  fields.integer("first_k_dense_replace", "leading_dense_block_count");
  fields.set("routed_scaling_factor", 1);
  fields.number("routed_scaling_factor", "expert_weights_scale");
  fields.set("norm_topk_prob", false);
  fields.boolean("norm_topk_prob", "expert_weights_norm");
  fields.set("n_group", 1);
  fields.set("topk_group", 1);
  const bool hasGroups = fields.integer("n_group", "expert_group_count") &&
                         fields.valueOf("n_group") > 1;
  fields.integer("topk_group", "expert_group_used_count");
  constexpr uint64_t softmax = 1, sigmoid = 2;
  const uint64_t gating =
      fields.optionalInteger("expert_gating_func").value_or(softmax);
  if (gating != softmax && gating != sigmoid)
    fields.fail("expert_gating_func",
                "is " + std::to_string(gating) +
                    ", expected 1, a softmax, or 2, sigmoids");
  fields.set("model_type", gating == sigmoid ? "deepseek_v3" : "deepseek_v2");
  if (gating == softmax)
    fields.set("topk_method", hasGroups ? "group_limited_greedy" : "greedy");
}

static void readDeepseek2(Fields &fields) {
  readLayers(fields);
  readLatentHeads(fields);
  readLatentExperts(fields);
  readScaling(fields);
  // A tenth of YaRN's mscale_all_dim; mscale is the same in all that llama.cpp
  // computes rightly. F32, lest the tenth's own rounding be seen.
  const std::optional<double> multiplier =
      fields.optionalNumber("rope.scaling.yarn_log_multiplier");
  if (fields.text("rope.scaling.type", "none") != "yarn")
    return;
  if (!multiplier)
    fields.fail("rope.scaling.yarn_log_multiplier",
                "is missing beside rope.scaling.type \"yarn\"");
  const float scale = static_cast<float>(*multiplier) * 10;
  fields.set("rope_scaling.mscale", scale);
  fields.set("rope_scaling.mscale_all_dim", scale);
}

static void readQwen2(Fields &fields) {
  readDecoder(fields);
  expectWholeRotation(fields);
  fields.set("model_type", "qwen2");
}

static void readOlmo2(Fields &fields) {
  readDecoder(fields);
  expectWholeRotation(fields);
  fields.set("model_type", "olmo2");
  fields.set("attention_bias", hasBias(fields, "self_attn.q_proj"));
}

static void readOlmoe(Fields &fields) {
  readDecoder(fields);
  expectWholeRotation(fields);
  readExperts(fields, "intermediate_size", /*normalizes=*/false);
  fields.set("model_type", "olmoe");
  fields.set("attention_bias", hasBias(fields, "self_attn.q_proj"));
  if (fields.number("clip_qkv", "attention.clamp_kqv") &&
      fields.optionalNumber("attention.clamp_kqv") == 0)
    fields.set("clip_qkv", nullptr);
}

static void readQwen2Moe(Fields &fields) {
  readDecoder(fields);
  expectWholeRotation(fields);
  readExperts(fields, "moe_intermediate_size", /*normalizes=*/false);
  fields.integer("shared_expert_intermediate_size",
                 "expert_shared_feed_forward_length");
  fields.set("model_type", "qwen2_moe");
  fields.set("qkv_bias", hasBias(fields, "self_attn.q_proj"));
}

static void readQwen3Moe(Fields &fields) {
  readDecoder(fields);
  expectWholeRotation(fields);
  readExperts(fields, "moe_intermediate_size", /*normalizes=*/true);
  fields.set("model_type", "qwen3_moe");
  fields.set("attention_bias", hasBias(fields, "self_attn.q_proj"));
}

static void readQwen3(Fields &fields) {
  readDecoder(fields);
  expectWholeRotation(fields);
  fields.set("model_type", "qwen3");
  fields.set("attention_bias", hasBias(fields, "self_attn.q_proj"));
}

static void readGemma2(Fields &fields) {
  readDecoder(fields);
  expectWholeRotation(fields);
  readScoreScale(fields, /*largest=*/46);
  fields.set("model_type", "gemma2");
  fields.set("attention_bias", hasBias(fields, "self_attn.q_proj"));
  fields.integer("sliding_window", "attention.sliding_window");
  fields.number("attn_logit_softcapping", "attn_logit_softcapping");
  fields.number("final_logit_softcapping", "final_logit_softcapping");
}

static void readGemma3(Fields &fields) {
  readDecoder(fields);
  expectWholeRotation(fields);
  readScoreScale(fields, /*largest=*/62);
  fields.set("model_type", "gemma3_text");
  fields.set("attention_bias", hasBias(fields, "self_attn.q_proj"));
  fields.set("attn_logit_softcapping", nullptr);
  fields.set("final_logit_softcapping", nullptr);
  fields.number("final_logit_softcapping", "final_logit_softcapping");
  if (!fields.number("rope_local_base_freq", "rope.freq_base_swa"))
    fields.set("rope_local_base_freq", 10000);

  // Of so many layers the last sees all positions.
  uint64_t period =
      fields.optionalInteger("attention.sliding_window_pattern").value_or(6);
  bool slides = fields.integer("sliding_window", "attention.sliding_window") &&
                fields.valueOf("sliding_window") != 0;
  if (!slides)
    fields.set("sliding_window", nullptr);
  uint64_t layers = std::min<uint64_t>(fields.valueOf("num_hidden_layers"),
                                       uint64_t(kMaxLayers));
  json types = json::array();
  for (uint64_t layer = 0; layer < layers; ++layer) {
    bool isWhole = !slides || period == 0 || layer % period == period - 1;
    types.push_back(isWhole ? "full_attention" : "sliding_attention");
  }
  fields.set("layer_types", std::move(types));
}

static void readPhi3(Fields &fields) {
  readDecoder(fields);
  fields.set("model_type", "phi3");
  fields.set("sliding_window", nullptr);
  if (fields.optionalInteger("attention.sliding_window").value_or(0))
    fields.integer("sliding_window", "attention.sliding_window");
  std::optional<uint64_t> turning =
      fields.optionalInteger("rope.dimension_count");
  uint64_t headDim = fields.valueOf("head_dim");
  if (turning && headDim)
    fields.set("partial_rotary_factor",
               static_cast<double>(*turning) / static_cast<double>(headDim));

  const char *shortFactors = "rope_factors_short.weight";
  const char *longFactors = "rope_factors_long.weight";
  bool isLong = fields.hasTensor(shortFactors);
  if (isLong != fields.hasTensor(longFactors))
    fields.file.fail(std::string("has one of the tensors \"") + shortFactors +
                     "\" and \"" + longFactors + "\", expected both");
  if (!isLong) {
    fields.ignore("rope.scaling.attn_factor");
    return readScaling(fields);
  }
  std::string type = fields.text("rope.scaling.type", "longrope");
  if (type != "longrope")
    fields.fail("rope.scaling.type",
                "is " + quote_name(type) + ", expected longrope");
  fields.set("rope_scaling.rope_type", "longrope");
  fields.set("rope_scaling.short_factor", fields.numbers(shortFactors));
  fields.set("rope_scaling.long_factor", fields.numbers(longFactors));
  fields.integer("rope_scaling.original_max_position_embeddings",
                 "rope.scaling.original_context_length");
  fields.number("rope_scaling.attention_factor", "rope.scaling.attn_factor");
  fields.ignore("rope.scaling.factor");
  fields.ignore("rope.scaling.finetuned");
}

static void readGpt2(Fields &fields) {
  fields.set("model_type", "gpt2");
  fields.integer("n_embd", "embedding_length");
  fields.integer("n_inner", "feed_forward_length");
  fields.integer("n_layer", "block_count");
  fields.integer("n_head", "attention.head_count");
  fields.integer("n_positions", "context_length");
  if (!fields.number("layer_norm_epsilon", "attention.layer_norm_epsilon"))
    fields.fail("attention.layer_norm_epsilon", "is missing");
  readVocabulary(fields, "transformer.wte.weight");
  if (uint64_t heads = fields.valueOf("n_head"))
    fields.expectInteger("attention.head_count_kv", heads);
}

Config models::ggufConfig(const GgufModel &model) {
  static const std::map<std::string, void (*)(Fields &)> readers = {
      {"deepseek2", readDeepseek2}, {"gemma2", readGemma2},
      {"gemma3", readGemma3},       {"gpt2", readGpt2},
      {"gpt-oss", readGptOss},      {"llama", readLlama},
      {"olmo2", readOlmo2},         {"olmoe", readOlmoe},
      {"phi3", readPhi3},           {"qwen2", readQwen2},
      {"qwen2moe", readQwen2Moe},   {"qwen3", readQwen3},
      {"qwen3moe", readQwen3Moe}};
  Fields fields(model);
  // GgufModel::open knows no other architectures.
  readers.at(model.architecture())(fields);
  if (!fields.valueOf("num_experts") && !fields.valueOf("num_local_experts") &&
      !fields.valueOf("n_routed_experts"))
    expectNoExperts(fields);
  fields.set("dtype", ggufWeightType(model));
  fields.ignore("attention.causal");
  return fields.finish();
}
