//===- lazy_items.cpp - generators ----------------------------------------===//

#include "runtime/jinja/lazy_items.h"

namespace baton::jinja {

namespace {

class Generator : public Iterator {
public:
  Generator(const Value &source, std::function<bool(Value &)> advance)
      : Iterator("generator"), advance(std::move(advance)) {
    holds(source);
  }

  bool next(Value &item) override {
    if (running)
      throw Failure("generator already executing");
    if (!advance)
      return false;
    running = true;
    bool found = false;
    try {
      found = advance(item);
    } catch (...) {
      // A generator that fails has ended.
      running = false;
      advance = nullptr;
      throw;
    }
    running = false;
    if (!found)
      advance = nullptr;
    return found;
  }

private:
  std::function<bool(Value &)> advance;
  bool running = false;
};

} // namespace

Value lazy(const Value &source, std::function<bool(Value &)> next) {
  return Value(std::static_pointer_cast<Object>(
      std::make_shared<Generator>(source, std::move(next))));
}

Value lazy_any_items(Rendering &rendering, const Value &source,
                     std::function<bool(Value &)> take) {
  std::shared_ptr<Iterator> iterator;
  return lazy(source, [&rendering, source, iterator,
                       take = std::move(take)](Value &item) mutable {
    if (!iterator)
      iterator = iterate(source);
    while (iterator->next(item)) {
      rendering.step();
      if (take(item))
        return true;
    }
    return false;
  });
}

Value lazy_items(Rendering &rendering, const Value &source,
                 std::function<bool(Value &)> take) {
  if (!truth_of(source))
    return lazy(source, [](Value &) { return false; });
  return lazy_any_items(rendering, source, std::move(take));
}

Value lazy_later(const Value &source,
                 std::function<Value(const Value &)> make) {
  std::shared_ptr<Iterator> iterator;
  return lazy(source,
              [source, iterator, make = std::move(make)](Value &item) mutable {
                if (!iterator) {
                  if (!truth_of(source))
                    return false;
                  iterator = iterate(make(source));
                }
                return iterator->next(item);
              });
}

} // namespace baton::jinja
