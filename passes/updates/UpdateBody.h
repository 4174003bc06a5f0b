//===- UpdateBody.h - task bodies of update rules -------------------------===//
//
// A pass of a rule over whole tensors, as an event.body over one tile of them.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_UPDATES_UPDATEBODY_H
#define BATON_PASSES_UPDATES_UPDATEBODY_H

#include "passes/tiling/PlanBuilder.h"

#include "dialects/Update/Update.h"

#include "mlir/IR/IRMapping.h"

namespace baton::tasks {

/// How a state in blocks is kept: its format, the scales of a tile, and the
/// extents of a block in memory.
struct BlockScales {
  update::FormatOp format;
  View view;
  Box box;
  int64_t rows, columns;
};

/// An argument of a body, as the phase that calls it passes it.
struct BodyArgument {
  std::string name;
  View view;
  Box box;
  bool read = false, written = false;
  /// Of codes; their scales are the next argument.
  std::optional<BlockScales> scales = {};
  /// Whether it has a row, or a column, for each of the pass's, and not one for
  /// all of them.
  bool hasRows = true, hasColumns = true;
};

using BodyArguments = llvm::SmallVector<BodyArgument, 6>;

/// What a body reads to compute a number of the rule, where it is no constant.
struct NumberSource {
  std::string name;
  View view;
  /// Of the element in the view.
  llvm::SmallVector<int64_t> index;
};

/// Where a rule's numbers come from: a constant, or memory.
class NumberSources {
public:
  virtual ~NumberSources() = default;
  virtual std::optional<float> constant(update::NumberOp number) = 0;
  virtual NumberSource source(update::NumberOp number) = 0;
  virtual NumberSource source(mlir::OpResult sum) = 0;
  /// The first of a run's weights, behind which the others stand, row by row.
  virtual NumberSource source(update::WeightsOp weights) = 0;
  virtual float extent(update::ExtentOp extent) = 0;
  /// What the gradient is multiplied by, and whether the step changes anything
  /// (not 0).
  virtual NumberSource factor() = 0;
  virtual NumberSource changes() = 0;
};

/// Writes one body.
class UpdateBody {
public:
  UpdateBody(PhaseBuilder &phase, NumberSources &numbers,
             mlir::Location location, mlir::MLIRContext *context);
  ~UpdateBody();

  /// An element-wise pass: tiles of `inputs` and `outputs` are of one size.
  /// The input that is `gradient`, if any, is scaled; `guarded` outputs keep
  /// their values in a step that changes nothing. With an output in blocks each
  /// block is gone through twice, for the largest magnitude of its new values
  /// and to write them: no memory holds these in F32. With layers of networks,
  /// the tile is gone through in pieces, whose inputs and results of layers are
  /// temporaries.
  void map(mlir::Region &region, llvm::ArrayRef<BodyArgument> inputs,
           llvm::ArrayRef<BodyArgument> outputs,
           std::optional<unsigned> gradient, bool guarded);

  /// The sums over a tile of `inputs`, into `partials` of one row.
  void sum(mlir::Region &region, llvm::ArrayRef<BodyArgument> inputs,
           std::optional<unsigned> gradient, const BodyArgument &partials);

  /// Adds up the rows of `partials`, `count` of them, into one row.
  void total(const BodyArgument &partials, int64_t count, int64_t width,
             const BodyArgument &sums);

  /// The sums of each row of a tile, [rows, 1], or of each column, [1,
  /// columns].
  void sumRows(mlir::Region &region, llvm::ArrayRef<BodyArgument> inputs,
               std::optional<unsigned> gradient,
               llvm::ArrayRef<BodyArgument> sums);
  void sumColumns(mlir::Region &region, llvm::ArrayRef<BodyArgument> inputs,
                  std::optional<unsigned> gradient,
                  llvm::ArrayRef<BodyArgument> sums);

  /// Adds up the rows of each of `partials`, into one row.
  void totalColumns(llvm::ArrayRef<BodyArgument> partials,
                    llvm::ArrayRef<BodyArgument> sums);

  /// Ends the body, under this name, before `program`.
  void finish(llvm::StringRef name, mlir::AffineMap grid,
              event::ProgramOp program);

  const BodyArguments &arguments() const { return passed; }
  /// Of temporaries, which the call passes behind the arguments.
  int64_t scratchBytes() const { return scratch; }

private:
  using Values = llvm::SmallVector<mlir::Value>;
  using Needed = llvm::function_ref<bool(mlir::Operation &)>;
  using Given = llvm::function_ref<mlir::Value(mlir::Value)>;

  /// One of the tensors that a pass goes through, as the body sees it.
  struct Tile {
    mlir::Value memory;
    std::optional<BlockScales> stored = {};
    mlir::Value scales = {};
    bool hasRows = true, hasColumns = true;
  };
  using Compute =
      llvm::function_ref<Values(mlir::OpBuilder &, mlir::Value row,
                                mlir::Value column, mlir::Value mask)>;

  Tile tile(const BodyArgument &argument);
  mlir::Value argument(const BodyArgument &argument);
  mlir::Value load(const NumberSource &source);
  /// A number of the rule, computed at the start of the body.
  mlir::Value number(mlir::Value value);
  mlir::Value index(int64_t value);
  mlir::Value spread(mlir::Value number);
  /// What a region yields of vectors; of ops that are not needed, and of what
  /// they yield, there is nothing.
  Values elements(mlir::OpBuilder &at, mlir::Region &region,
                  llvm::ArrayRef<mlir::Value> inputs, Needed needed = {});
  /// Some of a region's values. `given` are the results of layers.
  Values compute(mlir::OpBuilder &at, mlir::Region &region,
                 llvm::ArrayRef<mlir::Value> inputs, mlir::ValueRange wanted,
                 Needed needed, Given given);
  void prepare(mlir::Region &region);
  /// Of a pass over these: how many rows (0) or columns (1).
  mlir::Value extentOf(mlir::OpBuilder &at, llvm::ArrayRef<Tile> tiles,
                       int64_t dimension);
  /// What a sum over a tile begins with.
  llvm::SmallVector<Tile> prepare(mlir::Region &region,
                                  llvm::ArrayRef<BodyArgument> inputs,
                                  std::optional<unsigned> gradient);
  /// Adds the elements of one place to `carried`, a vector for each result.
  llvm::SmallVector<mlir::Value>
  add(mlir::OpBuilder &at, mlir::Region &region, llvm::ArrayRef<Tile> sources,
      std::optional<unsigned> gradient, mlir::Value row, mlir::Value column,
      mlir::Value mask, mlir::ValueRange carried);
  /// Adds up what `compute` makes of all rows, for each column.
  void addColumns(llvm::ArrayRef<Tile> sources, Compute compute,
                  llvm::ArrayRef<BodyArgument> sums);
  /// The same for the regions of the tiles' formats.
  void prepareFormats(llvm::ArrayRef<Tile> tiles);
  mlir::Value splat(mlir::OpBuilder &at, mlir::Type element, double value);
  /// Vectors of elements. `scales` are those of the block, else they are
  /// loaded.
  Values loadAll(mlir::OpBuilder &at, llvm::ArrayRef<Tile> tiles,
                 mlir::Value row, mlir::Value column, mlir::Value mask,
                 llvm::ArrayRef<mlir::Value> scales = {});
  /// The scale of the block that an element lies in, as a vector.
  mlir::Value loadScale(mlir::OpBuilder &at, const Tile &tile, mlir::Value row,
                        mlir::Value column);
  void store(mlir::OpBuilder &at, mlir::Value value, mlir::Value memory,
             mlir::Value row, mlir::Value column, mlir::Value mask);
  mlir::Value encode(mlir::OpBuilder &at, const BlockScales &stored,
                     mlir::Value value, mlir::Value scale);
  /// Of each place the scale of the block's largest magnitudes, which is
  /// stored; none of a place without blocks.
  Values storeScales(mlir::OpBuilder &inside, llvm::ArrayRef<Tile> places,
                     mlir::ValueRange largest, mlir::Value blockRow,
                     mlir::Value blockColumn);
  void mapBlocks(mlir::OpBuilder &at, mlir::Region &region,
                 llvm::ArrayRef<Tile> sources, llvm::ArrayRef<Tile> places,
                 std::optional<unsigned> gradient);
  void scale(mlir::OpBuilder &at, Values &inputs,
             std::optional<unsigned> gradient);
  /// Memory of a task's own, of `rows` by kPiece.
  mlir::Value temporary(int64_t rows);
  void mapLayers(mlir::OpBuilder &at, mlir::Region &region,
                 llvm::ArrayRef<Tile> sources, llvm::ArrayRef<Tile> places,
                 std::optional<unsigned> gradient);
  void layer(mlir::OpBuilder &at, update::DenseOp op, mlir::Value inputs,
             mlir::Value results, mlir::Value vectors);

  PhaseBuilder &phase;
  NumberSources &numbers;
  mlir::Location location;
  mlir::MLIRContext *context;
  std::unique_ptr<mlir::Region> body;
  mlir::Block *block;
  /// At the end of the body, and of what it computes once.
  mlir::OpBuilder builder;
  BodyArguments passed;
  /// Numbers of the rule, and what they are in vectors.
  mlir::IRMapping made, spreads;
  mlir::Value factor;
  int64_t scratch = 0;
  /// Of networks: a layer's inputs and results, and its numbers in memory.
  struct Layer {
    mlir::Value inputs, results, numbers;
    int64_t weights, bias;
  };
  llvm::DenseMap<mlir::Operation *, Layer> layers;
};

} // namespace baton::tasks

#endif // BATON_PASSES_UPDATES_UPDATEBODY_H
