//===- rendering.h - what one rendering may use, and has used -------------===//
//
// A template is code, and what it renders comes from strangers: whatever takes
// time, memory or stack asks here first, and past a limit the rendering fails.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_JINJA_RENDERING_H
#define BATON_RUNTIME_JINJA_RENDERING_H

#include "runtime/jinja/value.h"

#include <cstdint>
#include <ctime>
#include <memory>
#include <vector>

namespace baton::jinja {

struct RenderLimits {
  /// Expressions, statements and items.
  uint64_t steps = 50'000'000;
  /// Of all texts and lists that are made or read on the way, and of the
  /// result.
  uint64_t bytes = uint64_t(2) << 30;
  /// Of expressions and statements within one another, through calls.
  uint32_t depth = 1000;
};

class Rendering {
public:
  Rendering(const RenderLimits &limits, const std::tm &now)
      : now(now), limits(limits) {}
  /// Namespaces can hold each other.
  ~Rendering();
  Rendering(const Rendering &) = delete;
  Rendering &operator=(const Rendering &) = delete;

  void step(uint64_t count = 1) {
    steps += count;
    if (steps > limits.steps)
      fail_steps();
  }
  /// Before they are made.
  void make(uint64_t count) {
    bytes += count;
    if (bytes > limits.bytes || count > limits.bytes)
      fail_bytes();
  }
  /// What `count` times `size` bytes take.
  void make(uint64_t count, uint64_t size);

  std::shared_ptr<Namespace> make_namespace();

  /// One level of recursion.
  class Level {
  public:
    explicit Level(Rendering &rendering) : rendering(rendering) {
      if (++rendering.depth > rendering.limits.depth)
        rendering.fail_depth();
    }
    ~Level() { --rendering.depth; }
    Level(const Level &) = delete;
    Level &operator=(const Level &) = delete;

  private:
    Rendering &rendering;
  };

  /// The local time, of strftime_now().
  const std::tm now;

private:
  [[noreturn]] void fail_steps() const;
  [[noreturn]] void fail_bytes() const;
  [[noreturn]] void fail_depth();

  const RenderLimits limits;
  uint64_t steps = 0, bytes = 0;
  uint32_t depth = 0;
  std::vector<std::shared_ptr<Namespace>> namespaces;
};

/// The items of what can be iterated over.
std::vector<Value> items_of(Rendering &rendering, const Value &value);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_RENDERING_H
