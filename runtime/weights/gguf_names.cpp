//===- gguf_names.cpp - what GGUF files call tensors ---------------------===//

#include "runtime/weights/gguf_names.h"

#include <algorithm>
#include <span>

namespace baton {

namespace {

/// One module of a model, whose tensors are NAME.weight and NAME.bias.
struct Module {
  std::string_view stored;
  std::string_view name;
  /// Of rows in another order, of matrices in the other order, of a tensor that
  /// has the module's own name, as a weight or a bias, of one row that is
  /// stored as a list, and of a matrix for each head.
  enum { Plain, Paired, Flipped, Bare, BareBias, Row, Heads } rows = Plain;

  bool is_of_experts() const {
    return name.find("{expert}") != std::string_view::npos;
  }
  bool is_bare() const { return rows == Bare || rows == BareBias; }
  /// Whether it may have a tensor of this kind.
  bool has(bool is_weight) const {
    return rows == Bare       ? is_weight
           : rows == BareBias ? !is_weight
                              : is_weight || rows != Heads;
  }
};

struct Architecture {
  std::string_view name;
  /// Outside of layers; as they are stored where the name is empty.
  std::vector<Module> modules;
  /// Of layers, below "blk.N." and `layers` + "N.".
  std::string_view layers;
  std::vector<Module> layer_modules;
  /// Weights of norms are stored plus one.
  bool shifts_norms = false;
};

const std::vector<Module> decoder_modules = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
};

/// Of blocks that are Llama's but for what stands before them.
std::vector<Module> layer_modules(std::vector<Module> own) {
  const Module common[] = {
      {"attn_norm", "input_layernorm"},
      {"attn_output", "self_attn.o_proj"},
      {"ffn_down", "mlp.down_proj"},
  };
  own.insert(own.end(), std::begin(common), std::end(common));
  return own;
}

std::vector<Module> separate_modules(std::vector<Module> own) {
  const Module common[] = {
      {"attn_q", "self_attn.q_proj"}, {"attn_k", "self_attn.k_proj"},
      {"attn_v", "self_attn.v_proj"}, {"ffn_gate", "mlp.gate_proj"},
      {"ffn_up", "mlp.up_proj"},
  };
  // What comes first wins.
  own.insert(own.end(), std::begin(common), std::end(common));
  return layer_modules(std::move(own));
}

/// With a mixture of experts in the place of the feed-forward layer.
std::vector<Module> mixture_modules(std::vector<Module> own) {
  // What comes first wins.
  const Module common[] = {
      {"attn_q", "self_attn.q_proj"},
      {"attn_k", "self_attn.k_proj"},
      {"attn_v", "self_attn.v_proj"},
      {"attn_norm", "input_layernorm"},
      {"attn_output", "self_attn.o_proj"},
      {"ffn_norm", "post_attention_layernorm"},
      {"ffn_gate_inp", "mlp.gate"},
      {"ffn_gate_exps", "mlp.experts.{expert}.gate_proj"},
      {"ffn_up_exps", "mlp.experts.{expert}.up_proj"},
      {"ffn_down_exps", "mlp.experts.{expert}.down_proj"},
  };
  own.insert(own.end(), std::begin(common), std::end(common));
  return own;
}

const Module ffn_norm = {"ffn_norm", "post_attention_layernorm"};
const Module query_norm = {"attn_q_norm", "self_attn.q_norm"};
const Module key_norm = {"attn_k_norm", "self_attn.k_norm"};
const Module gemma_norms[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"}};

std::vector<Module> with(std::vector<Module> modules,
                         std::initializer_list<Module> more) {
  modules.insert(modules.end(), more.begin(), more.end());
  return modules;
}

const Architecture architectures[] = {
    {"deepseek2", decoder_modules, "model.layers.",
     mixture_modules(
         {{"attn_q_a", "self_attn.q_a_proj"},
          {"attn_q_a_norm", "self_attn.q_a_layernorm"},
          {"attn_q_b", "self_attn.q_b_proj"},
          {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
          {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
          // Of older files; of newer ones a head's keys, transposed, and
          // values.
          {"attn_kv_b", "self_attn.kv_b_proj"},
          {"attn_k_b", "self_attn.k_b_proj", Module::Heads},
          {"attn_v_b", "self_attn.v_b_proj", Module::Heads},
          {"exp_probs_b", "mlp.gate.e_score_correction_bias", Module::BareBias},
          {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
          {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
          {"ffn_down_shexp", "mlp.shared_experts.down_proj"},
          // Of layers without experts.
          {"ffn_gate", "mlp.gate_proj"},
          {"ffn_up", "mlp.up_proj"},
          {"ffn_down", "mlp.down_proj"}})},
    {"gemma2", decoder_modules, "model.layers.",
     separate_modules({std::begin(gemma_norms), std::end(gemma_norms)}),
     /*shifts_norms=*/true},
    {"gemma3", decoder_modules, "model.layers.",
     separate_modules(with({std::begin(gemma_norms), std::end(gemma_norms)},
                           {query_norm, key_norm})),
     /*shifts_norms=*/true},
    {"gpt2",
     {{"token_embd", "transformer.wte"},
      {"position_embd", "transformer.wpe"},
      {"output_norm", "transformer.ln_f"},
      {"output", "lm_head"}},
     "transformer.h.",
     {{"attn_norm", "ln_1"},
      {"attn_qkv", "attn.c_attn", Module::Flipped},
      {"attn_output", "attn.c_proj", Module::Flipped},
      {"ffn_norm", "ln_2"},
      {"ffn_up", "mlp.c_fc", Module::Flipped},
      {"ffn_down", "mlp.c_proj", Module::Flipped}}},
    {"gpt-oss", decoder_modules, "model.layers.",
     mixture_modules({{"post_attention_norm", "post_attention_layernorm"},
                      {"attn_sinks", "self_attn.sinks", Module::Bare},
                      {"ffn_gate_inp", "mlp.router"}})},
    {"llama", with(decoder_modules, {{"rope_freqs", ""}}), "model.layers.",
     separate_modules(
         {ffn_norm,
          {"attn_q", "self_attn.q_proj", Module::Paired},
          {"attn_k", "self_attn.k_proj", Module::Paired},
          // Mixtral's.
          {"ffn_gate_inp", "block_sparse_moe.gate"},
          {"ffn_gate_exps", "block_sparse_moe.experts.{expert}.w1"},
          {"ffn_up_exps", "block_sparse_moe.experts.{expert}.w3"},
          {"ffn_down_exps", "block_sparse_moe.experts.{expert}.w2"}})},
    {"olmo2", decoder_modules, "model.layers.",
     separate_modules({{"post_attention_norm", "post_attention_layernorm"},
                       {"post_ffw_norm", "post_feedforward_layernorm"},
                       query_norm,
                       key_norm})},
    {"olmoe", decoder_modules, "model.layers.",
     mixture_modules({query_norm, key_norm})},
    {"phi3",
     with(decoder_modules,
          {{"rope_factors_long", ""}, {"rope_factors_short", ""}}),
     "model.layers.",
     layer_modules({ffn_norm,
                    {"attn_qkv", "self_attn.qkv_proj"},
                    {"ffn_up", "mlp.gate_up_proj"}})},
    {"qwen2", decoder_modules, "model.layers.", separate_modules({ffn_norm})},
    {"qwen2moe", decoder_modules, "model.layers.",
     mixture_modules(
         {{"ffn_gate_inp_shexp", "mlp.shared_expert_gate", Module::Row},
          {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
          {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
          {"ffn_down_shexp", "mlp.shared_expert.down_proj"}})},
    {"qwen3", decoder_modules, "model.layers.",
     separate_modules({ffn_norm, query_norm, key_norm})},
    {"qwen3moe", decoder_modules, "model.layers.",
     mixture_modules({query_norm, key_norm})},
};

const Architecture *find_architecture(std::string_view name) {
  const auto *found = std::find_if(
      std::begin(architectures), std::end(architectures),
      [&](const Architecture &other) { return other.name == name; });
  return found == std::end(architectures) ? nullptr : found;
}

const Module *find_module(std::span<const Module> modules,
                          std::string_view stored) {
  const auto found =
      std::find_if(modules.begin(), modules.end(), [&](const Module &module) {
        return module.stored == stored;
      });
  return found == modules.end() ? nullptr : &*found;
}

/// A number as it is printed, at the beginning of `text`; taken from it.
std::string_view take_number(std::string_view &text) {
  const size_t end =
      std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view number = text.substr(0, end);
  if (number.size() > 6 || (number.size() > 1 && number.front() == '0'))
    return {};
  text.remove_prefix(end);
  return number;
}

/// The number of an expert in a module's name, where "{expert}" gets.
std::optional<uint64_t> take_expert(std::string &module) {
  constexpr std::string_view list = "experts.";
  const size_t place = module.find(list);
  if (place == module.npos)
    return std::nullopt;
  std::string_view rest = std::string_view(module).substr(place + list.size());
  const std::string number(take_number(rest));
  if (number.empty() || !rest.starts_with("."))
    return std::nullopt;
  module.replace(place + list.size(), number.size(), "{expert}");
  return std::stoull(number);
}

} // namespace

std::vector<std::string> gguf_architectures() {
  std::vector<std::string> names;
  for (const Architecture &architecture : architectures)
    names.emplace_back(architecture.name);
  return names;
}

std::optional<GgufName> translate_gguf_name(std::string_view architecture,
                                            std::string_view stored) {
  const Architecture *known = find_architecture(architecture);
  if (!known)
    return std::nullopt;
  GgufName result;
  std::string_view rest = stored;
  const std::vector<Module> *modules = &known->modules;
  if (rest.starts_with("blk.")) {
    rest.remove_prefix(4);
    const std::string_view layer = take_number(rest);
    if (layer.empty() || !rest.starts_with("."))
      return std::nullopt;
    rest.remove_prefix(1);
    result.name = std::string(known->layers) + std::string(layer) + ".";
    modules = &known->layer_modules;
  }
  const size_t dot = rest.rfind('.');
  if (dot == rest.npos)
    return std::nullopt;
  const std::string_view kind = rest.substr(dot + 1);
  const Module *module = find_module(*modules, rest.substr(0, dot));
  const bool is_weight = kind == "weight";
  if (!module || (!is_weight && kind != "bias"))
    return std::nullopt;
  if (module->name.empty()) {
    if (!is_weight)
      return std::nullopt;
    result.name = stored;
    return result;
  }
  if (!module->has(is_weight))
    return std::nullopt;
  result.name += module->name;
  if (!module->is_bare())
    result.name += "." + std::string(kind);
  // Biases are permuted with the rows, and have no columns.
  result.is_paired = module->rows == Module::Paired;
  result.is_flipped = is_weight && module->rows == Module::Flipped;
  result.is_row = is_weight && module->rows == Module::Row;
  result.is_of_heads = module->rows == Module::Heads;
  result.is_plus_one =
      is_weight && known->shifts_norms && module->stored.ends_with("norm");
  result.is_of_experts = module->is_of_experts();
  return result;
}

std::optional<GgufPlace> find_gguf_name(std::string_view architecture,
                                        std::string_view name) {
  const Architecture *known = find_architecture(architecture);
  if (!known)
    return std::nullopt;
  const size_t dot = name.rfind('.');
  const std::string_view kind = name.substr(std::min(dot + 1, name.size()));
  if (dot == name.npos || (kind != "weight" && kind != "bias"))
    return std::nullopt;
  std::string whole(name.substr(0, dot));
  if (architecture == "gpt2" && !whole.starts_with("transformer.") &&
      whole != "lm_head")
    whole = "transformer." + whole;
  std::string_view rest = whole;
  std::string prefix;
  const std::vector<Module> *modules = &known->modules;
  if (rest.starts_with(known->layers)) {
    rest.remove_prefix(known->layers.size());
    const std::string_view layer = take_number(rest);
    if (layer.empty() || !rest.starts_with("."))
      return std::nullopt;
    rest.remove_prefix(1);
    prefix = "blk." + std::string(layer) + ".";
    modules = &known->layer_modules;
  }
  std::string own(rest);
  const std::optional<uint64_t> expert = take_expert(own);
  const auto module =
      std::find_if(modules->begin(), modules->end(),
                   [&](const Module &other) { return other.name == own; });
  if (module == modules->end())
    return std::nullopt;
  return GgufPlace{
      prefix + std::string(module->stored) + "." + std::string(kind), expert};
}

} // namespace baton
