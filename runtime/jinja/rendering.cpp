//===- rendering.cpp - what one rendering may use, and has used -----------===//

#include "runtime/jinja/rendering.h"

namespace baton::jinja {

Rendering::~Rendering() {
  for (const auto &space : namespaces)
    space->attributes.reset();
}

void Rendering::make(uint64_t count, uint64_t size) {
  if (size > 0 && count > limits.bytes / size)
    fail_bytes();
  make(count * size);
}

std::shared_ptr<Namespace> Rendering::make_namespace() {
  make(sizeof(Namespace));
  return namespaces.emplace_back(std::make_shared<Namespace>());
}

void Rendering::fail_steps() const {
  throw Failure("the template takes more than " + std::to_string(limits.steps) +
                " steps");
}

void Rendering::fail_bytes() const {
  throw Failure("the template uses more than " + std::to_string(limits.bytes) +
                " bytes");
}

void Rendering::fail_depth() {
  // The destructor of a level that could not be entered is not called.
  --depth;
  throw Failure("the template recurses more than " +
                std::to_string(limits.depth) + " deep");
}

std::vector<Value> items_of(Rendering &rendering, const Value &value) {
  std::vector<Value> items;
  const std::shared_ptr<Iterator> iterator = iterate(value);
  for (Value item; iterator->next(item);) {
    rendering.step();
    rendering.make(sizeof(Value));
    items.push_back(item);
  }
  return items;
}

} // namespace baton::jinja
