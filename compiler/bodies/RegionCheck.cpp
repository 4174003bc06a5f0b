//===- RegionCheck.cpp - what tasks touch, against what they state
//---------===//
//
// A task runs several times. What it states to read is the same each time; what
// lies elsewhere, and what lay before where it writes, is not. So an element
// that the results depend on shows, and one that was not written.
//
//===----------------------------------------------------------------------===//

#include "compiler/bodies/Checks.h"
#include "compiler/bodies/Child.h"
#include "compiler/bodies/Compiled.h"
#include "compiler/bodies/Memory.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <map>
#include <set>

using namespace baton;
using namespace baton::checks;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;

namespace {

/// What an area is filled with, where it is nobody's input.
enum Filling { numbers, otherNumbers, nans };

/// One run of a task.
struct Variation {
  Filling old, outside;
};
constexpr Variation kVariations[] = {{nans, numbers},
                                     {otherNumbers, numbers},
                                     {nans, nans},
                                     {nans, otherNumbers}};
/// Of these, those that differ from the first in what lay where is written, and
/// in what is not the task's.
constexpr unsigned kOld = 1, kOutside[] = {2, 3};

/// An argument's memory, and what a task may do there.
struct Place {
  Place(const Argument &argument, ArrayRef<int64_t> extents, bool spread,
        Random &random);

  /// States what the task reads and writes.
  void state(const Body &body, ArrayRef<int64_t> task, const Step &step);
  bool isInput(size_t element) const { return reads[element]; }
  bool isOutput(size_t element) const { return writes[element]; }
  const char *filled(Variation variation, size_t element) const {
    Filling filling = isInput(element)    ? numbers
                      : isOutput(element) ? variation.old
                                          : variation.outside;
    return fillings[filling].data() + element * bytes;
  }
  void fill(Variation variation);
  bool holds(size_t element, const char *expected) {
    return std::memcmp(memory.element(element), expected, bytes) == 0;
  }

  Memory memory;
  size_t bytes;
  std::vector<char> fillings[3];
  std::vector<bool> reads, writes;
  Box box;
};

/// An element of an argument.
struct Element {
  size_t argument, number;
};

class Check {
public:
  Check(const Body &body, Call &call, const Options &options, Say say)
      : body(body), call(call), say(say), random(options.seed) {}

  void run(const Shape &shape, bool spread);
  /// Of each kind of fault the first.
  std::map<std::string, std::string> faults;
  size_t tasks = 0;

private:
  using Results = std::vector<std::vector<char>>;

  void findOverlaps(const std::vector<Index> &all);
  void run(ArrayRef<int64_t> task);
  Results results(Variation variation);
  void callTask();
  void findStrayWrites(Variation variation);
  void findUnwritten(const Results &first, const Results &other);
  void findOutsideReads(const Results &first, Variation variation);
  std::optional<Element> difference(const Results &one, const Results &other,
                                    bool unlessKept = false);

  std::string nameOf(size_t argument) const {
    return "argument " + std::to_string(argument) + ", @" +
           body.arguments[argument].name;
  }
  std::string nameOf(Element element) const {
    return "@" + body.arguments[element.argument].name +
           text(places[element.argument].memory.indexOf(element.number));
  }
  std::string stated(size_t argument, bool write) const;
  /// "@x[0..16, 0..4], @y[...]", of all arguments.
  std::string statedBoxes() const;
  void fault(const char *kind, const std::string &what) {
    faults.try_emplace(kind, what + "; task " + text(task) + " with " +
                                 body.text(*shape));
  }

  const Body &body;
  Call &call;
  Say say;
  Random random;
  const Shape *shape = nullptr;
  Index task;
  std::vector<Place> places;
};

} // namespace

Place::Place(const Argument &argument, ArrayRef<int64_t> extents, bool spread,
             Random &random)
    : memory(argument, extents, spread, random),
      bytes(argument.elementBytes()) {
  mlir::Type type = argument.type.getElementType();
  for (Filling filling : {numbers, otherNumbers, nans}) {
    std::vector<char> &filled = fillings[filling];
    filled.resize(memory.sizeInBytes());
    for (size_t i = 0; i < memory.elements(); ++i) {
      char *element = filled.data() + i * bytes;
      if (filling == nans)
        storeNan(element, type, random);
      else
        store(element, type, random.number() * (filling == numbers ? 2 : 1000));
    }
  }
}

/// Calls `visit` with the elements of a box that are elements of the value.
static void visit(const Box &box, ArrayRef<int64_t> extents,
                  llvm::function_ref<void(ArrayRef<int64_t>)> visitor) {
  Index low(box.low), at;
  for (int64_t &l : low)
    l = std::max<int64_t>(l, 0);
  for (auto [l, h, extent] : llvm::zip(low, box.high, extents))
    if (l >= std::min(h, extent))
      return;
  at = low;
  while (true) {
    visitor(at);
    size_t d = at.size();
    while (d > 0 && ++at[d - 1] >= std::min(box.high[d - 1], extents[d - 1])) {
      at[d - 1] = low[d - 1];
      --d;
    }
    if (d == 0)
      return;
  }
}

void Place::state(const Body &body, ArrayRef<int64_t> task, const Step &step) {
  reads.assign(memory.elements(), false);
  writes.assign(memory.elements(), false);
  auto mark = [&](ArrayRef<event::AccessAttr> accesses,
                  std::vector<bool> &marks) {
    for (event::AccessAttr access : accesses)
      visit(Body::uncut(access, task, step), memory.extents,
            [&](ArrayRef<int64_t> index) {
              marks[memory.numberOf(index)] = true;
            });
  };
  mark(memory.argument.reads, reads);
  mark(memory.argument.writes, writes);
  box = Body::cut(memory.argument.first, task, step, memory.extents);
}

void Place::fill(Variation variation) {
  for (size_t i = 0; i < memory.elements(); ++i)
    std::memcpy(memory.element(i), filled(variation, i), bytes);
}

std::string Check::stated(size_t argument, bool write) const {
  const Argument &of = body.arguments[argument];
  std::string boxes;
  for (event::AccessAttr access : write ? of.writes : of.reads)
    boxes +=
        (boxes.empty() ? "" : " and ") +
        Body::cut(access, task, shape->step, shape->extents[argument]).text();
  return boxes.empty() ? "nothing of it" : boxes;
}

std::string Check::statedBoxes() const {
  std::string all;
  for (auto [argument, extents] : llvm::zip(body.arguments, shape->extents))
    all += (all.empty() ? "@" : ", @") + argument.name +
           Body::cut(argument.first, task, shape->step, extents).text();
  return all;
}

void Check::callTask() {
  std::vector<int64_t> words;
  for (Place &place : places)
    place.memory.append(place.box, words);
  call(words);
}

Check::Results Check::results(Variation variation) {
  for (Place &place : places)
    place.fill(variation);
  callTask();
  Results all;
  for (Place &place : places)
    all.emplace_back(place.memory.data(),
                     place.memory.data() + place.memory.sizeInBytes());
  return all;
}

/// After a run: what is none of the task's to write is as it was.
void Check::findStrayWrites(Variation variation) {
  for (auto [argument, place] : llvm::enumerate(places))
    for (size_t i = 0; i < place.memory.elements(); ++i)
      if (!place.isOutput(i) && !place.holds(i, place.filled(variation, i)))
        return fault("writes outside", nameOf(argument) + ": writes " +
                                           nameOf(Element{argument, i}) +
                                           ", and states to write " +
                                           stated(argument, /*write=*/true));
}

/// The first element of the results that differs; with `unlessKept`, of those
/// that were written at all.
std::optional<Element>
Check::difference(const Results &one, const Results &other, bool unlessKept) {
  for (auto [argument, place] : llvm::enumerate(places))
    for (size_t i = 0; i < place.memory.elements(); ++i) {
      if (!place.isOutput(i))
        continue;
      const char *a = one[argument].data() + i * place.bytes,
                 *b = other[argument].data() + i * place.bytes;
      if (std::memcmp(a, b, place.bytes) == 0)
        continue;
      if (unlessKept &&
          !std::memcmp(a, place.filled(kVariations[0], i), place.bytes) &&
          !std::memcmp(b, place.filled(kVariations[kOld], i), place.bytes))
        continue;
      return Element{argument, i};
    }
  return std::nullopt;
}

void Check::findUnwritten(const Results &first, const Results &other) {
  for (auto [argument, place] : llvm::enumerate(places)) {
    if (place.memory.argument.mayWrite())
      continue;
    for (size_t i = 0; i < place.memory.elements(); ++i)
      if (place.isOutput(i) && !place.isInput(i) &&
          !std::memcmp(first[argument].data() + i * place.bytes,
                       place.filled(kVariations[0], i), place.bytes) &&
          !std::memcmp(other[argument].data() + i * place.bytes,
                       place.filled(kVariations[kOld], i), place.bytes))
        return fault("leaves unwritten", nameOf(argument) +
                                             ": does not write " +
                                             nameOf(Element{argument, i}) +
                                             ", and states to write all of " +
                                             stated(argument, /*write=*/true));
  }
}

/// Looks for one element outside of what the task reads that its results depend
/// on: of those with other contents, one half after the other gets them.
void Check::findOutsideReads(const Results &first, Variation variation) {
  std::vector<Element> suspects;
  for (auto [argument, place] : llvm::enumerate(places))
    for (size_t i = 0; i < place.memory.elements(); ++i)
      if (!place.isInput(i) && !place.isOutput(i))
        suspects.push_back({argument, i});
  std::optional<Element> changed = difference(first, results(variation));
  if (!changed)
    return;
  auto depends = [&](ArrayRef<Element> on) -> std::optional<Element> {
    for (Place &place : places)
      place.fill(kVariations[0]);
    for (Element element : on) {
      Place &place = places[element.argument];
      std::memcpy(place.memory.element(element.number),
                  place.filled(variation, element.number), place.bytes);
    }
    callTask();
    Results now;
    for (Place &place : places)
      now.emplace_back(place.memory.data(),
                       place.memory.data() + place.memory.sizeInBytes());
    return difference(first, now);
  };
  ArrayRef<Element> rest(suspects);
  while (rest.size() > 1) {
    ArrayRef<Element> half = rest.take_front(rest.size() / 2);
    if (auto seen = depends(half)) {
      rest = half;
      changed = seen;
    } else if (auto seen = depends(rest.drop_front(half.size()))) {
      rest = rest.drop_front(half.size());
      changed = seen;
    } else {
      break;
    }
  }
  size_t argument = rest.front().argument;
  fault("reads outside", nameOf(argument) + ": reads " + nameOf(rest.front()) +
                             ", on which " + nameOf(*changed) +
                             " depends, and states to read " +
                             stated(argument, /*write=*/false));
}

void Check::run(ArrayRef<int64_t> which) {
  task = Index(which);
  say("states to touch " + statedBoxes() + "; task " + text(task) + " with " +
      body.text(*shape));
  ++tasks;
  for (Place &place : places)
    place.state(body, task, shape->step);
  std::vector<Results> all;
  for (Variation variation : kVariations) {
    all.push_back(results(variation));
    findStrayWrites(variation);
  }
  findUnwritten(all[0], all[kOld]);
  if (auto changed = difference(all[0], all[kOld], /*unlessKept=*/true))
    fault("reads what it writes",
          nameOf(changed->argument) + ": " + nameOf(*changed) +
              " depends on what lay in " + stated(changed->argument, true) +
              " before, which the task states to write alone");
  for (unsigned outside : kOutside)
    if (difference(all[0], all[outside]))
      findOutsideReads(all[0], kVariations[outside]);
}

/// No two tasks write one element.
void Check::findOverlaps(const std::vector<Index> &all) {
  for (auto [argument, place] : llvm::enumerate(places)) {
    std::map<size_t, const Index *> writers;
    for (const Index &one : all)
      for (event::AccessAttr access : place.memory.argument.writes)
        visit(Body::uncut(access, one, shape->step), place.memory.extents,
              [&](ArrayRef<int64_t> index) {
                size_t number = place.memory.numberOf(index);
                const Index *&writer = writers[number];
                if (writer && *writer != one) {
                  task = one;
                  fault("tasks overlap", nameOf(argument) + ": tasks " +
                                             text(*writer) + " and " +
                                             text(one) + " both write " +
                                             nameOf(Element{argument, number}));
                }
                writer = &one;
              });
  }
}

void Check::run(const Shape &of, bool spread) {
  constexpr size_t most = 16;
  shape = &of;
  places.clear();
  for (auto [argument, extents] : llvm::zip(body.arguments, of.extents))
    places.emplace_back(argument, extents, spread, random);
  std::vector<Index> all = body.tasks(of.step);
  findOverlaps(all);
  // Of many tasks the first ones, the last ones and some between them.
  std::set<size_t> chosen;
  for (size_t i = 0; i < all.size() && i < most / 4; ++i)
    chosen.insert({i, all.size() - 1 - i});
  while (chosen.size() < std::min(most, all.size()))
    chosen.insert(random.below(int64_t(all.size())));
  for (size_t number : chosen)
    run(all[number]);
}

Expected<std::vector<Verdict>> checks::checkRegions(const Body &body,
                                                    const Options &options) {
  auto shapes = Shapes::of(body);
  if (!shapes)
    return shapes.takeError();
  if (Error error = shapes->give(options.sizes))
    return std::move(error);
  auto call = compileForCpu(body, options.libraries);
  if (!call)
    return call.takeError();
  auto outcome = runInChild([&](Say say) {
    Check check(body, *call, options, say);
    Random random(options.seed);
    for (unsigned i = 0; i < options.shapes; ++i)
      check.run(shapes->draw(i, random), /*spread=*/i % 3 == 1);
    return nlohmann::json({{"faults", check.faults}, {"tasks", check.tasks}})
        .dump();
  });
  if (!outcome)
    return outcome.takeError();
  std::vector<Verdict> verdicts;
  if (!outcome->crash.empty()) {
    verdicts.push_back(
        {Verdict::fault, outcome->crash + "; " + outcome->where});
    return verdicts;
  }
  auto result = nlohmann::json::parse(outcome->result);
  for (auto &[kind, what] :
       result["faults"].get<std::map<std::string, std::string>>())
    verdicts.push_back({Verdict::fault, what});
  if (verdicts.empty())
    verdicts.push_back(
        {Verdict::ok, std::to_string(result["tasks"].get<int>()) +
                          " tasks of " + std::to_string(options.shapes) +
                          " shapes"});
  return verdicts;
}
