//===- SequenceTiles.h - what attention within sequences and adjoints share
//===//

#ifndef BATON_PASSES_TILING_SEQUENCETILES_H
#define BATON_PASSES_TILING_SEQUENCETILES_H

#include "passes/tiling/TilingPieces.h"

namespace baton::tasks {

/// Bytes of scratch that bodies of sequence attention and its adjoints ask for
/// (a test holds this against the library's header).
inline int64_t sequenceScratch(int64_t rows, int64_t group, int64_t width,
                               int64_t valueWidth) {
  return std::max<int64_t>(attentionScratch(rows, group, width, valueWidth),
                           sizeof(float) * kAttentionBlock *
                               (width + llvm::alignTo<16>(width) + valueWidth +
                                llvm::alignTo<16>(valueWidth)));
}

/// A grid over tiles of rows and key/value heads.
struct SequenceTiles {
  RowTiles rows;
  int64_t groups, group, width, valueWidth;

  template <typename OpT>
  SequenceTiles(OpT op, Tiler &tiler)
      : rows(tiler, model::typeOf(op.getQ()),
             tiler.rowsOf(op, tiler.plan.tiles().attentionRows)),
        groups(model::typeOf(op.getK()).getDimension(1)),
        group(model::typeOf(op.getQ()).getDimension(1) / groups),
        width(model::typeOf(op.getQ()).getDimension(2)),
        valueWidth(model::typeOf(op.getV()).getDimension(2)) {}

  PhaseBuilder phase(PlanBuilder &plan, const std::string &name,
                     mlir::Location location) const {
    PhaseBuilder phase =
        plan.phase(name, location, {rows.extent, plan.constant(groups)},
                   {rows.capacity, groups});
    phase.needsScratch(sequenceScratch(rows.size, group, width, valueWidth));
    return phase;
  }
  mlir::AffineExpr first(PhaseBuilder &phase) const {
    return phase.coordinate(0) * rows.size;
  }
  /// Of heads, query heads or key/value heads, those of the task's group.
  void narrowHeads(PhaseBuilder &phase, Box &box, const View &view) const {
    bool queries = view.type.getDimension(1) != groups;
    narrow(box, 1, phase.coordinate(1), queries ? group : 1);
  }
  /// The task's rows.
  Box tile(PhaseBuilder &phase, const View &view) const {
    Box box = phase.whole(view);
    narrow(box, 0, phase.coordinate(0), rows.size);
    narrowHeads(phase, box, view);
    return box;
  }
  /// Rows that rows of the task may see, from the step's first on; a body
  /// counts from there.
  Box before(PhaseBuilder &phase, const View &view) const {
    Box box = phase.whole(view);
    box.high[0] = first(phase) + rows.size;
    if (view.type.getRank() > 1)
      narrowHeads(phase, box, view);
    return box;
  }
  /// Rows that may see rows of the task.
  Box after(PhaseBuilder &phase, const View &view) const {
    Box box = phase.whole(view);
    box.low[0] = first(phase);
    narrowHeads(phase, box, view);
    return box;
  }
};

/// What the bodies' last operands are.
template <typename OpT>
void appendForm(OpT op, const SequenceTiles &tiles, PhaseBuilder &phase,
                llvm::SmallVectorImpl<mlir::Attribute> &operands) {
  operands.append({phase.integer(tiles.group), phase.integer(tiles.width),
                   phase.integer(tiles.valueWidth), phase.real(op.getScale()),
                   phase.real(op.getSoftcap()), phase.integer(op.getWindow()),
                   phase.scratch(0)});
}

/// Positions of the rows that the task may see, its first row, and how many it
/// has.
inline void appendPlaces(const SequenceTiles &tiles, PhaseBuilder &phase,
                         const View &positions,
                         llvm::SmallVectorImpl<mlir::Attribute> &operands) {
  Box places = tiles.before(phase, positions);
  phase.reads(positions, places);
  operands.append({phase.address(positions, places),
                   phase.count(tiles.first(phase)), tiles.rows.count(phase)});
}

template <typename OpT>
mlir::LogicalResult expectHeads(OpT op, const SequenceTiles &tiles,
                                Tiler &tiler) {
  View q = tiler.viewOf(op.getQ());
  return mlir::success(
      mlir::succeeded(expectRows(op, "q", q)) &&
      mlir::succeeded(expectAdjacentHeads(op, "q", q, tiles.group)) &&
      mlir::succeeded(expectRows(op, "k", tiler.viewOf(op.getK()))) &&
      mlir::succeeded(expectRows(op, "v", tiler.viewOf(op.getV()))));
}

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_SEQUENCETILES_H
