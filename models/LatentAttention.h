//===- LatentAttention.h - attention to compressed states -----------------===//
//
// Multi-head latent attention (DeepSeek-V2, 2024): keys and values of all heads
// are products of one row of `rank` numbers, and each key has a rotary part
// that all heads share. A state keeps the row and that part. Heads' queries go
// through their own part of the keys' matrix, so that scores are products with
// the row itself; and weighted sums of rows through that of the values'.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_MODELS_LATENTATTENTION_H
#define BATON_MODELS_LATENTATTENTION_H

#include "models/Decoder.h"

namespace baton::models {

/// Of the norms of compressed rows, whatever the config has for others.
inline constexpr float kLatentEpsilon = 1e-6f;

struct LatentAttention {
  /// Of queries; 0 where they are not compressed.
  int64_t queryRank = 0;
  int64_t rank;
  /// What turns of a head's key, what does not, and its value.
  int64_t rotary, plain, value;
  float scale;
  /// Whether rotary pairs lie side by side.
  bool interleaved;
  bool hasBias;
  /// Whether heads' parts of the keys' and the values' matrix are two tensors,
  /// k_b_proj, a head's part transposed, and v_b_proj, as GGUF files have them.
  bool isSeparate;

  /// [rows, width] to [rows, width].
  mlir::Value attend(Decoder &decoder, const Layer &layer,
                     mlir::Value normed) const;
};

/// A family that attends so, and whose first layers are dense while others have
/// a mixture beside experts that all rows go to.
struct LatentModel {
  DecoderShape shape;
  LatentAttention attention;
  MixtureForm mixture;
  /// Of the experts that all rows go to, as one; 0 for none.
  int64_t sharedWidth;
  int64_t denseLayers;
  bool feedForwardHasBias;

  mlir::OwningOpRef<mlir::ModuleOp> build(mlir::MLIRContext &context,
                                          const Config &config,
                                          const ImportOptions &options,
                                          llvm::StringRef family) const;
};

/// What a family's config means where it is silent.
struct LatentDefaults {
  int64_t denseLayers, sharedExperts;
  bool normalizes;
  double factor;
};

/// Of the router what the families do alike. Throws ConfigError.
LatentModel readLatentModel(const Config &config, const ImportOptions &options,
                            const LatentDefaults &defaults);

/// `n_group` and `topk_group`, which have to be there.
void readGroups(const Config &config, MixtureForm &form);

} // namespace baton::models

#endif // BATON_MODELS_LATENTATTENTION_H
