//===- PlanMemory.cpp - storage for buffers, shared where order allows ---===//
//
// Transient buffers with the same first index (most of them: a row for each
// token) can share a storage row by row, with rows of the widest one's length.
// Whether two may share is asked of the proof itself: put both into one
// storage and see if it still goes through. What is decided pair by pair holds
// for all of a storage's buffers, because every conflict is one of a pair.
//
// Buffers are placed from the widest to the narrowest, each into the first
// storage whose buffers it may share with, so that rows never grow.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/Passes.h"
#include "passes/proof/PlanVerifier.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace baton::tasks {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/plan/Passes.h.inc"
} // namespace baton::tasks

using namespace mlir;
using namespace baton::event;
using namespace baton::tasks;

/// Rows, copies of layers and storages start on a cache line.
static constexpr int64_t kAlignment = 64;

static int64_t elementBytes(BufferOp buffer) {
  return buffer.getElement().getIntOrFloatBitWidth() / 8;
}

/// Elements from the first to the last of one index of dimension 0.
static int64_t rowLength(BufferOp buffer) {
  int64_t length = 1;
  for (auto [capacity, stride] :
       llvm::drop_begin(llvm::zip(buffer.getCapacity(), buffer.getStrides())))
    length += (capacity - 1) * stride;
  return length;
}

static int64_t alignedElements(int64_t elements, int64_t bytes) {
  return llvm::alignTo(elements * bytes, kAlignment) / bytes;
}

static void setRowStride(BufferOp buffer, int64_t stride) {
  SmallVector<int64_t> strides(buffer.getStrides());
  strides[0] = stride;
  buffer.setStrides(strides);
}

namespace {

/// A storage, and the transient buffers in it.
struct Storage {
  StorageOp op;
  int64_t rowStride;
  SmallVector<BufferOp> buffers;
};

struct PlanMemory : public baton::tasks::impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>())
      plan(program);
  }

private:
  void plan(ProgramOp program);
};

} // namespace

/// Bytes from the storage's start to the end of the buffer.
static int64_t endOf(BufferOp buffer) {
  int64_t last =
      int64_t(buffer.getOffset()) +
      int64_t(buffer.getLayers() - 1) * int64_t(buffer.getLayerStride()) +
      *buffer.getSpan();
  return llvm::alignTo((last + 1) * elementBytes(buffer), kAlignment);
}

/// True when the first indices of two buffers mean the same and are as wide.
static bool haveSameRows(BufferOp one, BufferOp other) {
  return one.getExtents().getResult(0) == other.getExtents().getResult(0) &&
         one.getCapacity()[0] == other.getCapacity()[0] &&
         elementBytes(one) == elementBytes(other);
}

void PlanMemory::plan(ProgramOp program) {
  SymbolTable symbols(program);
  auto addStorage = [&](BufferOp buffer) {
    OpBuilder builder(buffer);
    auto storage = builder.create<StorageOp>(
        buffer.getLoc(), (buffer.getSymName() + "_memory").str(), /*bytes=*/1);
    symbols.insert(storage);
    return storage;
  };
  auto place = [](BufferOp buffer, StorageOp storage) {
    buffer.setStorageAttr(FlatSymbolRefAttr::get(storage.getSymNameAttr()));
  };

  SmallVector<BufferOp> transients;
  for (auto buffer :
       llvm::make_early_inc_range(program.getBody().getOps<BufferOp>())) {
    if (buffer.getStorage() || buffer.getKind() == BufferKind::input)
      continue;
    // What has layers lies alone: other iterations are still to read it.
    if (buffer.getKind() == BufferKind::transient && !isLayered(buffer)) {
      transients.push_back(buffer);
      continue;
    }
    if (buffer.getLayers() > 1 && buffer.getLayerStride() == 0) {
      int64_t bytes = elementBytes(buffer);
      buffer.setLayerStride(alignedElements(*buffer.getSpan() + 1, bytes));
    }
    StorageOp storage = addStorage(buffer);
    place(buffer, storage);
    storage.setBytes(endOf(buffer));
  }
  // Widest first; buffers of one width in the order of the program.
  SmallVector<std::pair<int64_t, size_t>> order;
  for (auto [i, buffer] : llvm::enumerate(transients))
    order.push_back({-rowLength(buffer) * elementBytes(buffer), i});
  llvm::sort(order);

  // Numbers of a table lie behind one another, as who reads them expects, and
  // so do rows that ranks exchange.
  llvm::SmallDenseSet<Attribute> dense;
  for (auto table : program.getBody().getOps<TableOp>())
    dense.insert(table.getBufferAttr().getAttr());
  program.walk([&](ExchangeOp exchange) {
    if (exchange.movesRows())
      for (TransferAttr transfer : exchange.getTransfers())
        for (FlatSymbolRefAttr name :
             {transfer.getSend(), transfer.getReceive()})
          dense.insert(name.getAttr());
  });

  PlanVerifier verifier(program);
  SmallVector<Storage> storages;
  for (auto [width, i] : order) {
    BufferOp buffer = transients[i];
    ++numBuffers;
    int64_t ownStride = buffer.getStrides()[0];
    const bool isDense = dense.contains(buffer.getSymNameAttr());
    Storage *chosen = nullptr;
    for (Storage &storage : storages) {
      if (!haveSameRows(buffer, storage.buffers.front()) ||
          (isDense && storage.rowStride != ownStride))
        continue;
      setRowStride(buffer, storage.rowStride);
      place(buffer, storage.op);
      if (llvm::all_of(storage.buffers, [&](BufferOp other) {
            return verifier.canShare(buffer, other);
          })) {
        chosen = &storage;
        break;
      }
      setRowStride(buffer, ownStride);
      buffer.removeStorageAttr();
    }
    if (!chosen) {
      ++numStorages;
      int64_t stride =
          isDense ? ownStride
                  : alignedElements(rowLength(buffer), elementBytes(buffer));
      chosen = &storages.emplace_back(Storage{addStorage(buffer), stride, {}});
      if (buffer.getCapacity().size() > 1)
        setRowStride(buffer, stride);
      else
        chosen->rowStride = ownStride;
      place(buffer, chosen->op);
    }
    chosen->buffers.push_back(buffer);
    chosen->op.setBytes(
        std::max<int64_t>(chosen->op.getBytes(), endOf(buffer)));
  }
}
