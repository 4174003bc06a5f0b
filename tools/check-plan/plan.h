//===- plan.h - a plan as check-plan reads it -----------------------------===//
//
// docs/event-dialect.md lists its form as JSON.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_CHECK_PLAN_PLAN_H
#define BATON_TOOLS_CHECK_PLAN_PLAN_H

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace baton::check {

/// A plan that cannot be read, or a number that nobody can compute.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Its parts, one behind the other.
template <typename... Parts> std::string text(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

constexpr size_t max_dimensions = 8;

/// A number for each dimension of a buffer, an event, a grid or a mesh.
struct Index {
  std::array<int64_t, max_dimensions> at{};
  size_t rank = 0;

  int64_t &operator[](size_t d) { return at[d]; }
  int64_t operator[](size_t d) const { return at[d]; }
  auto operator<=>(const Index &) const = default;
};
/// "[3, 5]"
std::ostream &operator<<(std::ostream &stream, const Index &index);
/// Product of extents from a dimension on; nothing is less than none.
int64_t volume(const Index &extents, size_t from = 0);
/// The index of an element, by its number in their order.
Index unflatten(int64_t number, const Index &extents);
/// The number of an element; nothing outside of the extents.
std::optional<int64_t> flatten(const Index &index, const Index &extents);
/// To the next index of a box, `by` further along one dimension; at the end
/// back to the first, and false. Dimensions from `rank` on stay.
bool step(Index &index, const Index &low, const Index &high, size_t rank,
          size_t along = max_dimensions, int64_t by = 1);

/// What is known of a step before it runs.
struct Symbols {
  int64_t rows = 1, past = 0, outputs = 1;

  auto operator<=>(const Symbols &) const = default;
};

/// `d0 * 16 + past`, `(rows - 1) floordiv 4`, of d0, d1, ..., rows, past,
/// outputs, whole numbers, + - * floordiv ceildiv mod and parentheses.
class Expression {
public:
  explicit Expression(const std::string &text = "0");

  int64_t evaluate(const Symbols &symbols, const Index &coordinates = {}) const;

  /// One more than the greatest coordinate that it names.
  size_t dimensions = 0;
  bool names_past = false;

private:
  friend class ExpressionParser;
  /// Operands before operators: +, -, *, / and ^ for floordiv and ceildiv, and
  /// %. A constant is c, a coordinate d, and what is known of a step s.
  struct Step {
    char op;
    int64_t value;
  };
  std::vector<Step> steps;
};
using Expressions = std::vector<Expression>;
Index evaluate(const Expressions &expressions, const Symbols &symbols,
               const Index &coordinates = {});

/// Integers that tasks index by, of which a step has one instance.
struct Table {
  enum class Property { Any, Distinct, Partition };
  uint32_t buffer = 0;
  /// Values lie in [low, high).
  Expression low, high;
  Property property = Property::Any;
};

/// An element of a table, by a task's coordinates.
struct Entry {
  uint32_t table = 0;
  Expression place;
};

struct Access {
  bool write = false;
  /// A write that need not happen: it disturbs, and leaves nothing to read. A
  /// read that uses only what was written.
  bool may = false;
  /// A read that happens if a flag is set, which the first of a step finds
  /// unset.
  bool conditional = false;
  uint32_t buffer = 0;
  Expressions low, high;
};

struct Wait {
  uint32_t event = 0;
  int64_t distance = 0;
  Expressions low, high;
};

struct Transfer {
  uint32_t send, receive;
  Expression elements, part;
};

struct Exchange {
  bool gathers = false;
  /// Rows go to experts of other ranks, or back from them, as tables say:
  /// places of own rows are all of one tensor, those of experts as many as
  /// come.
  bool dispatches = false, combines = false;
  /// Of these: the table of where rows of experts begin.
  uint32_t received = 0;
  /// Axes of the mesh.
  std::vector<uint32_t> axes;
  std::vector<Transfer> transfers;
};

struct Message {
  bool sends = false;
  /// 1 to the next place of the axis, -1 to the one before.
  int64_t direction = 1;
  uint32_t axis = 0;
  std::string channel;
  std::vector<uint32_t> tensors;
};

struct Phase {
  std::string name;
  uint32_t segment = 0;
  Expressions grid;
  Index capacity;
  bool cyclic = false;
  /// Workers take tasks, so that any of them may have any.
  bool ticket = false;
  Expression tile_rows;
  int64_t tile_size = 1;
  bool ahead = false;
  /// Coordinates of accesses behind those of the grid.
  std::vector<Entry> entries;
  std::vector<Access> accesses;
  std::vector<Wait> waits;
  std::optional<uint32_t> notifies;
  Expressions word;
  std::optional<Exchange> exchange;
  std::optional<Message> message;
  /// What it hands to the runtime.
  std::optional<uint32_t> advances;

  bool meets_ranks() const { return exchange || message; }
};

struct Segment {
  std::string name;
  int64_t repeat = 1;
  bool reverse = false;
  std::vector<uint32_t> phases;
};

struct Storage {
  enum class Scope { Transient, Rank, Stage };
  std::string name;
  int64_t bytes = 0;
  Scope scope = Scope::Transient;
  /// "", "flight", "microbatch" or "chunk"
  std::string slot;
};

struct Buffer {
  enum class Kind { Transient, State, Input, Persistent };
  enum class Carry { Step, Kept, Renewed, Shared };
  std::string name;
  Kind kind = Kind::Transient;
  Carry carry = Carry::Step;
  int64_t element_bytes = 4;
  Expressions extents;
  Index capacity, strides;
  uint32_t storage = 0;
  int64_t offset = 0, layers = 1, layer_stride = 0;
  bool ring = false;
  int64_t interleave = 1, interleave_columns = 1;
  /// Of a state in pages: indices of one, and how far apart they are. A step's
  /// rows are in the first ones, in order: that slots are distinct is the
  /// runtime's to see.
  int64_t page = 0, page_stride = 0;

  /// Where an element lies in its storage, in elements.
  int64_t address(const Index &index, int64_t copy) const;
};

struct Event {
  std::string name;
  Expressions shape;
  Index capacity;
  Expression count;
  bool system = false;
  /// The phase that notifies it.
  std::optional<uint32_t> notifier;
};

/// What each worker runs of a step, in order.
struct Schedule {
  struct Task {
    uint32_t phase;
    int64_t iteration;
    Index coordinates;
  };
  Symbols symbols;
  std::vector<std::vector<Task>> workers;
};

struct Program {
  std::string name;
  int64_t max_rows = 1, max_seq = 1, max_outputs = 1;
  /// Of the mesh; ranks of batch axes have rows of their own.
  std::vector<std::string> axes;
  Index sizes;
  std::vector<bool> batch;
  std::vector<Storage> storages;
  std::vector<Buffer> buffers;
  std::vector<Event> events;
  std::vector<Table> tables;
  std::vector<Segment> segments;
  /// In order of rank.
  std::vector<Phase> phases;
  std::vector<Schedule> schedules;
  bool names_past = false;
};

/// A program that a rank runs in a step, and which of several places of its
/// memory it uses.
struct Call {
  uint32_t program = 0;
  int64_t chunk = 0, microbatch = 0, slot = 0;

  auto operator<=>(const Call &) const = default;
};

struct Plan {
  std::vector<Program> programs;
  bool training = false;
  /// Of each place of the axis the calls of a step; without an axis a step is
  /// one program.
  std::string axis;
  std::vector<std::vector<Call>> places;
};

/// Throws Error for what is no plan.
Plan parse_plan(const nlohmann::json &json);

} // namespace baton::check

#endif // BATON_TOOLS_CHECK_PLAN_PLAN_H
