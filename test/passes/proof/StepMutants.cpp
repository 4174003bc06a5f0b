//===- StepMutants.cpp - small changes of a step's programs ---------------===//

#include "test/passes/proof/StepMutants.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <optional>

using namespace baton;
using namespace baton::event;
using namespace baton::test;
using llvm::SmallVector;
using mlir::ArrayAttr;
using mlir::Attribute;

const char *baton::test::nameOf(StepMutationClass mutationClass) {
  static const char *const names[kStepMutationClasses] = {
      "DropPhase",    "DropAccess",        "ChangeMay",   "ReverseSegment",
      "ChangeRepeat", "OtherDistribution", "ChangeScope", "DropMeeting",
      "SwapMeetings", "ShiftStorage",      "OtherCarry",  "SwapPrograms"};
  return names[unsigned(mutationClass)];
}

//===----------------------------------------------------------------------===//
// Parts of a module, by position
//===----------------------------------------------------------------------===//

SmallVector<ProgramOp> baton::test::programsOf(mlir::ModuleOp module) {
  auto programs = module.getOps<ProgramOp>();
  return {programs.begin(), programs.end()};
}

static PhaseOp phaseAt(ProgramOp program, unsigned index) {
  return phasesOf(program)[index];
}

template <typename Op> static Op opAt(ProgramOp program, unsigned index) {
  return *std::next(program.getBody().getOps<Op>().begin(), index);
}

static bool meetsRanks(PhaseOp phase) {
  return !phase.getBody().getOps<ExchangeOp>().empty() ||
         !phase.getBody().getOps<MessageOp>().empty();
}

static MessageOp messageOf(PhaseOp phase) {
  auto messages = phase.getBody().getOps<MessageOp>();
  return messages.empty() ? MessageOp() : *messages.begin();
}

static void dropWaitsFor(ProgramOp program, mlir::FlatSymbolRefAttr event) {
  for (PhaseOp phase : phasesOf(program)) {
    SmallVector<Attribute> waits;
    for (WaitAttr wait : phase.getWaitAttrs())
      if (wait.getEvent() != event)
        waits.push_back(wait);
    phase.setWaitsAttr(ArrayAttr::get(program.getContext(), waits));
  }
}

/// Takes a phase out, its event tensor, and every wait for it.
static void erase(PhaseOp phase) {
  auto program = phase->getParentOfType<ProgramOp>();
  if (std::optional<NotifyAttr> notify = phase.getNotify()) {
    dropWaitsFor(program, notify->getEvent());
    if (auto *event =
            mlir::SymbolTable::lookupSymbolIn(program, notify->getEvent()))
      event->erase();
  }
  phase.erase();
}

static void swap(mlir::Operation *one, mlir::Operation *other) {
  mlir::Block *block = other->getBlock();
  mlir::Operation *behind = other->getNextNode();
  other->moveBefore(one);
  if (behind)
    one->moveBefore(behind);
  else
    one->moveBefore(block, block->end());
}

static void changeAccess(PhaseOp phase, unsigned index,
                         llvm::function_ref<AccessAttr(AccessAttr)> change) {
  SmallVector<Attribute> accesses(phase.getAccesses().begin(),
                                  phase.getAccesses().end());
  if (index >= accesses.size())
    return;
  if (AccessAttr changed = change(llvm::cast<AccessAttr>(accesses[index])))
    accesses[index] = changed;
  else
    accesses.erase(accesses.begin() + index);
  phase.setAccessesAttr(ArrayAttr::get(phase.getContext(), accesses));
}

/// Room enough in a storage, which is one memory in all programs: what lies
/// outside is another question.
static void enlarge(mlir::ModuleOp module, mlir::FlatSymbolRefAttr name) {
  for (ProgramOp program : programsOf(module))
    if (auto storage = llvm::dyn_cast_or_null<StorageOp>(
            mlir::SymbolTable::lookupSymbolIn(program, name)))
      storage.setBytes(storage.getBytes() * 4);
}

//===----------------------------------------------------------------------===//
// Mutations
//===----------------------------------------------------------------------===//

namespace {

class StepMaker {
public:
  explicit StepMaker(mlir::ModuleOp module) : module(module) {}

  std::vector<StepMutation> make(StepMutationClass mutationClass);

private:
  /// Of the program that is looked at.
  void add(const llvm::Twine &description,
           std::function<void(ProgramOp)> apply) {
    made.push_back({("@" + name + " " + description).str(),
                    {number},
                    [number = number, apply](mlir::ModuleOp copy) {
                      apply(programsOf(copy)[number]);
                    }});
  }
  template <typename Add> void ofEachProgram(Add add) {
    for (auto [index, program] : llvm::enumerate(programsOf(module))) {
      number = index;
      name = ProgramOp(program).getSymName();
      add(program);
    }
  }
  template <typename Add> void ofEachAccess(ProgramOp program, Add add) {
    for (auto [index, phase] : llvm::enumerate(phasesOf(program)))
      for (auto [i, access] : llvm::enumerate(phase.getAccessAttrs()))
        add(index, phase, i, access);
  }

  void dropPhases(ProgramOp program);
  void dropAccesses(ProgramOp program);
  void changeMays(ProgramOp program);
  void reverseSegments(ProgramOp program);
  void changeRepeats(ProgramOp program);
  void changeDistributions(ProgramOp program);
  void changeScopes(ProgramOp program);
  void dropMeetings(ProgramOp program);
  void dropBothEnds();
  void swapMeetings(ProgramOp program);
  void shiftStorages(ProgramOp program);
  void changeCarries(ProgramOp program);
  void changeTables();

  mlir::ModuleOp module;
  unsigned number = 0;
  llvm::StringRef name;
  std::vector<StepMutation> made;
};

} // namespace

void StepMaker::dropPhases(ProgramOp program) {
  for (auto [index, phase] : llvm::enumerate(phasesOf(program)))
    add(phase.getName(),
        [index = index](ProgramOp copy) { erase(phaseAt(copy, index)); });
}

void StepMaker::dropAccesses(ProgramOp program) {
  ofEachAccess(program, [&](unsigned index, PhaseOp phase, unsigned i,
                            AccessAttr access) {
    add(phase.getName() + (access.getWrite() ? " write of @" : " read of @") +
            access.getBuffer().getValue(),
        [index, i](ProgramOp copy) {
          changeAccess(phaseAt(copy, index), i,
                       [](AccessAttr) { return AccessAttr(); });
        });
  });
}

void StepMaker::changeMays(ProgramOp program) {
  ofEachAccess(program, [&](unsigned index, PhaseOp phase, unsigned i,
                            AccessAttr access) {
    add(phase.getName() + (access.getMay() ? " has to " : " may ") +
            (access.getWrite() ? "write @" : "read @") +
            access.getBuffer().getValue(),
        [index, i](ProgramOp copy) {
          changeAccess(phaseAt(copy, index), i, [&](AccessAttr access) {
            return AccessAttr::get(copy.getContext(), access.getWrite(),
                                   access.getBuffer(), access.getLow(),
                                   access.getHigh(), access.getBeyond(),
                                   !access.getMay(), access.getCondition());
          });
        });
  });
}

void StepMaker::reverseSegments(ProgramOp program) {
  for (auto [index, segment] :
       llvm::enumerate(program.getBody().getOps<SegmentOp>()))
    if (segment.getRepeat() > 1)
      add("segment " + segment.getName(), [index = index](ProgramOp copy) {
        auto segment = opAt<SegmentOp>(copy, index);
        segment.setReverse(!segment.getReverse());
      });
}

void StepMaker::changeRepeats(ProgramOp program) {
  for (auto [index, segment] :
       llvm::enumerate(program.getBody().getOps<SegmentOp>()))
    for (int64_t by : {-1, 1})
      if (int64_t(segment.getRepeat()) + by > 0)
        add("segment " + segment.getName() + " by " + llvm::Twine(by),
            [index = index, by](ProgramOp copy) {
              auto segment = opAt<SegmentOp>(copy, index);
              segment.setRepeat(segment.getRepeat() + by);
            });
}

void StepMaker::changeDistributions(ProgramOp program) {
  // Order on a worker matters most where ranks meet.
  auto phases = phasesOf(program);
  bool haveMeetings = llvm::any_of(phases, meetsRanks);
  for (auto [index, phase] : llvm::enumerate(phases))
    if (haveMeetings == meetsRanks(phase))
      add(phase.getName(), [index = index](ProgramOp copy) {
        PhaseOp phase = phaseAt(copy, index);
        phase.setDistribution(phase.getDistribution() != Distribution::blocked
                                  ? Distribution::blocked
                              : phase.callsOnly() ? Distribution::ticket
                                                  : Distribution::cyclic);
      });
}

void StepMaker::changeScopes(ProgramOp program) {
  for (auto [index, event] :
       llvm::enumerate(program.getBody().getOps<TensorOp>()))
    add("@" + event.getSymName(), [index = index](ProgramOp copy) {
      auto event = opAt<TensorOp>(copy, index);
      event.setScope(event.getScope() == Scope::device ? Scope::system
                                                       : Scope::device);
    });
}

void StepMaker::dropMeetings(ProgramOp program) {
  for (auto [index, phase] : llvm::enumerate(phasesOf(program))) {
    if (!meetsRanks(phase))
      continue;
    add(phase.getName(),
        [index = index](ProgramOp copy) { erase(phaseAt(copy, index)); });
    // What the phase is for goes, but workers meet in its events.
    add(phase.getName() + ", but not its phase", [index =
                                                      index](ProgramOp copy) {
      PhaseOp phase = phaseAt(copy, index);
      for (mlir::Operation &op :
           llvm::make_early_inc_range(phase.getBody().front().getOperations()))
        op.erase();
    });
  }
}

/// A message that is neither sent nor received.
void StepMaker::dropBothEnds() {
  std::vector<std::pair<unsigned, unsigned>> places;
  std::vector<MessageOp> messages;
  for (auto [index, program] : llvm::enumerate(programsOf(module)))
    for (auto [i, phase] : llvm::enumerate(phasesOf(program)))
      if (MessageOp message = messageOf(phase)) {
        places.push_back({index, i});
        messages.push_back(message);
      }
  for (unsigned a = 0; a < places.size(); ++a)
    for (unsigned b = 0; b < places.size(); ++b) {
      if (!messages[a].sends() || messages[b].sends() ||
          messages[a].getChannel() != messages[b].getChannel())
        continue;
      auto [sender, send] = places[a];
      auto [receiver, receive] = places[b];
      made.push_back({"both ends of channel " + messages[a].getChannel().str() +
                          " " + std::to_string(a) + " and " + std::to_string(b),
                      {sender, receiver},
                      [sender = sender, send = send, receiver = receiver,
                       receive = receive](mlir::ModuleOp copy) {
                        PhaseOp one = phaseAt(programsOf(copy)[sender], send);
                        PhaseOp other =
                            phaseAt(programsOf(copy)[receiver], receive);
                        erase(one);
                        erase(other);
                      }});
    }
}

void StepMaker::swapMeetings(ProgramOp program) {
  auto phases = phasesOf(program);
  for (unsigned i = 0; i < phases.size(); ++i)
    for (unsigned j = i + 1; j < phases.size(); ++j)
      if (meetsRanks(phases[i]) && meetsRanks(phases[j]) &&
          phases[i]->getParentOp() == phases[j]->getParentOp())
        add(phases[i].getName() + " and " + phases[j].getName(),
            [i, j](ProgramOp copy) {
              swap(phaseAt(copy, i), phaseAt(copy, j));
            });
}

void StepMaker::shiftStorages(ProgramOp program) {
  for (auto [index, buffer] :
       llvm::enumerate(program.getBody().getOps<BufferOp>())) {
    if (!buffer.getStorage())
      continue;
    auto change = [&](const llvm::Twine &how,
                      std::function<void(BufferOp)> shift) {
      add("@" + buffer.getSymName() + " " + how,
          [index = index, shift](ProgramOp copy) {
            auto buffer = opAt<BufferOp>(copy, index);
            shift(buffer);
            enlarge(copy->getParentOfType<mlir::ModuleOp>(),
                    buffer.getStorageAttr());
          });
    };
    int64_t row = buffer.getStrides()[0];
    for (int64_t by : {int64_t(1), int64_t(-1), row, -row})
      if (int64_t(buffer.getOffset()) + by >= 0)
        change("begins " + llvm::Twine(by) + " later", [by](BufferOp buffer) {
          buffer.setOffset(buffer.getOffset() + by);
        });
    if (buffer.getLayers() == 1)
      continue;
    int64_t stride = buffer.getLayerStride();
    for (int64_t to : {int64_t(0), stride - 1, stride + 1, stride / 2})
      if (to >= 0)
        change("with copies " + llvm::Twine(to) + " apart",
               [to](BufferOp buffer) { buffer.setLayerStride(to); });
  }
}

void StepMaker::changeCarries(ProgramOp program) {
  static constexpr std::optional<Carry> choices[] = {std::nullopt, Carry::kept,
                                                     Carry::renewed};
  for (auto buffer : program.getBody().getOps<BufferOp>()) {
    if (buffer.getKind() != BufferKind::persistent)
      continue;
    std::optional<Carry> now = buffer.getCarry();
    for (std::optional<Carry> choice : choices) {
      if (choice == now)
        continue;
      std::string how =
          buffer.getSymName().str() + " " +
          (choice ? stringifyCarry(*choice).str() : "not carried");
      auto change = [name = buffer.getSymName().str(),
                     choice](ProgramOp program) {
        if (auto found = program.lookupSymbol<BufferOp>(name)) {
          if (choice)
            found.setCarry(*choice);
          else
            found.removeCarryAttr();
        }
      };
      add("@" + how, change);
      // All programs of the step agree on it.
      auto programs = programsOf(module);
      if (number > 0 || programs.size() == 1)
        continue;
      std::set<unsigned> all;
      for (unsigned i = 0; i < programs.size(); ++i)
        all.insert(i);
      made.push_back(
          {"@" + how + " in all programs", all, [change](mlir::ModuleOp copy) {
             for (ProgramOp program : programsOf(copy))
               change(program);
           }});
    }
  }
}

/// "F0 F1 B0": two neighbours, any two, or one less.
void StepMaker::changeTables() {
  constexpr llvm::StringRef attribute = "event.pipeline";
  auto programs = programsOf(module);
  auto pipeline =
      programs.front()->getAttrOfType<mlir::DictionaryAttr>(attribute);
  if (!pipeline)
    return;
  auto set = [&](const llvm::Twine &description, unsigned place,
                 llvm::ArrayRef<llvm::StringRef> words) {
    made.push_back(
        {description.str(),
         {},
         [attribute, place,
          text = llvm::join(words, " ")](mlir::ModuleOp copy) {
           mlir::MLIRContext *context = copy.getContext();
           for (ProgramOp program : programsOf(copy)) {
             auto pipeline =
                 program->getAttrOfType<mlir::DictionaryAttr>(attribute);
             if (!pipeline)
               continue;
             auto tables = pipeline.getAs<ArrayAttr>("tables");
             SmallVector<Attribute> changed(tables.begin(), tables.end());
             changed[place] = mlir::StringAttr::get(context, text);
             mlir::NamedAttrList list(pipeline);
             list.set("tables", ArrayAttr::get(context, changed));
             program->setAttr(attribute, list.getDictionary(context));
           }
         }});
  };
  for (auto [place, table] :
       llvm::enumerate(pipeline.getAs<ArrayAttr>("tables"))) {
    SmallVector<llvm::StringRef> words;
    llvm::SplitString(llvm::cast<mlir::StringAttr>(table).getValue(), words);
    for (unsigned i = 0; i < words.size(); ++i) {
      for (unsigned j = i + 1; j < words.size(); ++j) {
        std::swap(words[i], words[j]);
        set("place " + llvm::Twine(place) + " entries " + llvm::Twine(i) +
                " and " + llvm::Twine(j),
            place, words);
        std::swap(words[i], words[j]);
      }
      SmallVector<llvm::StringRef> fewer = words;
      fewer.erase(fewer.begin() + i);
      set("place " + llvm::Twine(place) + " without entry " + llvm::Twine(i),
          place, fewer);
    }
  }
}

std::vector<StepMutation> StepMaker::make(StepMutationClass mutationClass) {
  using Method = void (StepMaker::*)(ProgramOp);
  auto ofEach = [&](Method method) {
    ofEachProgram([&](ProgramOp program) { (this->*method)(program); });
  };
  switch (mutationClass) {
  case StepMutationClass::dropPhase:
    ofEach(&StepMaker::dropPhases);
    break;
  case StepMutationClass::dropAccess:
    ofEach(&StepMaker::dropAccesses);
    break;
  case StepMutationClass::changeMay:
    ofEach(&StepMaker::changeMays);
    break;
  case StepMutationClass::reverseSegment:
    ofEach(&StepMaker::reverseSegments);
    break;
  case StepMutationClass::changeRepeat:
    ofEach(&StepMaker::changeRepeats);
    break;
  case StepMutationClass::otherDistribution:
    ofEach(&StepMaker::changeDistributions);
    break;
  case StepMutationClass::changeScope:
    ofEach(&StepMaker::changeScopes);
    break;
  case StepMutationClass::dropMeeting:
    ofEach(&StepMaker::dropMeetings);
    dropBothEnds();
    break;
  case StepMutationClass::swapMeetings:
    ofEach(&StepMaker::swapMeetings);
    break;
  case StepMutationClass::shiftStorage:
    ofEach(&StepMaker::shiftStorages);
    break;
  case StepMutationClass::otherCarry:
    ofEach(&StepMaker::changeCarries);
    break;
  case StepMutationClass::swapPrograms:
    changeTables();
    break;
  }
  return std::move(made);
}

std::vector<StepMutation>
baton::test::mutationsOf(mlir::ModuleOp module,
                         StepMutationClass mutationClass) {
  return StepMaker(module).make(mutationClass);
}
