//===- loop.h - the variable `loop` ---------------------------------------===//

#ifndef BATON_RUNTIME_JINJA_LOOP_H
#define BATON_RUNTIME_JINJA_LOOP_H

#include "runtime/jinja/rendering.h"

#include <functional>
#include <memory>

namespace baton::jinja {

/// jinja2.runtime.LoopContext. The next item is fetched early only where the
/// template asks for it, or whether there is one.
class Loop : public Callable, public std::enable_shared_from_this<Loop> {
public:
  /// `recurse` is null but in a recursive loop.
  Loop(const Value &items, size_t depth,
       std::function<Value(const Value &items)> recurse);

  bool advance(Value &item);

  Value call(Rendering &rendering, Arguments arguments) override;
  Value attribute(Rendering &rendering, std::string_view name) override;
  std::string shown() override;
  std::optional<size_t> length() override;

private:
  const Value &peek();
  Value cycle(Arguments arguments);
  bool changed(Rendering &rendering, Arguments arguments);

  Value items;
  std::shared_ptr<Iterator> iterator;
  const size_t depth_before;
  const std::function<Value(const Value &)> recurse;
  /// How many items were begun.
  size_t index = 0;
  std::optional<size_t> known_length;
  Value before, current, after, last_changed;
};

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_LOOP_H
