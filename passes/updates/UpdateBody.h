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

/// An argument of a body, as the phase that calls it passes it.
struct BodyArgument {
  std::string name;
  View view;
  Box box;
  bool read = false, written = false;
};

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
  /// their values in a step that changes nothing.
  void map(mlir::Region &region, llvm::ArrayRef<BodyArgument> inputs,
           llvm::ArrayRef<BodyArgument> outputs,
           std::optional<unsigned> gradient, bool guarded);

  /// The sums over a tile of `inputs`, into `partials` of one row.
  void sum(mlir::Region &region, llvm::ArrayRef<BodyArgument> inputs,
           std::optional<unsigned> gradient, const BodyArgument &partials);

  /// Adds up the rows of `partials`, `count` of them, into one row.
  void total(const BodyArgument &partials, int64_t count, int64_t width,
             const BodyArgument &sums);

  /// Ends the body, under this name, before `program`.
  void finish(llvm::StringRef name, mlir::AffineMap grid,
              event::ProgramOp program);

  const llvm::SmallVector<BodyArgument> &arguments() const { return passed; }

private:
  using Values = llvm::SmallVector<mlir::Value>;

  mlir::Value argument(const BodyArgument &argument);
  mlir::Value load(const NumberSource &source);
  /// A number of the rule, computed at the start of the body.
  mlir::Value number(mlir::Value value);
  mlir::Value index(int64_t value);
  mlir::Value spread(mlir::Value number);
  Values elements(mlir::OpBuilder &at, mlir::Region &region,
                  llvm::ArrayRef<mlir::Value> inputs);
  void prepare(mlir::Region &region);
  Values loadAll(mlir::OpBuilder &at, llvm::ArrayRef<mlir::Value> tiles,
                 mlir::Value row, mlir::Value column, mlir::Value mask);
  void scale(mlir::OpBuilder &at, Values &inputs,
             std::optional<unsigned> gradient);

  PhaseBuilder &phase;
  NumberSources &numbers;
  mlir::Location location;
  mlir::MLIRContext *context;
  std::unique_ptr<mlir::Region> body;
  mlir::Block *block;
  /// At the end of the body, and of what it computes once.
  mlir::OpBuilder builder;
  llvm::SmallVector<BodyArgument> passed;
  /// Numbers of the rule, and what they are in vectors.
  mlir::IRMapping made, spreads;
  mlir::Value factor;
};

} // namespace baton::tasks

#endif // BATON_PASSES_UPDATES_UPDATEBODY_H
