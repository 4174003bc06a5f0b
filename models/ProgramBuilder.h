//===- ProgramBuilder.h - writes a model.program op by op -----------------===//
//
// What importers share: parameters by checkpoint name, and the pieces of a
// transformer in primitive form. Every op's location is a name that reads like
// the module of the checkpoint ("layers.self_attn.q_proj"); phases, traces and
// dumps take their names from it.
//
// A `module` below is the checkpoint's name of a module, with "{layer}" for the
// layer number: "layers.{layer}.self_attn.q_proj".
//
//===----------------------------------------------------------------------===//

#ifndef BATON_MODELS_PROGRAMBUILDER_H
#define BATON_MODELS_PROGRAMBUILDER_H

#include "dialects/Model/Model.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace baton::models {

/// What a norm's stored weight means: itself, or how much it differs from one.
enum class NormWeight { asStored, lessOne };

/// Blocks of stored rows that make a weight: see `model.parameter`.
struct RowBlocks {
  int64_t size, stride, offset;
  /// 0 for none.
  int64_t pairs = 0;
};

/// A head's part of a stored matrix: `size` rows of every `stride`, from
/// `offset` on, which are the head's outputs, or transposed its inputs.
struct HeadRows {
  int64_t size, stride, offset;
  bool transposed;
};

/// Variations of attention.
struct AttentionForm {
  /// Without it, scores stay as they are.
  std::optional<float> scale;
  /// Positions that a row sees; 0 for all.
  int64_t window = 0;
  /// Largest magnitude of a score, approached by tanh; 0 for none.
  float softcap = 0;
  /// Gates for every head or every element, or null.
  mlir::Value gate = {};
  /// Whether each head has a score more, `module`.sinks.
  bool hasSinks = false;
};

/// A mixture of experts.
struct MixtureForm {
  /// Experts, those of one row, and the inside of each.
  int64_t experts, expertsOfRow, width;
  model::Activation activation;
  model::Scoring scoring = model::Scoring::softmax;
  /// Weights of a row add up to 1, but for a factor.
  bool normalizes = true;
  float factor = 1;
  /// Groups of experts, of which a row takes some, by their best expert or the
  /// sum of their best two.
  int64_t groups = 1, groupsOfRow = 1;
  bool byBestTwo = false;
  /// Whether scores have biases where experts are chosen, in the router's
  /// e_score_correction_bias.
  bool correctsChoice = false;
  /// By which training adds the loss that balances experts; 0 for none.
  double balanceLoss = 0;
  /// The router's module, and whether it has a bias.
  const char *router = "gate";
  bool routerHasBias = false;
  /// Names of an expert's linears.
  const char *gate = "gate_proj", *up = "up_proj", *down = "down_proj";
  bool hasBias = false;
  /// As gpt-oss has them, whose names are none of those above: gate_up_proj,
  /// whose rows are of gate and up in turn, and down_proj, each with a bias.
  bool isInterleaved = false;
  /// Matrices of those are stored as [inputs, outputs].
  bool isTransposed = false;
};

struct HyperConnections;

/// A linear's weight and its bias, which may be null.
struct LinearWeights {
  mlir::Value weight, bias;
};

class ProgramBuilder {
public:
  /// Tensors are looked up as `prefix` + name, then without the prefix, as
  /// checkpoints of the bare body store them.
  ProgramBuilder(mlir::MLIRContext &context, llvm::StringRef family,
                 int64_t maxSeq, mlir::FloatType weightType,
                 llvm::StringRef prefix);

  /// Ends the program and gives the module away.
  mlir::OwningOpRef<mlir::ModuleOp> finish(mlir::Value logits);

  /// The step's token ids, [rows].
  mlir::Value getTokens() { return program.getBody().getArgument(0); }

  /// The tensor `module`.weight in the weight type.
  mlir::Value weight(llvm::StringRef module, llvm::ArrayRef<int64_t> shape,
                     bool transposed = false);
  /// `module`.weight + look-up, [rows, width].
  mlir::Value embedding(llvm::StringRef module, mlir::Value table,
                        float multiplier = 1.0f);
  mlir::Value positionEmbedding(llvm::StringRef module, int64_t positions,
                                int64_t width);

  /// `repeat` copies of the body, which maps [rows, width] to the same, and
  /// holds `layers` layers from `firstLayer` on.
  mlir::Value stack(llvm::StringRef name, mlir::Value x, int64_t repeat,
                    llvm::function_ref<mlir::Value(mlir::Value)> body,
                    int64_t firstLayer = 0, int64_t layers = 1);

  /// [R, K] to [R, K], or every head of [R, H, K].
  mlir::Value rmsNorm(llvm::StringRef module, mlir::Value x, float epsilon,
                      NormWeight weight = NormWeight::asStored);
  mlir::Value layerNorm(llvm::StringRef module, mlir::Value x, float epsilon);

  /// [R, K] to [R, outputs] by `module`.weight and, if asked, `module`.bias.
  /// `transposed`: the checkpoint stores the weight as [K, outputs].
  mlir::Value linear(llvm::StringRef module, mlir::Value x, int64_t outputs,
                     bool hasBias, bool transposed = false);
  /// The same by a weight [N, K] that is there already.
  mlir::Value linear(llvm::StringRef module, mlir::Value x, mlir::Value weight);
  /// By some rows of a stored weight (and bias) only; `name` is a location.
  mlir::Value linear(llvm::StringRef name, llvm::StringRef module,
                     mlir::Value x, int64_t outputs, RowBlocks rows,
                     bool hasBias);

  /// [rows, H, K] to [rows, H, N], each head by its part of `module`.weight,
  /// whose other dimension is `columns` wide; `name` is a location.
  mlir::Value headLinear(llvm::StringRef name, llvm::StringRef module,
                         mlir::Value x, int64_t columns, HeadRows rows);

  /// What a row's experts make of it, [rows, width]: experts whose weights are
  /// `module`.experts.{expert}.GATE.weight and such, chosen by `logits`, [rows,
  /// experts].
  mlir::Value experts(llvm::StringRef module, mlir::Value x, mlir::Value logits,
                      const MixtureForm &form);

  /// Element-wise; `name` is a location.
  mlir::Value activate(llvm::StringRef name, mlir::Value x,
                       model::Activation activation);
  mlir::Value add(llvm::StringRef name, mlir::Value lhs, mlir::Value rhs);
  mlir::Value multiply(llvm::StringRef name, mlir::Value lhs, mlir::Value rhs);
  /// x times the sigmoid of a number for each row, [rows, 1].
  mlir::Value gateRows(llvm::StringRef name, mlir::Value x, mlir::Value gate);
  /// limit * tanh(x / limit)
  mlir::Value softcap(const llvm::Twine &name, mlir::Value x, float limit);

  /// Columns [offset, offset + width) of [rows, N].
  mlir::Value columns(llvm::StringRef name, mlir::Value x, int64_t offset,
                      int64_t width);
  /// [rows, heads · dim] to [rows, heads, dim].
  mlir::Value splitHeads(llvm::StringRef name, mlir::Value x, int64_t heads);
  /// The step's cosines and sines for `frequencies`.
  mlir::Value ropeTable(llvm::StringRef name, llvm::ArrayRef<float> frequencies,
                        float scale = 1.0f);
  /// Rotates every head of [rows, heads, dim].
  mlir::Value rope(llvm::StringRef name, mlir::Value x, mlir::Value table);

  /// Causal attention in primitive form: appends k and v to states of their
  /// own, and returns [rows, H · E] for q [rows, H, D], k [rows, G, D] and
  /// v [rows, G, E], where G divides H.
  mlir::Value causalAttention(llvm::StringRef module, mlir::Value q,
                              mlir::Value k, mlir::Value v,
                              const AttentionForm &form);
  /// The same to one state, of rows `k` [rows, 1, D], whose first `valueDim`
  /// elements are values, too: [rows, H, valueDim].
  mlir::Value latentAttention(llvm::StringRef module, mlir::Value q,
                              mlir::Value k, int64_t valueDim,
                              const AttentionForm &form);
  /// [rows, H, A] before [rows, H, B]; `name` is a location.
  mlir::Value joinHeads(llvm::StringRef name, mlir::Value front,
                        mlir::Value back);
  /// [rows, H, K] to [rows, H · K].
  mlir::Value mergeHeads(llvm::StringRef name, mlir::Value x);
  /// Elements [offset, offset + width) of each head of [rows, H, K].
  mlir::Value headColumns(llvm::StringRef name, mlir::Value x, int64_t offset,
                          int64_t width);

  /// The rows that get logits, [outputs, K] of [rows, K].
  mlir::Value lastRows(llvm::StringRef name, mlir::Value x);

  // Hyper-connections; [rows, streams, width] below is x. Each `module` has the
  // parameters `fn` [maps, streams · width], `base` [maps], and `scale`, one
  // number for each part of the maps.

  /// `streams` copies of [rows, width].
  mlir::Value repeatAsStreams(llvm::StringRef name, mlir::Value x,
                              int64_t streams);
  /// [rows, maps]
  mlir::Value hyperMaps(llvm::StringRef module, mlir::Value x,
                        const HyperConnections &form, model::Mixing mixing);
  /// [rows, width], by the maps' first part.
  mlir::Value hyperPre(llvm::StringRef module, mlir::Value x, mlir::Value maps);
  /// x after y [rows, width], by the maps' other parts.
  mlir::Value hyperPost(llvm::StringRef module, mlir::Value x, mlir::Value y,
                        mlir::Value maps);
  /// Those of the rows that get logits.
  mlir::Value lastStreams(llvm::StringRef name, mlir::Value x);

private:
  mlir::Location locate(llvm::Twine name);
  model::StepTensorType type(llvm::ArrayRef<int64_t> shape);
  model::ParameterOp parameter(const llvm::Twine &name,
                               model::StepTensorType type,
                               bool transposed = false);
  model::ParameterOp parameter(const llvm::Twine &name,
                               model::StepTensorType type, RowBlocks rows);
  /// Of a mixture's experts, all of those rows.
  LinearWeights weightsOfExperts(const llvm::Twine &module, const char *name,
                                 int64_t outputs, int64_t inputs,
                                 const MixtureForm &form,
                                 std::optional<RowBlocks> rows = {});
  mlir::Value createLinear(llvm::StringRef module, mlir::Value x,
                           mlir::Value weight, mlir::Value bias);
  mlir::Value transpose(const llvm::Twine &name, mlir::Value x,
                        llvm::ArrayRef<int64_t> permutation);
  mlir::Value repeatHeads(const llvm::Twine &name, mlir::Value x,
                          int64_t times);
  /// Of states, [rows, H, E].
  mlir::Value attendTo(llvm::StringRef module, mlir::Value q, mlir::Value keys,
                       mlir::Value values, const AttentionForm &form);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OpBuilder builder;
  model::ProgramOp program;
  mlir::FloatType weightType;
  mlir::FloatType f32;
  std::string prefix;
  /// Attention ops so far; each has states of its own.
  unsigned attentions = 0;
};

} // namespace baton::models

#endif // BATON_MODELS_PROGRAMBUILDER_H
