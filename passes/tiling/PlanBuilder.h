//===- PlanBuilder.h - writes event programs for tiling rules -------------===//

#ifndef BATON_PASSES_TILING_PLANBUILDER_H
#define BATON_PASSES_TILING_PLANBUILDER_H

#include "passes/tiling/Views.h"

#include "llvm/ADT/StringSet.h"

namespace baton::tasks {

/// Tile sizes, from the target's description. Units: rows and columns; of
/// attentionSplit positions, 0 for all of them; of logitsBytes and bucket
/// bytes. Of weights that are gathered layer by layer, so many layers' are
/// there at once.
struct TileSizes {
  int64_t linearRows, linearColumns, attentionRows, attentionSplit, plainRows,
      logitsBytes, bucket, gatheredLayers = 1;
};

/// Columns of a weight panel: packed weights are [N / 16][K][16].
constexpr int64_t kPanel = 16;

/// Positions that attention computes on their own before it merges them.
constexpr int64_t kAttentionBlock = 64;

/// What the loader makes a parameter of; see event.parameter.
struct WeightSources {
  mlir::ArrayAttr parts;
  mlir::IntegerAttr firstLayer, layerStep;
  mlir::ArrayAttr layerFormats;
};

class PlanBuilder;

/// What a phase states of an access beside its box.
struct AccessDetails {
  /// Indices read beyond the extents and a tile's end.
  int64_t beyond = 0;
  /// Whether a write need not happen, and a read is of what was written.
  bool may = false;
  /// The flag without which nothing is read.
  const View *condition = nullptr;
};

/// One phase while a tiling rule describes it.
class PhaseBuilder {
public:
  /// Coordinate d, as an expression.
  mlir::AffineExpr coordinate(unsigned d) const;
  mlir::AffineExpr constant(int64_t value) const;
  mlir::AffineExpr rows() const, past() const, outputs() const;
  /// The extent of a model dimension.
  mlir::AffineExpr extent(int64_t dimension) const;

  /// The whole of a value.
  Box whole(const View &view) const;

  /// Names elements of a table, which every task reads: the numbers that are
  /// there, as expressions. To be called once, before accesses and calls.
  llvm::SmallVector<mlir::AffineExpr>
  entries(const View &table, llvm::ArrayRef<mlir::AffineExpr> indices);

  /// Tasks have work only where the running count in `table` grows from place
  /// `low` to place `low + count`, or `last` where the table ends before; it is
  /// of units of so many columns of what they write.
  void runsWhen(const View &table, mlir::AffineExpr low, int64_t count,
                int64_t last, int64_t unit);

  /// States that every task reads or writes this tile of a value.
  void reads(const View &view, const Box &tile, AccessDetails details = {});
  void writes(const View &view, const Box &tile, AccessDetails details = {});

  /// Whether every task is stated to write this tile of a value: what its calls
  /// read of it then is their own.
  bool isWritten(const View &view, const Box &tile);

  // Operands of calls.
  mlir::Attribute address(const View &view, const Box &tile) const;
  /// The distance between neighbours along a dimension that has a fixed one.
  mlir::Attribute stride(const View &view, unsigned dimension) const;
  mlir::Attribute weight(event::ParameterOp parameter,
                         mlir::AffineExpr offset) const;
  mlir::Attribute count(llvm::ArrayRef<mlir::AffineExpr> least) const;
  mlir::Attribute integer(int64_t value) const;
  mlir::Attribute integer32(int32_t value) const;
  mlir::Attribute real(const llvm::APFloat &value) const;
  mlir::Attribute scratch(int64_t offset) const;
  mlir::Attribute null() const;

  void call(llvm::StringRef callee, llvm::ArrayRef<mlir::Attribute> operands,
            bool invariant = false);
  /// Whoever waits for a task waits for all of the phase: one event word.
  void isAwaitedWhole();
  /// An exchange is for the next iteration.
  void isAhead();
  /// Tasks need this much memory of their worker. Unit: bytes.
  void needsScratch(int64_t bytes);
  void advance(const View &logits);

  /// A tensor to exchange, all of whose buffers' elements lie behind one
  /// another. Its numbers may depend on the step's symbols.
  event::TransferAttr transfer(const View &send, const View &receive,
                               mlir::AffineExpr elements,
                               mlir::AffineExpr part) const;
  event::TransferAttr transfer(const View &send, const View &receive,
                               int64_t elements, int64_t part) const {
    return transfer(send, receive, constant(elements), constant(part));
  }
  void exchange(event::ExchangeKind kind, mlir::ArrayAttr axes,
                llvm::StringRef purpose,
                llvm::ArrayRef<event::TransferAttr> transfers,
                mlir::ArrayAttr tables = {});
  /// Sends these tensors to a neighbour, or receives them: states that the task
  /// reads or writes all of each.
  void message(event::MessageDirection direction, llvm::ArrayRef<View> tensors,
               event::MessagePeer peer, mlir::StringAttr axis,
               llvm::StringRef channel);

private:
  friend class PlanBuilder;
  PhaseBuilder(PlanBuilder &plan, llvm::StringRef name, mlir::Location location,
               llvm::ArrayRef<mlir::AffineExpr> grid,
               llvm::ArrayRef<int64_t> capacity);
  void access(bool write, const View &view, const Box &tile,
              const AccessDetails &details);
  mlir::AffineMap map(llvm::ArrayRef<mlir::AffineExpr> results) const;

  PlanBuilder &plan;
  event::PhaseOp phase;
};

class PlanBuilder {
public:
  PlanBuilder(event::ProgramOp program, const TileSizes &sizes);

  mlir::MLIRContext *context() const { return builder.getContext(); }
  const TileSizes &tiles() const { return sizes; }
  mlir::AffineExpr constant(int64_t value) const;
  mlir::AffineExpr symbol(event::StepSymbol symbol) const;

  /// Phases built from now on belong to this segment.
  event::SegmentOp beginSegment(llvm::StringRef name, int64_t repeat,
                                mlir::Location location, bool reverse = false);

  /// A name nobody has yet, close to the one given.
  std::string uniqueName(llvm::StringRef base);
  /// Keeps a name for what is called exactly so in several programs.
  void reserve(llvm::StringRef name) { names.insert(name); }

  /// A phase with a grid of these extents, each at most its capacity.
  PhaseBuilder phase(llvm::StringRef name, mlir::Location location,
                     llvm::ArrayRef<mlir::AffineExpr> grid,
                     llvm::ArrayRef<int64_t> capacity);

  /// A buffer for a value with one `rows` or `outputs` dimension: that comes
  /// first, the others follow, flattened when they are numbers. A vector of a
  /// fixed size is one row. With `layers` each iteration has a copy, for later
  /// segments.
  View transient(llvm::StringRef name, model::StepTensorType type,
                 mlir::Location location, int64_t layers = 1);

  /// A buffer for a value of places, [rows, k, ...], with a row for each place,
  /// or a vector of numbers of places. With `layers` as transient().
  View places(llvm::StringRef name, model::StepTensorType type,
              mlir::Location location, int64_t layers = 1);

  /// A buffer that keeps its values from step to step, row-major, in a storage
  /// of its own without `storage`.
  View persistent(llvm::StringRef name, model::StepTensorType type,
                  int64_t layers, mlir::StringAttr storage,
                  mlir::DictionaryAttr description, mlir::Location location);

  /// One layer of what persistent() has made with several, as a buffer of its
  /// own.
  View layerOf(const View &view, int64_t layer);

  /// As transient(), or as places(), in memory of its own that keeps its values
  /// from step to step.
  View kept(llvm::StringRef name, model::StepTensorType type, int64_t layers,
            mlir::DictionaryAttr description, mlir::Location location,
            bool isOfPlaces = false);

  /// A buffer that ranks exchange, of f32 if not of `element`: row-major, in a
  /// storage of its own, with a copy for each of `layers` iterations. `extents`
  /// say how much of it a step uses, if not all.
  View received(llvm::StringRef name, int64_t rows, int64_t columns,
                int64_t layers, mlir::Location location,
                llvm::ArrayRef<mlir::AffineExpr> extents = {},
                mlir::Type element = {});

  /// Memory for buffers that are to share it; of a name that was reserved, if
  /// it `isReserved`.
  mlir::StringAttr storage(llvm::StringRef name, int64_t bytes,
                           mlir::Location location, bool isReserved = false);

  /// State of [kv, heads, dim] for each of `layers` iterations. Heads lie
  /// apart, so that one head's positions are read in one stream.
  /// With `interleave` n, n positions lie next to one another, for every
  /// `columns` elements; otherwise a position's elements do.
  View state(llvm::StringRef name, model::StepTensorType type, int64_t layers,
             int64_t interleave, int64_t columns, mlir::Location location);

  /// What rows of [rows, heads, ...] make of each block of positions: [rows,
  /// heads, blocks, width]. A head's blocks lie behind one another.
  View blocks(llvm::StringRef name, int64_t heads, int64_t width,
              mlir::Location location);

  /// A state in pages of 64 positions, of which this step's rows lie at
  /// `slots`; interleaved as state() does.
  View pagedState(llvm::StringRef name, model::StepTensorType type,
                  int64_t layers, int64_t interleave, int64_t columns,
                  const View &slots, mlir::Location location);

  /// Says what is known of a buffer's integers.
  void table(const View &view, int64_t low, int64_t high,
             event::TableProperty property, mlir::Location location) {
    table(view, low, constant(high), property, location);
  }
  event::TableOp table(const View &view, int64_t low, mlir::AffineExpr high,
                       event::TableProperty property, mlir::Location location);

  /// The runtime's token ids, by absolute position.
  View tokens(mlir::Location location);

  event::ParameterOp parameter(llvm::StringRef name, mlir::Type element,
                               int64_t layers, event::WeightForm form,
                               const WeightSources &sources,
                               mlir::Location location);

  /// The extent of a model dimension, and its upper bound.
  mlir::AffineExpr extent(int64_t dimension) const;
  int64_t bound(int64_t dimension) const;

  event::ProgramOp program;
  /// A step has no past: its positions are its rows.
  bool isTraining = false;
  int64_t scratchBytes = 0;

private:
  friend class PhaseBuilder;

  /// What a buffer is; row-major without strides.
  struct Shape {
    event::BufferKind kind;
    mlir::Type element;
    llvm::SmallVector<mlir::AffineExpr> extents = {};
    llvm::SmallVector<int64_t> capacity = {}, strides = {};
    int64_t layers = 1, layerStride = 0, interleave = 1, interleaveColumns = 1;
    mlir::StringAttr storage = {};
    mlir::DictionaryAttr description = {};
    /// Of a state in pages.
    mlir::FlatSymbolRefAttr slots = {};
    int64_t page = 0, pageStride = 0;
  };
  event::BufferOp buffer(llvm::StringRef name, const Shape &shape,
                         mlir::Location location);

  mlir::OpBuilder builder;
  event::SegmentOp segment;
  TileSizes sizes;
  llvm::StringSet<> names;
};

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_PLANBUILDER_H
