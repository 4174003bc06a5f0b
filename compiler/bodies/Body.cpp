//===- Body.cpp - a task body, as what it states --------------------------===//

#include "compiler/bodies/Body.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace baton;
using namespace baton::checks;

static std::string joined(ArrayRef<int64_t> numbers, StringRef separator) {
  return llvm::join(
      llvm::map_range(numbers,
                      [](int64_t number) { return std::to_string(number); }),
      separator);
}

std::string checks::text(ArrayRef<int64_t> index) {
  return "(" + joined(index, ", ") + ")";
}

bool Box::contains(ArrayRef<int64_t> index) const {
  for (auto [i, l, h] : llvm::zip(index, low, high))
    if (i < l || i >= h)
      return false;
  return true;
}

std::string Box::text() const {
  std::string result;
  for (auto [l, h] : llvm::zip(low, high))
    result += (result.empty() ? "[" : ", ") + std::to_string(l) + ".." +
              std::to_string(h);
  return result + "]";
}

bool Argument::isDense() const {
  return cast<StridedLayoutAttr>(type.getLayout()).getStrides().back() == 1;
}

unsigned Argument::elementBytes() const {
  return type.getElementTypeBitWidth() / 8;
}

bool Argument::mayWrite() const {
  return llvm::any_of(writes,
                      [](event::AccessAttr access) { return access.getMay(); });
}

Body::Body(event::BodyOp op)
    : op(op), name(op.getSymName()), grid(op.getGrid()) {
  Block &block = op.getBody().front();
  for (auto [stated, argument] :
       llvm::zip(op.getStatedArguments(), block.getArguments())) {
    StringRef buffer = stated.access.getBuffer().getValue();
    Argument &added = arguments.emplace_back();
    added.name = buffer;
    added.type = cast<MemRefType>(argument.getType());
    added.first = stated.access;
    for (event::AccessAttr access : op.getAccessAttrs())
      if (access.getBuffer().getValue() == buffer)
        (access.getWrite() ? added.writes : added.reads).push_back(access);
  }
}

std::vector<Index> Body::tasks(const Step &step) const {
  std::vector<Index> all = {Index()};
  for (int64_t extent : event::evaluate(grid, {}, step.symbols())) {
    std::vector<Index> longer;
    for (const Index &task : all)
      for (int64_t at = 0; at < extent; ++at) {
        longer.push_back(task);
        longer.back().push_back(at);
      }
    all = std::move(longer);
  }
  return all;
}

Box Body::uncut(event::AccessAttr access, ArrayRef<int64_t> task,
                const Step &step) {
  return {Index(event::evaluate(access.getLow(), task, step.symbols())),
          Index(event::evaluate(access.getHigh(), task, step.symbols()))};
}

Box Body::cut(event::AccessAttr access, ArrayRef<int64_t> task,
              const Step &step, ArrayRef<int64_t> extents) {
  Box box = uncut(access, task, step);
  for (auto [high, extent] : llvm::zip(box.high, extents))
    high = std::min(high, extent);
  return box;
}

std::string Body::text(const Shape &shape) const {
  std::string result = "rows " + std::to_string(shape.step.rows) + ", past " +
                       std::to_string(shape.step.past) + ", outputs " +
                       std::to_string(shape.step.outputs);
  for (auto [argument, extents] : llvm::zip(arguments, shape.extents))
    result += ", @" + argument.name + " " + joined(extents, " x ");
  return result;
}
