//===- PhaseEmitter.h - a phase of a plan in CUDA C++ ---------------------===//
//
// The pieces of a phase: pointers, a worker's share of the tiles, what is
// prefetched, a task's waits, calls and notification. PersistentKernel.cpp and
// GraphKernels.cpp put them together.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_PHASEEMITTER_H
#define BATON_CODEGEN_CUDA_PHASEEMITTER_H

#include "codegen/cuda/BodyPrinter.h"
#include "codegen/cuda/CublasLtProducts.h"
#include "codegen/cuda/TunedBodies.h"
#include "codegen/plan/ProgramLayout.h"

#include <map>

namespace baton::cuda {

/// Bodies that are a persistent kernel's own, with the type of what they take.
using KernelBodies = std::map<std::string, std::string>;

/// Whether the program keeps what it computes from step to step.
bool trains(event::ProgramOp program);

class PhaseEmitter {
public:
  /// Prints to `os`. `rank` is the phase's number among those of all programs;
  /// `onTensorCores` says whether its program has linears that run there,
  /// `operandType` is as operandTypeOf() says.
  PhaseEmitter(event::PhaseOp phase, uint32_t rank,
               const plan::ProgramLayout &layout, const PrintedBodies &bodies,
               const SourceOptions &options, bool onTensorCores,
               const char *operandType, llvm::raw_ostream &os);

  uint32_t number() const { return rank; }
  event::PhaseOp op() const { return phase; }
  event::SegmentOp parent() const { return segment; }
  /// "phase_3_layers_mlp".
  std::string function();
  /// A line of comment that says what the phase is.
  std::string title();

  /// Whether weights of its tasks flow through the ring in steps of one row.
  bool isStreaming() const { return bool(streaming); }
  /// What it brings to the ring, as streamFormats() says.
  uint32_t streamFormats() const { return cuda::streamFormats(streaming); }
  /// What all phases bring to the ring that it has. Before anything is printed.
  void setRingFormats(uint32_t formats) { ringFormats = formats; }
  /// The types of that ring, whose source is `source`, and of what it is given.
  std::string ringType(llvm::StringRef source) const;
  llvm::StringRef panelsType() const;
  /// Whether only the step's own tables say which of them: those that its
  /// entries are of.
  bool streamsSegments() const { return bool(streaming) && hasEntries; }
  /// The number of that table.
  int64_t segmentTable();
  /// Bytes of shared memory for bodies that take it.
  int64_t matrixBytes() const;
  bool hasScratch();
  /// Whether bodies that take shared memory read scratch, which is global
  /// memory then.
  bool hasMatrixOfScratch() const;
  /// Whether it is an exchange of ranks that a stream beside the kernel makes.
  bool isOverlapped() const { return overlapped; }
  /// Whether its task hands over the step.
  bool advances();
  /// Adds the bodies that the kernel has for its calls.
  void collect(KernelBodies &kernelBodies) const;
  /// Whether it has such.
  bool handsOver() const;
  /// The product that cuBLASLt computes in steps of `cublasLtRows()` rows or
  /// more; its tasks then only finish it.
  const std::optional<CublasLtProduct> &product() const { return byCublasLt; }
  int64_t cublasLtRows() const { return leastRows; }

  // In a function that has worker, step, rows, past, outputs and iteration.

  /// Pointers that all tiles share, unless tasks ask for them again.
  void emitPointers();
  /// The grid's extents, and the worker's tiles.
  void emitShare();
  void emitTicketCount(llvm::raw_ostream &os);
  /// A loop over the tiles. With events, tasks wait and notify; without, the
  /// first one's weights have been prefetched.
  void emitTiles(bool withEvents);
  /// The same of a phase that hands calls over: begins where `place` says, and
  /// leaves the function, which returns false, at every such call.
  void emitTilesFromPlace(bool withEvents, const KernelBodies &kernelBodies);
  /// Prefetches the weights of the first tile.
  void emitFirstPrefetch();
  /// Whether cuBLASLt has computed the product, if that may be.
  void emitProductChoice();
  /// Lays out the sides of its product.
  void emitProductSides();

  // In the ring's source.

  /// Sets `tiles` to the worker's.
  void emitStreamTiles(llvm::StringRef indent);
  /// Sets `panels` to those that the task of `tile` reads; of segments, if it
  /// has rows, and `again` if the ring wants them for one more row.
  void emitStreamPanels(llvm::StringRef indent);

private:
  std::string storage(event::BufferOp buffer);
  std::string parameter(mlir::StringAttr symbol);
  std::string share();
  bool takesTickets();
  std::string ticket();
  std::string columns();
  bool isConstant(int64_t dimension);
  bool waitsOnce();
  bool notifiesOnce();
  void emitExtents(llvm::StringRef indent);
  void emitCoordinates(llvm::StringRef indent);
  bool isPrefetched(mlir::Attribute operand);
  bool hasPrefetches();
  void emitPointers(llvm::StringRef indent);
  /// Whether pointers are asked for again by each task: those whose bodies take
  /// most registers, and are called, leave none to hold them in.
  bool asksAgain();
  void emitPrefetches(llvm::StringRef indent);
  void emitWait(event::WaitAttr wait);
  void emitReady();
  void emitEntries();
  std::string hasWork();
  std::string allWork();
  /// Whether only some of its tasks may have work, as a table of the step says.
  bool hasCondition();
  void emitWorks(llvm::StringRef indent);
  llvm::StringRef isTraced();
  void emitStreamCall(event::CallOp call);
  void emitTableChecks(bool withEvents);
  /// Coordinates, and what precedes a task's calls.
  void emitTaskBegin(bool withEvents);
  void emitTaskEnd(bool withEvents);
  bool hasInvariant();
  void emitCalls();
  void emitCall(event::CallOp call);
  void emitCondition(event::CallOp call, llvm::StringRef list);
  void emitUnderRing(event::CallOp call, llvm::StringRef list);
  void emitHandOvers(event::CallOp call, int &part,
                     const KernelBodies &kernelBodies);
  void emitOtherCondition(event::CallOp call);
  void emitAdvance(event::AdvanceOp advance);
  std::string arguments(event::CallOp call);
  bool isCublasLts(event::CallOp call);
  void emitFinish(const std::string &operands);

  bool ringHasBlocks() const;
  std::string streamFunction(event::CallOp call) const;
  std::string operand(mlir::Attribute operand);
  std::string address(event::AddressAttr address);
  std::string weight(event::WeightAttr weight);
  std::string base(mlir::StringAttr symbol) { return names.lookup(symbol); }

  event::PhaseOp phase;
  event::SegmentOp segment;
  uint32_t rank;
  const plan::ProgramLayout &layout;
  /// Rows of a step, at most.
  int64_t mostRows;
  const PrintedBodies &bodies;
  llvm::raw_ostream &os;
  /// Whether other phases of the kernel compute with the ring, too.
  bool ringIsShared;
  bool hasEntries;
  /// The call whose weights flow through the ring when a step has one row.
  event::CallOp streaming;
  uint32_t ringFormats = 0;
  int64_t ringStages, threads;
  /// Calls whose bodies take shared memory, on tensor cores when a step has
  /// more rows; of two, each computes some columns.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<MatrixBody, 2>> matrices;
  std::optional<CublasLtProduct> byCublasLt;
  int64_t leastRows = 0;
  bool overlapped = false;
  /// The local pointers of buffers and parameters.
  llvm::DenseMap<mlir::Attribute, std::string> names;
};

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_PHASEEMITTER_H
