//===- PlanVerifier.h - a plan is free of races and deadlocks ------------===//
//
// The proof, for all symbols, worker counts and interleavings:
//
// 1. Shape. Maps are quasi-affine; grids, extents and event tensors stay within
//    their capacities; no two elements of a buffer share bytes; buffers that
//    outlive a step share bytes with no other and keep all rows so far; calls
//    have the operands that their bodies take, and touch what their phases
//    state (PlanCalls.cpp); the step's logits are read in full.
// 2. Counts. Every word of an event tensor is notified exactly `count` times in
//    each iteration, and by one iteration after the other. Then a wait that
//    goes on means what it says. An event's scope covers all who touch what it
//    stands for: the plan's workers, and outside of them the other ranks where
//    an exchange notifies or waits.
// 3. No deadlock. Waits are for tasks of lower rank (the dialect's verifier),
//    and every worker runs its tasks in ascending rank: the unfinished task of
//    least rank can always go on. With a list of tasks per worker instead, the
//    union of lists and waits has no cycle (ExplicitSchedule.cpp). Of several
//    ranks all run this plan. An exchange is one task of all of them: in a grid
//    that is the same on all, and of one task at most, it exists on all or on
//    none, and every rank comes to its exchanges in ascending rank, since one
//    worker runs them all or events order them (PlanRankOrder.cpp). Let t be
//    the unfinished task of least rank on any of them. What comes before t is
//    finished everywhere; so t can go on or, where it is an exchange, all ranks
//    have come to it.
// 4. No race. Of two tasks that touch the same bytes, one writing, the one of
//    higher rank comes after the other, at every distance of iterations.
// 5. Values. Going back in rank from a task that reads an element, one comes to
//    a task that wrote it before anything that reused its bytes, or to the
//    step's start if earlier steps wrote it.
//
// What the programs of a step hand to one another, and whether their ranks wait
// for one another, is StepProof.h's.
//
// By 4 every interleaving computes what one worker computes in ascending rank,
// and by 5 that is what the plan without shared storage computes.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_PROOF_PLANVERIFIER_H
#define BATON_PASSES_PROOF_PLANVERIFIER_H

#include "passes/proof/HappensBefore.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSet.h"

namespace baton::bodies {
struct Region;
struct WeightExtent;
} // namespace baton::bodies

namespace baton::tasks {

/// Whether the algebra can take an expression: divisors and factors are
/// constants.
bool isQuasiAffine(mlir::AffineExpr expression);

/// Proves a program, or reports what is wrong with it at the op at fault. The
/// program outlives this object and keeps its phases, waits and event tensors;
/// storages may change.
class PlanVerifier {
public:
  explicit PlanVerifier(event::ProgramOp program);

  /// The whole proof.
  mlir::LogicalResult verify();

  /// What the proof says of values, by itself: what is read was written, by as
  /// many phases as it is to be.
  mlir::LogicalResult verifyContributions() {
    return mlir::success(mlir::succeeded(verifyWriters()) &&
                         mlir::succeeded(verifyReads()));
  }

  /// Whether the proof goes through as far as two buffers that share bytes are
  /// concerned; reports nothing. Where a phase between a write of one and a
  /// read of it writes the other, the answer is no without a look at elements,
  /// and of others only rows are looked at: a proof might allow it, so this is
  /// for who can do without.
  bool canShare(event::BufferOp one, event::BufferOp other);

  /// Whether tasks before a read write all of it, in every iteration; reports
  /// nothing.
  bool isWritten(event::PhaseOp reader, event::AccessAttr read);
  /// Whether the tasks of a phase touch all of a buffer, in every step of so
  /// many outputs.
  bool covers(event::PhaseOp phase, event::AccessAttr access,
              std::optional<int64_t> outputs = {});
  /// The same of all phases together; of a buffer with layers, of those of a
  /// segment that has an iteration for each.
  bool writesWhole(event::BufferOp buffer);

  /// Conflicts that were found to be ordered.
  int64_t conflictsProved() const { return proved; }

private:
  using PhaseOp = event::PhaseOp;
  using AccessAttr = event::AccessAttr;
  using BufferOp = event::BufferOp;

  mlir::LogicalResult verifyAll();
  mlir::LogicalResult verifyExpression(mlir::Operation *op,
                                       mlir::AffineExpr expression);
  mlir::LogicalResult verifyMaps();
  mlir::LogicalResult verifyCapacities();
  mlir::LogicalResult verifyTables();
  mlir::LogicalResult verifyTable(event::TableOp table);
  mlir::LogicalResult verifyEntry(PhaseOp phase, event::AddressAttr entry);
  mlir::LogicalResult verifyCondition(PhaseOp phase,
                                      event::ConditionAttr condition);
  mlir::LogicalResult verifyUnits(PhaseOp phase, event::ConditionAttr condition,
                                  event::AccessAttr write);
  mlir::LogicalResult verifyElement(PhaseOp phase, llvm::StringRef what,
                                    mlir::FlatSymbolRefAttr table,
                                    const Relation &places);
  mlir::LogicalResult verifyReach(PhaseOp phase, AccessAttr access);
  mlir::LogicalResult verifyExtents();
  mlir::LogicalResult verifyWriters();
  mlir::LogicalResult verifyMemory();
  bool shareBytes(BufferOp one, BufferOp other);
  mlir::LogicalResult verifyInput(BufferOp input);
  mlir::LogicalResult verifyState(BufferOp state);
  mlir::LogicalResult verifyBodies();
  mlir::LogicalResult verifyOperands(PhaseOp phase, event::CallOp call);
  /// What a call touches behind one of its pointers, with its task.
  struct TouchedByCall {
    mlir::FlatSymbolRefAttr buffer;
    KnownRelation elements;
    bool isWritten, isRead;
    /// All of it is written.
    bool isExact;
  };
  struct CallsOfPhase {
    llvm::SmallVector<TouchedByCall> touched;
    /// Whether that is all that its tasks touch.
    bool areDeclared = true;
  };
  mlir::FailureOr<TouchedByCall> touchedBy(PhaseOp phase, event::CallOp call,
                                           const bodies::Region &region);
  bool readsOwnWrites(const CallsOfPhase &before, const TouchedByCall &touched);
  mlir::LogicalResult verifyRegion(PhaseOp phase, event::CallOp call,
                                   const bodies::Region &region,
                                   const TouchedByCall &touched);
  mlir::LogicalResult verifyScratch(PhaseOp phase, event::CallOp call,
                                    const bodies::Region &region);
  mlir::LogicalResult verifyWeight(PhaseOp phase, event::CallOp call,
                                   const bodies::WeightExtent &read);
  mlir::LogicalResult verifyPages(event::CallOp call, bool isLibrarys);
  mlir::LogicalResult verifyPointers(event::CallOp call,
                                     llvm::ArrayRef<bodies::Region> regions);
  mlir::LogicalResult verifyCalls(PhaseOp phase);
  bool passes(PhaseOp phase, BufferOp buffer, PhaseOp later, bool isSameCopy,
              KnownRelation &open);
  bool isUnseen(PhaseOp phase, BufferOp buffer, KnownRelation open);
  mlir::LogicalResult verifyOutputs(PhaseOp phase);
  mlir::LogicalResult verifyAdvance(PhaseOp phase, event::AdvanceOp advance);
  mlir::LogicalResult verifyTouched(PhaseOp phase, event::ExchangeOp exchange,
                                    BufferOp buffer, bool isParts, int64_t rows,
                                    bool written);
  mlir::LogicalResult verifyParts(event::ExchangeOp exchange,
                                  event::TransferAttr transfer);
  mlir::LogicalResult verifyRows(PhaseOp phase, event::ExchangeOp exchange);
  mlir::LogicalResult verifyExchange(PhaseOp phase, event::ExchangeOp exchange);
  mlir::LogicalResult verifyMessage(PhaseOp phase, event::MessageOp message);
  bool isOrdered(PhaseOp earlier, PhaseOp later);
  mlir::LogicalResult verifyRankOrder();
  mlir::LogicalResult verifyCounts();
  mlir::LogicalResult verifyScopes();
  mlir::LogicalResult verifyWordOrder();
  mlir::LogicalResult verifyAccesses(PhaseOp earlier, AccessAttr before,
                                     PhaseOp later, AccessAttr after);
  mlir::LogicalResult verifyConflicts();
  mlir::LogicalResult verifyConflicts(BufferOp one, BufferOp other);
  mlir::LogicalResult verifyReads(BufferOp one = {}, BufferOp other = {});
  bool isInterrupted(BufferOp one, BufferOp other) const;
  mlir::LogicalResult verifyGrowth(BufferOp state);

  mlir::LogicalResult verifyRange(mlir::Operation *op, const llvm::Twine &what,
                                  mlir::AffineMap map,
                                  llvm::ArrayRef<int64_t> capacity);
  mlir::LogicalResult verifyPointer(PhaseOp phase, event::CallOp call,
                                    mlir::Attribute operand,
                                    mlir::AffineMap index,
                                    llvm::ArrayRef<int64_t> capacity);
  mlir::LogicalResult verifyEqual(mlir::Operation *op, const llvm::Twine &what,
                                  mlir::AffineExpr left, mlir::AffineExpr right,
                                  llvm::ArrayRef<mlir::AffineExpr> positive);
  mlir::LogicalResult verifyWithinPhase(PhaseOp phase, AccessAttr one,
                                        AccessAttr other);
  RelationPoint exampleOf(PhaseOp earlier, KnownRelation conflict,
                          PhaseOp later, Distance distance);
  mlir::LogicalResult verifyPair(PhaseOp earlier, AccessAttr earlierAccess,
                                 PhaseOp later, AccessAttr laterAccess,
                                 Distance distance);
  mlir::LogicalResult verifyRead(PhaseOp reader, AccessAttr read, bool isFirst);

  /// A point for which a conjunction holds, if there is one.
  std::optional<RelationPoint> sampleOf(const Conjunction &conjunction) {
    return plan.relations().sample(plan.relations().known(conjunction));
  }

  /// Elements in an access of some task, under free coordinates of a reader;
  /// with `reading`, of the same iteration, of those that it may read.
  KnownRelation touched(PhaseOp phase, AccessAttr access, unsigned readerRank,
                        std::optional<Tables::Reading> reading = std::nullopt);
  /// Elements of `victim` whose bytes a write to another buffer may change.
  KnownRelation clobbered(PhaseOp writer, AccessAttr write, BufferOp victim,
                          Overlap overlap, unsigned readerRank, Detail closest);

  event::ProgramOp program;
  HappensBefore plan;
  /// For what stays: event tensors and parameters.
  mlir::SymbolTable symbols;
  /// What touches a buffer.
  llvm::DenseMap<mlir::Operation *,
                 llvm::SmallVector<std::pair<PhaseOp, AccessAttr>>>
      uses;
  llvm::DenseMap<mlir::Operation *, CallsOfPhase> callsOf;
  /// Names of the bodies beside the program.
  llvm::StringSet<> usersBodies;
  int64_t proved = 0;
  /// Once numbers were too large nothing that is known can be trusted.
  bool hasOverflowed = false;
  /// False while only the answer counts: examples take time to find.
  bool reports = true;
  /// How closely to look before a plan is rejected.
  Detail detail = Detail::bytes;
};

} // namespace baton::tasks

#endif // BATON_PASSES_PROOF_PLANVERIFIER_H
