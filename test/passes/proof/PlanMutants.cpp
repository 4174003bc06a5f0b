//===- PlanMutants.cpp - small changes that may break a plan --------------===//

#include "test/passes/proof/PlanMutants.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <random>

using namespace baton;
using namespace baton::event;
using namespace baton::test;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::AffineMap;
using mlir::ArrayAttr;
using mlir::Attribute;

const char *baton::test::nameOf(MutationClass mutationClass) {
  static const char *const names[kMutationClasses] = {
      "DropNotification",   "DropWait",   "LowerCount",
      "RaiseCount",         "SwapPhases", "ShareBytes",
      "WidenRead",          "ShiftWait",  "ChangeDistance",
      "ChangeNotification", "MoveAccess", "ChangeTable",
      "Schedule",           "Two"};
  return names[unsigned(mutationClass)];
}

//===----------------------------------------------------------------------===//
// Parts of a program, by position
//===----------------------------------------------------------------------===//

static PhaseOp phaseAt(ProgramOp program, unsigned index) {
  return phasesOf(program)[index];
}

static TensorOp tensorOf(PhaseOp phase) {
  return mlir::SymbolTable::lookupNearestSymbolFrom<TensorOp>(
      phase, phase.getNotify()->getEvent());
}

static SmallVector<Attribute> withoutElement(ArrayAttr list, unsigned index) {
  SmallVector<Attribute> kept(list.begin(), list.end());
  if (index < kept.size())
    kept.erase(kept.begin() + index);
  return kept;
}

static void dropWait(PhaseOp phase, unsigned index) {
  mlir::Builder builder(phase.getContext());
  phase.setWaitsAttr(
      builder.getArrayAttr(withoutElement(phase.getWaits(), index)));
}

/// Replaces a wait, if it is still there.
static void changeWait(PhaseOp phase, unsigned index,
                       llvm::function_ref<WaitAttr(WaitAttr)> change) {
  SmallVector<Attribute> waits(phase.getWaits().begin(),
                               phase.getWaits().end());
  if (index >= waits.size())
    return;
  waits[index] = change(llvm::cast<WaitAttr>(waits[index]));
  phase.setWaitsAttr(mlir::ArrayAttr::get(phase.getContext(), waits));
}

static void changeAccess(PhaseOp phase, unsigned index,
                         llvm::function_ref<AccessAttr(AccessAttr)> change) {
  SmallVector<Attribute> accesses(phase.getAccesses().begin(),
                                  phase.getAccesses().end());
  if (index < accesses.size())
    accesses[index] = change(llvm::cast<AccessAttr>(accesses[index]));
  phase.setAccessesAttr(mlir::ArrayAttr::get(phase.getContext(), accesses));
}

static AffineMap withResult(AffineMap map, unsigned index, AffineExpr result) {
  SmallVector<AffineExpr> results(map.getResults());
  results[index] = result;
  return AffineMap::get(map.getNumDims(), map.getNumSymbols(), results,
                        map.getContext());
}

static AffineMap shifted(AffineMap map, unsigned index, int64_t by) {
  return withResult(map, index, map.getResult(index) + by);
}

static AffineMap mapOf(AffineMap like, llvm::ArrayRef<AffineExpr> results) {
  return AffineMap::get(like.getNumDims(), like.getNumSymbols(), results,
                        like.getContext());
}

/// What every wait for an event tensor becomes.
static void changeWaitsFor(ProgramOp program, mlir::FlatSymbolRefAttr event,
                           llvm::function_ref<WaitAttr(WaitAttr)> change) {
  for (PhaseOp phase : phasesOf(program))
    for (unsigned i = 0; i < phase.getWaits().size(); ++i)
      if (llvm::cast<WaitAttr>(phase.getWaits()[i]).getEvent() == event)
        changeWait(phase, i, change);
}

static void dropWaitsFor(ProgramOp program, mlir::FlatSymbolRefAttr event) {
  for (PhaseOp phase : phasesOf(program))
    for (unsigned i = phase.getWaits().size(); i-- > 0;)
      if (llvm::cast<WaitAttr>(phase.getWaits()[i]).getEvent() == event)
        dropWait(phase, i);
}

//===----------------------------------------------------------------------===//
// Mutations
//===----------------------------------------------------------------------===//

namespace {

class Maker {
public:
  Maker(ProgramOp program, unsigned seed, Step step)
      : program(program), step(step), random(seed) {}

  std::vector<Mutation> make(MutationClass mutationClass, size_t most);

private:
  void add(const llvm::Twine &description,
           std::function<void(ProgramOp)> apply) {
    made.push_back({description.str(), std::move(apply)});
  }
  int64_t pick(int64_t low, int64_t high) {
    return low + int64_t(random() % uint64_t(high - low + 1));
  }

  void dropNotifications();
  void dropWaits();
  void changeCounts(bool isHigher);
  void swapPhases();
  void shareBytes();
  void widenReads();
  void shiftWaits();
  void changeDistances();
  void changeNotifications();
  void moveAccesses();
  void changeTables();
  void changeConditions();
  void writeSchedules(size_t count);
  void combine(size_t count);

  ProgramOp program;
  Step step;
  std::mt19937 random;
  std::vector<Mutation> made;
};

} // namespace

void Maker::dropNotifications() {
  for (auto [index, phase] : llvm::enumerate(phasesOf(program))) {
    if (!phase.getNotify())
      continue;
    for (bool withWaits : {false, true})
      add(phase.getName() + (withWaits ? " and its waits" : ""),
          [index = index, withWaits](ProgramOp copy) {
            PhaseOp phase = phaseAt(copy, index);
            if (!phase.getNotify())
              return;
            if (withWaits)
              dropWaitsFor(copy, phase.getNotify()->getEvent());
            phase.removeNotifyAttr();
          });
  }
}

void Maker::dropWaits() {
  for (auto [index, phase] : llvm::enumerate(phasesOf(program)))
    for (unsigned i = 0; i < phase.getWaits().size(); ++i)
      add(phase.getName() + " wait " + llvm::Twine(i),
          [index = index, i](ProgramOp copy) {
            dropWait(phaseAt(copy, index), i);
          });
}

void Maker::changeCounts(bool isHigher) {
  using Change = AffineExpr (*)(AffineExpr);
  struct Choice {
    const char *name;
    Change change;
  };
  static const Choice lower[] = {
      {"- 1", [](AffineExpr count) { return count - 1; }},
      {"halved", [](AffineExpr count) { return count.floorDiv(2); }},
      {"0", [](AffineExpr count) { return count * 0; }},
      {"- rows / 5",
       [](AffineExpr count) {
         return count - mlir::getAffineSymbolExpr(kRows, count.getContext())
                            .floorDiv(5);
       }},
      {"- outputs / 2",
       [](AffineExpr count) {
         return count - mlir::getAffineSymbolExpr(kOutputs, count.getContext())
                            .floorDiv(2);
       }},
  };
  static const Choice higher[] = {
      {"+ 1", [](AffineExpr count) { return count + 1; }},
      {"doubled", [](AffineExpr count) { return count * 2; }},
      {"+ rows / 5",
       [](AffineExpr count) {
         return count + mlir::getAffineSymbolExpr(kRows, count.getContext())
                            .floorDiv(5);
       }},
      {"+ outputs / 2",
       [](AffineExpr count) {
         return count + mlir::getAffineSymbolExpr(kOutputs, count.getContext())
                            .floorDiv(2);
       }},
  };
  llvm::ArrayRef<Choice> choices =
      isHigher ? llvm::ArrayRef<Choice>(higher) : llvm::ArrayRef<Choice>(lower);
  for (auto tensor : program.getBody().getOps<TensorOp>())
    for (const Choice &choice : choices)
      add("count of @" + tensor.getSymName() + " " + choice.name,
          [name = tensor.getSymName().str(),
           change = choice.change](ProgramOp copy) {
            auto tensor = copy.lookupSymbol<TensorOp>(name);
            AffineMap count = tensor.getCount();
            tensor.setCount(withResult(count, 0, change(count.getResult(0))));
          });
}

void Maker::swapPhases() {
  auto phases = phasesOf(program);
  for (unsigned i = 0; i < phases.size(); ++i)
    for (unsigned j = i + 1; j < phases.size(); ++j) {
      if (phases[i]->getParentOp() != phases[j]->getParentOp())
        continue;
      add(phases[i].getName() + " and " + phases[j].getName(),
          [i, j](ProgramOp copy) {
            auto phases = phasesOf(copy);
            mlir::Operation *one = phases[i], *other = phases[j];
            mlir::Operation *behind = other->getNextNode();
            mlir::Block *block = other->getBlock();
            other->moveBefore(one);
            if (behind)
              one->moveBefore(behind);
            else
              one->moveBefore(block, block->end());
          });
    }
}

void Maker::shareBytes() {
  SmallVector<BufferOp> buffers(program.getBody().getOps<BufferOp>());
  llvm::erase_if(buffers, [](BufferOp buffer) {
    return buffer.getKind() == BufferKind::input;
  });
  for (BufferOp buffer : buffers) {
    // Rows, or layers, that overlap by one element or lie twice as far apart.
    for (bool isNear : {true, false}) {
      add("rows of @" + buffer.getSymName() + (isNear ? " nearer" : " apart"),
          [name = buffer.getSymName().str(), isNear](ProgramOp copy) {
            auto buffer = copy.lookupSymbol<BufferOp>(name);
            auto storage =
                copy.lookupSymbol<StorageOp>(buffer.getStorageAttr());
            SmallVector<int64_t> strides(buffer.getStrides());
            strides[0] =
                isNear ? std::max<int64_t>(buffer.getCapacity().back() - 1, 1)
                       : strides[0] * 2;
            buffer.setStrides(strides);
            storage.setBytes(storage.getBytes() * 4);
          });
      if (buffer.getLayers() > 1)
        add("layers of @" + buffer.getSymName() +
                (isNear ? " nearer" : " apart"),
            [name = buffer.getSymName().str(), isNear](ProgramOp copy) {
              auto buffer = copy.lookupSymbol<BufferOp>(name);
              auto storage =
                  copy.lookupSymbol<StorageOp>(buffer.getStorageAttr());
              int64_t stride = buffer.getLayerStride();
              buffer.setLayerStride(isNear ? stride - 1 : stride * 2);
              storage.setBytes(storage.getBytes() * 4);
            });
    }
    if (buffer.getRing())
      add("all layers of @" + buffer.getSymName() + " in one",
          [name = buffer.getSymName().str()](ProgramOp copy) {
            auto buffer = copy.lookupSymbol<BufferOp>(name);
            buffer.setRing(false);
            buffer.setLayers(1);
            buffer.setLayerStride(0);
          });
  }
  for (unsigned i = 0; i < buffers.size(); ++i)
    for (unsigned j = 0; j < buffers.size(); ++j) {
      BufferOp one = buffers[i], other = buffers[j];
      if (i == j || one.getKind() != BufferKind::transient)
        continue;
      // Offsets of `one` in the storage of `other`: the same bytes, or bytes of
      // the same row behind or halfway.
      for (int64_t place : {0, 1, 2}) {
        if (j < i && place == 0)
          continue;
        add("@" + one.getSymName() + " with @" + other.getSymName() +
                " at place " + llvm::Twine(place),
            [one = one.getSymName().str(), other = other.getSymName().str(),
             place](ProgramOp copy) {
              auto mover = copy.lookupSymbol<BufferOp>(one);
              auto owner = copy.lookupSymbol<BufferOp>(other);
              auto storage =
                  copy.lookupSymbol<StorageOp>(owner.getStorageAttr());
              auto widthOf = [](BufferOp buffer) {
                return buffer.getCapacity().back();
              };
              int64_t offset = place == 0 ? owner.getOffset()
                               : place == 1
                                   ? owner.getOffset() + widthOf(owner)
                                   : owner.getOffset() + widthOf(owner) / 2;
              mover.setStorageAttr(owner.getStorageAttr());
              mover.setOffset(offset);
              if (owner.getKind() == BufferKind::transient) {
                // Every buffer of the storage gets rows as wide as needed.
                int64_t row = std::max<int64_t>(owner.getStrides()[0],
                                                offset + widthOf(mover));
                for (auto buffer : copy.getBody().getOps<BufferOp>()) {
                  if (buffer.getStorageAttr() != owner.getStorageAttr())
                    continue;
                  SmallVector<int64_t> strides(buffer.getStrides());
                  strides[0] = std::max(row, strides[0]);
                  row = strides[0];
                  buffer.setStrides(strides);
                }
              }
              // Room enough: what is outside is another question.
              storage.setBytes(storage.getBytes() * 4);
            });
      }
    }
}

void Maker::widenReads() {
  for (auto [index, phase] : llvm::enumerate(phasesOf(program)))
    for (unsigned i = 0; i < phase.getAccesses().size(); ++i) {
      auto access = llvm::cast<AccessAttr>(phase.getAccesses()[i]);
      if (access.getWrite())
        continue;
      for (unsigned d = 0; d < access.getLow().getNumResults(); ++d)
        for (int64_t by : {1, 2, 8, -1, -2, -8, 0})
          add(phase.getName() + " access " + llvm::Twine(i) + " dimension " +
                  llvm::Twine(d) + " by " + llvm::Twine(by),
              [index = index, i, d, by](ProgramOp copy) {
                changeAccess(phaseAt(copy, index), i, [&](AccessAttr access) {
                  AffineMap low = access.getLow(), high = access.getHigh();
                  // A change before this one may have left another one here.
                  if (d >= low.getNumResults())
                    return access;
                  if (by < 0)
                    low = shifted(low, d, by);
                  else if (by > 0)
                    high = shifted(high, d, by);
                  else
                    low = withResult(low, d, low.getResult(d) * 0);
                  return AccessAttr::get(copy.getContext(), false,
                                         access.getBuffer(), low, high);
                });
              });
    }
}

void Maker::shiftWaits() {
  static constexpr std::pair<int64_t, int64_t> shifts[] = {
      {1, 0}, {0, -1}, {1, 1}, {-1, -1}, {-1, 0}, {0, 1}};
  for (auto [index, phase] : llvm::enumerate(phasesOf(program)))
    for (unsigned i = 0; i < phase.getWaits().size(); ++i) {
      auto wait = llvm::cast<WaitAttr>(phase.getWaits()[i]);
      for (unsigned d = 0; d < wait.getLow().getNumResults(); ++d)
        for (auto [low, high] : shifts)
          add(phase.getName() + " wait " + llvm::Twine(i) + " dimension " +
                  llvm::Twine(d) + " by " + llvm::Twine(low) + ", " +
                  llvm::Twine(high),
              [index = index, i, d, low = low, high = high](ProgramOp copy) {
                changeWait(phaseAt(copy, index), i, [&](WaitAttr wait) {
                  if (d >= wait.getLow().getNumResults())
                    return wait;
                  return WaitAttr::get(copy.getContext(), wait.getEvent(),
                                       wait.getDistance(),
                                       shifted(wait.getLow(), d, low),
                                       shifted(wait.getHigh(), d, high));
                });
              });
    }
}

void Maker::changeDistances() {
  for (auto [index, phase] : llvm::enumerate(phasesOf(program))) {
    if (phase.getAhead())
      add(phase.getName() + " not ahead", [index = index](ProgramOp copy) {
        phaseAt(copy, index).setAhead(false);
      });
    for (unsigned i = 0; i < phase.getWaits().size(); ++i) {
      auto flip = [index = index, i](ProgramOp copy) {
        changeWait(phaseAt(copy, index), i, [&](WaitAttr wait) {
          return WaitAttr::get(copy.getContext(), wait.getEvent(),
                               1 - wait.getDistance(), wait.getLow(),
                               wait.getHigh());
        });
      };
      add(phase.getName() + " wait " + llvm::Twine(i), flip);
      // And one that adds the other distance, which does no harm or deadlocks.
      add(phase.getName() + " wait " + llvm::Twine(i) + " at both",
          [index = index, i](ProgramOp copy) {
            PhaseOp phase = phaseAt(copy, index);
            SmallVector<Attribute> waits(phase.getWaits().begin(),
                                         phase.getWaits().end());
            if (i >= waits.size())
              return;
            auto wait = llvm::cast<WaitAttr>(waits[i]);
            waits.push_back(WaitAttr::get(copy.getContext(), wait.getEvent(),
                                          1 - wait.getDistance(), wait.getLow(),
                                          wait.getHigh()));
            phase.setWaitsAttr(ArrayAttr::get(copy.getContext(), waits));
          });
    }
  }
}

void Maker::changeNotifications() {
  auto phases = phasesOf(program);
  for (unsigned index = 0; index < phases.size(); ++index) {
    PhaseOp phase = phases[index];
    if (!phase.getNotify() || phase.getRank() == 0)
      continue;
    auto now = phase.getNotify()->getIndex();
    unsigned rank = phase.getRank();
    for (unsigned picked = 0; picked < (1u << rank); ++picked) {
      SmallVector<unsigned> coordinates;
      for (unsigned d = 0; d < rank; ++d)
        if (picked >> d & 1)
          coordinates.push_back(d);
      SmallVector<AffineExpr> results;
      for (unsigned d : coordinates)
        results.push_back(mlir::getAffineDimExpr(d, phase.getContext()));
      if (llvm::ArrayRef<AffineExpr>(results) == now.getResults())
        continue;
      // 0: only the notification. 1: shape and count with it, waits for words
      // of the old numbers. 2: waits, too, for what they were for. 3: as 2, but
      // for one word of each new dimension only. 4: as 2 with the old count.
      for (int how : {0, 1, 2, 3, 4})
        add(phase.getName() + " picks " + llvm::Twine(picked) + " way " +
                llvm::Twine(how),
            [=,
             was = SmallVector<AffineExpr>(now.getResults())](ProgramOp copy) {
              PhaseOp phase = phaseAt(copy, index);
              if (!phase.getNotify())
                return;
              TensorOp tensor = tensorOf(phase);
              auto event = phase.getNotify()->getEvent();
              mlir::MLIRContext *context = copy.getContext();
              phase.setNotifyAttr(NotifyAttr::get(
                  context, event,
                  mapOf(phase.getNotify()->getIndex(), results)));
              if (how == 0)
                return;
              SmallVector<AffineExpr> shape;
              SmallVector<int64_t> capacity;
              AffineExpr count = mlir::getAffineConstantExpr(1, context);
              for (unsigned d = 0; d < rank; ++d) {
                if (picked >> d & 1) {
                  shape.push_back(phase.getGrid().getResult(d));
                  capacity.push_back(phase.getCapacity()[d]);
                } else {
                  count = count * phase.getGrid().getResult(d);
                }
              }
              tensor.setShape(mapOf(tensor.getShape(), shape));
              tensor.setCapacity(capacity);
              if (how != 4)
                tensor.setCount(mapOf(tensor.getCount(), {count}));
              if (how == 1 && shape.size() == was.size())
                return;
              changeWaitsFor(copy, event, [&](WaitAttr wait) {
                SmallVector<AffineExpr> low, high;
                for (unsigned d : coordinates) {
                  auto found =
                      llvm::find(was, mlir::getAffineDimExpr(d, context));
                  if (found != was.end()) {
                    unsigned old = found - was.begin();
                    if (old >= wait.getLow().getNumResults())
                      continue;
                    low.push_back(wait.getLow().getResult(old));
                    high.push_back(wait.getHigh().getResult(old));
                    continue;
                  }
                  AffineExpr zero = mlir::getAffineConstantExpr(0, context);
                  low.push_back(zero);
                  high.push_back(how == 3 ? zero + 1
                                          : phase.getGrid().getResult(d));
                }
                return WaitAttr::get(context, event, wait.getDistance(),
                                     mapOf(wait.getLow(), low),
                                     mapOf(wait.getHigh(), high));
              });
            });
    }
  }
}

void Maker::moveAccesses() {
  static constexpr std::pair<int64_t, int64_t> shifts[] = {
      {1, 1}, {-1, -1}, {8, 8}, {-8, -8}, {0, -1}, {1, 0}, {0, 1}, {-1, 0}};
  for (auto [index, phase] : llvm::enumerate(phasesOf(program)))
    for (unsigned i = 0; i < phase.getAccesses().size(); ++i) {
      auto access = llvm::cast<AccessAttr>(phase.getAccesses()[i]);
      for (unsigned d = 0; d < access.getLow().getNumResults(); ++d)
        for (auto [low, high] : shifts)
          add(phase.getName() + " access " + llvm::Twine(i) + " dimension " +
                  llvm::Twine(d) + " by " + llvm::Twine(low) + ", " +
                  llvm::Twine(high),
              [index = index, i, d, low = low, high = high](ProgramOp copy) {
                changeAccess(phaseAt(copy, index), i, [&](AccessAttr access) {
                  return AccessAttr::get(copy.getContext(), access.getWrite(),
                                         access.getBuffer(),
                                         shifted(access.getLow(), d, low),
                                         shifted(access.getHigh(), d, high));
                });
              });
    }
}

/// Which tasks have work, and what is said of it.
void Maker::changeConditions() {
  for (auto [index, phase] : llvm::enumerate(phasesOf(program))) {
    if (!phase.getCondition())
      continue;
    auto change = [&, index = index](const llvm::Twine &how, auto to) {
      add(phase.getName() + " condition " + how, [index, to](ProgramOp copy) {
        PhaseOp phase = phaseAt(copy, index);
        if (auto condition = phase.getCondition())
          phase.setConditionAttr(to(*condition));
      });
    };
    auto with = [](ConditionAttr of, AffineMap low, AffineMap high,
                   int64_t unit) {
      return ConditionAttr::get(of.getContext(), of.getBuffer(), low, high,
                                unit);
    };
    for (int64_t by : {-4, -1, 1, 4}) {
      change("low by " + llvm::Twine(by), [=](ConditionAttr of) {
        return with(of, shifted(of.getLow(), 0, by), of.getHigh(),
                    of.getUnit());
      });
      for (unsigned end = 0;
           end < phase.getCondition()->getHigh().getNumResults(); ++end)
        change("end " + llvm::Twine(end) + " by " + llvm::Twine(by),
               [=](ConditionAttr of) {
                 return with(of, of.getLow(), shifted(of.getHigh(), end, by),
                             of.getUnit());
               });
      change("unit by " + llvm::Twine(by), [=](ConditionAttr of) {
        return with(of, of.getLow(), of.getHigh(), of.getUnit() + by);
      });
    }
    change("gone", [](ConditionAttr) { return ConditionAttr(); });
  }
}

void Maker::changeTables() {
  for (auto [index, phase] : llvm::enumerate(phasesOf(program))) {
    unsigned entries = phase.getEntries().size(), rank = phase.getRank();
    for (unsigned i = 0; i < entries; ++i) {
      for (int64_t by : {1, -1, 2})
        add(phase.getName() + " entry " + llvm::Twine(i) + " by " +
                llvm::Twine(by),
            [index = index, i, by](ProgramOp copy) {
              PhaseOp phase = phaseAt(copy, index);
              SmallVector<Attribute> all(phase.getEntries().begin(),
                                         phase.getEntries().end());
              if (i >= all.size())
                return;
              auto entry = llvm::cast<AddressAttr>(all[i]);
              all[i] = AddressAttr::get(copy.getContext(), entry.getBuffer(),
                                        shifted(entry.getIndex(), 0, by));
              phase.setEntriesAttr(ArrayAttr::get(copy.getContext(), all));
            });
      if (i > 0)
        add(phase.getName() + " entries " + llvm::Twine(i) + " and before",
            [index = index, i](ProgramOp copy) {
              PhaseOp phase = phaseAt(copy, index);
              SmallVector<Attribute> all(phase.getEntries().begin(),
                                         phase.getEntries().end());
              if (i >= all.size())
                return;
              std::swap(all[i - 1], all[i]);
              phase.setEntriesAttr(ArrayAttr::get(copy.getContext(), all));
            });
    }
    for (unsigned i = 0; entries && i < phase.getAccesses().size(); ++i) {
      auto access = llvm::cast<AccessAttr>(phase.getAccesses()[i]);
      add(phase.getName() + " without access " + llvm::Twine(i),
          [index = index, i](ProgramOp copy) {
            PhaseOp phase = phaseAt(copy, index);
            phase.setAccessesAttr(ArrayAttr::get(
                copy.getContext(), withoutElement(phase.getAccesses(), i)));
          });
      for (unsigned d = 0; d < access.getLow().getNumResults(); ++d)
        for (bool isHigh : {false, true})
          // A coordinate, an entry, or the buffer's end.
          for (unsigned by = 0; by <= rank + entries; ++by)
            add(phase.getName() + " access " + llvm::Twine(i) + " dimension " +
                    llvm::Twine(d) + (isHigh ? " up to " : " from ") +
                    llvm::Twine(by),
                [=, index = index](ProgramOp copy) {
                  PhaseOp phase = phaseAt(copy, index);
                  if (i >= phase.getAccesses().size() ||
                      phase.getEntries().size() != entries)
                    return;
                  changeAccess(phase, i, [&](AccessAttr access) {
                    AffineExpr end = copy.lookupSymbol<BufferOp>(
                                             access.getBuffer().getAttr())
                                         .getExtents()
                                         .getResult(d);
                    AffineExpr bound =
                        by < rank + entries
                            ? mlir::getAffineDimExpr(by, copy.getContext())
                        : isHigh ? end
                                 : end * 0;
                    AffineMap low = access.getLow(), high = access.getHigh();
                    (isHigh ? high : low) =
                        withResult(isHigh ? high : low, d, bound);
                    return access.withBox(low, high);
                  });
                });
    }
  }
  for (auto [index, table] :
       llvm::enumerate(program.getBody().getOps<TableOp>())) {
    auto tableAt = [index = index](ProgramOp copy) {
      return *std::next(copy.getBody().getOps<TableOp>().begin(), index);
    };
    for (auto property : {TableProperty::any, TableProperty::distinct,
                          TableProperty::partition})
      if (property != table.getProperty())
        add("@" + table.getBuffer() + " is " + stringifyTableProperty(property),
            [=](ProgramOp copy) { tableAt(copy).setProperty(property); });
    for (int64_t by : {-1, 1, 2})
      for (bool isHigh : {false, true})
        add("@" + table.getBuffer() + (isHigh ? " end" : " begin") + " by " +
                llvm::Twine(by),
            [=](ProgramOp copy) {
              TableOp table = tableAt(copy);
              if (isHigh)
                table.setHigh(shifted(table.getHigh(), 0, by));
              else
                table.setLow(shifted(table.getLow(), 0, by));
            });
  }
}

void Maker::writeSchedules(size_t count) {
  llvm::SmallVector<int64_t> symbols{step.rows, step.past, step.outputs};
  mlir::MLIRContext *context = program.getContext();
  std::vector<Attribute> tasks;
  for (auto segment : program.getBody().getOps<SegmentOp>())
    for (int64_t iteration = 0, e = segment.getRepeat(); iteration < e;
         ++iteration)
      for (auto phase : segment.getBody().getOps<PhaseOp>()) {
        auto grid = evaluate(phase.getGrid(), {}, symbols);
        int64_t size = 1;
        for (int64_t extent : grid)
          size *= extent;
        for (int64_t i = 0; i < size; ++i) {
          SmallVector<int64_t> coordinates(grid.size());
          int64_t rest = i;
          for (size_t d = grid.size(); d-- > 0; rest /= grid[d])
            coordinates[d] = rest % grid[d];
          tasks.push_back(TaskAttr::get(context, phase.getNameAttr(), iteration,
                                        coordinates));
        }
      }
  unsigned phases = phasesOf(program).size();
  for (size_t number = 0; number < count; ++number) {
    std::vector<std::vector<Attribute>> lists(pick(1, 3));
    for (Attribute task : tasks)
      lists[pick(0, lists.size() - 1)].push_back(task);
    // Ways: in order; two tasks that are near each other in one list swapped;
    // any two; two of different lists; a wait dropped.
    int64_t way = number % 5;
    int64_t times = pick(1, 3);
    auto some = [&]() -> std::vector<Attribute> & {
      return lists[pick(0, lists.size() - 1)];
    };
    for (int64_t i = 0; way > 0 && way < 4 && i < times; ++i) {
      auto &one = some();
      auto &other = way == 3 ? some() : one;
      if (one.size() < 2 || other.empty())
        continue;
      int64_t from = pick(0, one.size() - 1);
      int64_t to = way == 1
                       ? std::min<int64_t>(from + pick(1, 8), other.size() - 1)
                       : pick(0, other.size() - 1);
      std::swap(one[from], other[to]);
    }
    SmallVector<Attribute> workers;
    for (auto &list : lists)
      workers.push_back(ArrayAttr::get(
          context, SmallVector<Attribute>(list.begin(), list.end())));
    unsigned phase = pick(0, phases - 1), wait = pick(0, 2);
    add("schedule " + llvm::Twine(number) + " way " + llvm::Twine(way) +
            " on " + llvm::Twine(lists.size()) + " workers",
        [=, step = step](ProgramOp copy) {
          auto builder = mlir::OpBuilder::atBlockEnd(&copy.getBody().front());
          builder.create<ScheduleOp>(
              copy.getLoc(), step.rows, step.past, step.outputs,
              ArrayAttr::get(copy.getContext(), workers));
          if (way == 4)
            dropWait(phaseAt(copy, phase), wait);
        });
  }
}

void Maker::combine(size_t count) {
  std::vector<std::vector<Mutation>> pools;
  for (unsigned i = 0; i < unsigned(MutationClass::schedule); ++i)
    pools.push_back(
        Maker(program, unsigned(random()), step).make(MutationClass(i), count));
  llvm::erase_if(pools, [](const auto &pool) { return pool.empty(); });
  for (size_t i = 0; i < count; ++i) {
    auto some = [&]() -> Mutation & {
      auto &pool = pools[pick(0, pools.size() - 1)];
      return pool[pick(0, pool.size() - 1)];
    };
    Mutation &one = some(), &other = some();
    add(one.description + "; " + other.description,
        [one = one.apply, other = other.apply](ProgramOp copy) {
          one(copy);
          other(copy);
        });
  }
}

std::vector<Mutation> Maker::make(MutationClass mutationClass, size_t most) {
  switch (mutationClass) {
  case MutationClass::dropNotification:
    dropNotifications();
    break;
  case MutationClass::dropWait:
    dropWaits();
    break;
  case MutationClass::lowerCount:
    changeCounts(/*isHigher=*/false);
    break;
  case MutationClass::raiseCount:
    changeCounts(/*isHigher=*/true);
    break;
  case MutationClass::swapPhases:
    swapPhases();
    break;
  case MutationClass::shareBytes:
    shareBytes();
    break;
  case MutationClass::widenRead:
    widenReads();
    break;
  case MutationClass::shiftWait:
    shiftWaits();
    break;
  case MutationClass::changeDistance:
    changeDistances();
    break;
  case MutationClass::changeNotification:
    changeNotifications();
    break;
  case MutationClass::moveAccess:
    moveAccesses();
    break;
  case MutationClass::changeTable:
    changeTables();
    changeConditions();
    break;
  case MutationClass::schedule:
    writeSchedules(most);
    break;
  case MutationClass::two:
    combine(most);
    break;
  }
  // The standard's shuffle differs from library to library.
  for (size_t i = made.size(); i > 1; --i)
    std::swap(made[i - 1], made[random() % i]);
  if (made.size() > most)
    made.resize(most);
  return std::move(made);
}

std::vector<Mutation> baton::test::mutationsOf(ProgramOp program,
                                               MutationClass mutationClass,
                                               unsigned seed, size_t most,
                                               Step step) {
  return Maker(program, seed, step).make(mutationClass, most);
}
