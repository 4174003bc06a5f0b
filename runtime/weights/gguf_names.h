//===- gguf_names.h - what GGUF files call tensors -----------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_GGUF_NAMES_H
#define BATON_RUNTIME_WEIGHTS_GGUF_NAMES_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// A tensor as a Hugging Face checkpoint has it, and how llama.cpp's
/// convert_hf_to_gguf.py stores it.
struct GgufName {
  std::string name;
  /// Rows of each head lie in pairs.
  bool is_paired = false;
  /// Stored transposed.
  bool is_flipped = false;
  /// Stored plus one.
  bool is_plus_one = false;
  /// A matrix of one row, stored as a list.
  bool is_row = false;
  /// A matrix of each head, which the checkpoint has below one another.
  bool is_of_heads = false;
  /// One tensor of all experts, whose number is "{expert}" in `name`.
  bool is_of_experts = false;
};

/// What the architecture's `stored` ("blk.3.attn_q.weight") is; nothing where
/// the architecture is not known or has no such tensor.
std::optional<GgufName> translate_gguf_name(std::string_view architecture,
                                            std::string_view stored);

/// Where a Hugging Face checkpoint's tensor is in a GGUF file.
struct GgufPlace {
  std::string name;
  /// Its number among the experts that are one tensor there.
  std::optional<uint64_t> expert = std::nullopt;

  bool operator==(const GgufPlace &) const = default;
};

/// What the architecture's files call a Hugging Face checkpoint's tensor, whose
/// name may lack the prefix "transformer.", as published GPT-2's do; nothing
/// where they have no such tensor.
std::optional<GgufPlace> find_gguf_name(std::string_view architecture,
                                        std::string_view name);

/// The values of general.architecture that are known, sorted.
std::vector<std::string> gguf_architectures();

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_GGUF_NAMES_H
