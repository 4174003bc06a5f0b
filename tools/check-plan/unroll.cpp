//===- unroll.cpp - the tasks of one program in one step ------------------===//

#include "tools/check-plan/unroll.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

using namespace baton::check;

static constexpr int64_t max_tasks = 1 << 26, max_words = 1 << 25;

Bounds::Bounds(const Expressions &from, const Expressions &to,
               const Index &shape, const Index &at, const Symbols &symbols)
    : low(evaluate(from, symbols, at)), high(evaluate(to, symbols, at)) {
  for (size_t d = 0; d < shape.rank; ++d) {
    low[d] = std::max<int64_t>(0, low[d]);
    high[d] = std::min(shape[d], high[d]);
    count *= std::max<int64_t>(0, high[d] - low[d]);
  }
}

int64_t Bounds::flatten(int64_t element, const Index &shape) const {
  int64_t number = 0, scale = 1;
  for (size_t d = shape.rank; d-- > 0; scale *= shape[d]) {
    const int64_t extent = high[d] - low[d];
    number += (low[d] + element % extent) * scale;
    element /= extent;
  }
  return number;
}

std::string Unrolled::name(size_t task) const {
  const Phase &of = phase(task);
  std::string name = text("phase '", of.name, "' ", coordinates(task));
  if (program->segments[of.segment].repeat > 1)
    name += text(" in iteration ", tasks[task].iteration);
  return name;
}

std::string Unrolled::word_name(size_t word) const {
  size_t event = 0;
  while (word >= counters[event].word(counters[event].words))
    ++event;
  const Counters &of = counters[event];
  const int64_t number = (word - of.first) / (of.repeat + 1);
  return text("@", program->events[event].name, unflatten(number, of.shape));
}

namespace {
class Unroller {
public:
  Unroller(const Program &program, const Call &call, const Symbols &symbols,
           Regions &regions, Findings &findings)
      : program(program), regions(regions), findings(findings) {
    result.program = &program;
    result.call = call;
    result.symbols = symbols;
    for (const Buffer &buffer : program.buffers)
      result.extents.push_back(
          values("buffer @" + buffer.name, buffer.extents, buffer.capacity));
    for (const Phase &phase : program.phases)
      result.grids.push_back(
          values("phase '" + phase.name + "'", phase.grid, phase.capacity));
    number_words();
    check_scopes();
    draw_tables();
    notifications.resize(result.iterations);
    for (const Segment &segment : program.segments)
      for (int64_t i = 0; i < segment.repeat; ++i)
        for (uint32_t phase : segment.phases)
          add_tasks(phase, uint32_t(i));
    check_notifications();
    for (uint32_t number = 0; number < program.buffers.size(); ++number)
      if (program.buffers[number].kind != Buffer::Kind::Input)
        keep_values(number);
  }

  Unrolled result;

private:
  int64_t value(const Expression &expression) const {
    return expression.evaluate(result.symbols);
  }
  Index values(const std::string &what, const Expressions &expressions,
               const Index &capacity) {
    const Index numbers = evaluate(expressions, result.symbols);
    for (size_t d = 0; d < std::min(capacity.rank, numbers.rank); ++d)
      if (numbers[d] > capacity[d])
        findings.add("bounds", program.name + what, what, " has ", numbers,
                     ", more than its capacity ", capacity);
    return numbers;
  }

  void number_words() {
    for (const Event &event : program.events) {
      Counters &of = result.counters.emplace_back();
      of.shape = values("event @" + event.name, event.shape, event.capacity);
      of.count = value(event.count);
      if (event.notifier) {
        of.segment = program.phases[*event.notifier].segment;
        of.repeat = program.segments[of.segment].repeat;
      }
      of.words = volume(of.shape);
      of.first = result.iterations;
      result.iterations = of.word(of.words);
      if (of.words > max_words || result.iterations > size_t(max_words))
        throw Error("program @" + program.name + " has too many events");
    }
    for (const Phase &phase : program.phases)
      for (const Wait &wait : phase.waits)
        result.counters[wait.event].partial |=
            result.counters[wait.event].segment == phase.segment;
  }

  /// Other ranks read and write what an exchange moves.
  void check_scopes() {
    for (const Phase &phase : program.phases) {
      auto check = [&](uint32_t number, const char *what) {
        const Event &event = program.events[number];
        if (phase.exchange && !event.system)
          findings.add("scope", phase.name + event.name, "phase '", phase.name,
                       "' exchanges and ", what, " @", event.name,
                       ", whose scope is device");
      };
      for (const Wait &wait : phase.waits)
        check(wait.event, "waits for");
      if (phase.notifies)
        check(*phase.notifies, "notifies");
    }
  }

  void add_tasks(uint32_t number, uint32_t iteration) {
    const Phase &phase = program.phases[number];
    const int64_t count = volume(result.grids[number]);
    if (count + int64_t(result.tasks.size()) > max_tasks)
      throw Error("program @" + program.name + " has too many tasks");
    for (int64_t tile = 0; tile < count; ++tile) {
      task = uint32_t(result.tasks.size());
      result.tasks.push_back({number, iteration, uint32_t(tile),
                              Unrolled::no_word, result.touches.size()});
      Index at = result.coordinates(task);
      if (phase.notifies)
        notify(phase, at);
      if (result.is_idle(task) || !add_entries(phase, at))
        continue;
      for (const Access &access : phase.accesses)
        add_access(access, at);
      if (phase.exchange)
        for (const Transfer &transfer : phase.exchange->transfers)
          add_transfer(*phase.exchange, transfer);
      if (phase.message)
        for (uint32_t tensor : phase.message->tensors)
          add_tensor(tensor, !phase.message->sends);
      if (phase.advances)
        add_tensor(*phase.advances, false);
    }
  }

  /// Values that the property allows, others for each step and iteration.
  std::vector<int64_t> draw(const Table &table, std::mt19937_64 &random) {
    const int64_t count = result.extents[table.buffer][0],
                  low = value(table.low), high = value(table.high);
    const bool partition = table.property == Table::Property::Partition,
               distinct = table.property == Table::Property::Distinct;
    std::vector<int64_t> values;
    // Where there are no such values, no step has the table.
    if (high - low < (distinct ? count : 1) || high - low > max_tasks)
      return values;
    if (distinct) {
      values.resize(high - low);
      std::iota(values.begin(), values.end(), low);
      std::shuffle(values.begin(), values.end(), random);
      values.resize(count);
      return values;
    }
    for (int64_t place = 0; place < count; ++place)
      values.push_back(low + int64_t(random() % uint64_t(high - low)));
    if (partition && count > 0) {
      values.front() = low;
      values.back() = high - 1;
      std::sort(values.begin(), values.end());
    }
    return values;
  }

  /// An instance of each table; where a task writes it, one for each iteration.
  void draw_tables() {
    for (uint32_t number = 0; number < program.tables.size(); ++number) {
      const Table &table = program.tables[number];
      Instances &of = instances.emplace_back();
      for (const Phase &phase : program.phases)
        for (const Access &access : phase.accesses)
          if (access.write && access.buffer == table.buffer && !phase.advances)
            of.segment = phase.segment;
      std::mt19937_64 random(uint64_t(result.symbols.rows * 1000003 +
                                      result.symbols.past * 101 +
                                      result.symbols.outputs + number));
      const int64_t repeat =
          of.segment ? program.segments[*of.segment].repeat : 1;
      for (int64_t i = 0; i < repeat; ++i)
        of.values.push_back(draw(table, random));
    }
  }

  /// What an iteration of a segment finds in a table.
  const std::vector<int64_t> &instance(uint32_t table, uint32_t segment,
                                       int64_t iteration) const {
    const Instances &of = instances[table];
    if (!of.segment)
      return of.values.front();
    const Segment &writing = program.segments[*of.segment],
                  &reading = program.segments[segment];
    if (*of.segment == segment)
      return of.values[iteration];
    // What the last iteration has left, or that of its own copy.
    if (program.buffers[program.tables[table].buffer].layers == 1 ||
        writing.repeat != reading.repeat)
      return of.values.back();
    const bool turned = writing.reverse != reading.reverse;
    return of.values[turned ? writing.repeat - 1 - iteration : iteration];
  }

  /// Coordinates behind the task's own; false where a table has none.
  bool add_entries(const Phase &phase, Index &at) {
    const Index own = at;
    for (const Entry &entry : phase.entries) {
      const std::vector<int64_t> &values =
          instance(entry.table, phase.segment, result.tasks[task].iteration);
      const int64_t place = entry.place.evaluate(result.symbols, own);
      const Buffer &buffer =
          program.buffers[program.tables[entry.table].buffer];
      if (place < 0 || place >= int64_t(values.size())) {
        if (!values.empty())
          findings.add("bounds", phase.name + buffer.name, result.name(task),
                       " has an entry @", buffer.name, "[", place,
                       "], which is not there");
        return false;
      }
      at[at.rank++] = values[place];
      if (!states_read(phase, program.tables[entry.table].buffer, place, own))
        findings.add("bounds", phase.name + buffer.name, result.name(task),
                     " has an entry @", buffer.name, "[", place,
                     "], of which it states no read");
    }
    return true;
  }

  /// By an access whose box takes no entries, which could lie anywhere.
  bool states_read(const Phase &phase, uint32_t buffer, int64_t place,
                   const Index &own) const {
    return std::any_of(
        phase.accesses.begin(), phase.accesses.end(),
        [&](const Access &access) {
          if (access.write || access.buffer != buffer)
            return false;
          for (const Expressions *side : {&access.low, &access.high})
            for (const Expression &bound : *side)
              if (bound.dimensions > own.rank)
                return false;
          const Bounds box(access.low, access.high, result.extents[buffer], own,
                           result.symbols);
          return box.low[0] <= place && place < box.high[0];
        });
  }

  void notify(const Phase &phase, const Index &at) {
    const Counters &of = result.counters[*phase.notifies];
    const Index index = evaluate(phase.word, result.symbols, at);
    const std::optional<int64_t> word = flatten(index, of.shape);
    if (!word)
      return findings.add("count", phase.name, result.name(task), " notifies @",
                          program.events[*phase.notifies].name, index,
                          ", outside of its shape ", of.shape);
    result.tasks[task].word = uint32_t(of.word(*word));
    ++notifications[of.word(*word) + result.tasks[task].iteration];
  }

  /// Of the layer that the task works on; nothing when there is no such copy.
  std::optional<Touch> copy_of(uint32_t number) {
    const Buffer &buffer = program.buffers[number];
    const Phase &phase = result.phase(task);
    const Segment &segment = program.segments[phase.segment];
    Touch touch{Regions::none, number, 0};
    if (buffer.layers == 1)
      return touch;
    const int64_t iteration = result.tasks[task].iteration + phase.ahead;
    touch.layer = segment.reverse ? segment.repeat - 1 - iteration : iteration;
    if (touch.layer < buffer.layers || buffer.ring)
      return touch;
    findings.add("bounds", phase.name + buffer.name, result.name(task),
                 " touches copy ", touch.layer, " of @", buffer.name,
                 ", which has ", buffer.layers);
    return {};
  }

  /// Whether there is such a box; it becomes the touch's.
  bool take_box(Touch &touch, const Index &low, const Index &high) {
    const Buffer &buffer = result.buffer(touch);
    for (size_t d = 0; d < high.rank; ++d)
      if (high[d] > buffer.capacity[d]) // Reported already.
        return false;
    const size_t before = regions.count_boxes();
    touch.box = regions.add(result.call, touch.buffer,
                            touch.layer % buffer.layers, low, high);
    const Storage &storage = result.storage(touch);
    if (regions.count_boxes() > before)
      if (const int64_t end = regions.end(touch.box); end > storage.bytes)
        findings.add("bounds", program.name + buffer.name, "@", buffer.name,
                     low, " to ", high, " ends ", end,
                     " bytes into its storage @", storage.name, ", which has ",
                     storage.bytes);
    return touch.box != Regions::none;
  }

  void add_access(const Access &access, const Index &at) {
    const Phase &phase = result.phase(task);
    const Buffer &buffer = program.buffers[access.buffer];
    if (buffer.kind == Buffer::Kind::Input) {
      if (access.write)
        findings.add("bounds", phase.name, result.name(task),
                     " writes the input @", buffer.name);
      return;
    }
    std::optional<Touch> touch = copy_of(access.buffer);
    if (!touch)
      return;
    const Bounds box(access.low, access.high, result.extents[access.buffer], at,
                     result.symbols);
    if (!take_box(*touch, box.low, box.high))
      return;
    touch->write = access.write;
    touch->conditional = access.conditional;
    // What leaves values there of an exchange is what it delivers, of an
    // advance what the runtime writes at the border.
    touch->may =
        access.may || (access.write && (phase.meets_ranks() || phase.advances));
    result.touches.push_back(*touch);
    if (phase.advances && access.write)
      result.advance.push_back(*touch);
  }

  void add_moved(int64_t place, Touch touch, bool write, const Index &low,
                 const Index &high) {
    touch.write = write;
    if (take_box(touch, low, high))
      result.moved.push_back({task, place, touch});
  }

  void add_tensor(uint32_t tensor, bool write) {
    const Index &high = result.extents[tensor];
    if (std::optional<Touch> touch = copy_of(tensor))
      add_moved(-1, *touch, write, {{}, high.rank}, high);
  }

  void add_transfer(const Exchange &exchange, const Transfer &transfer) {
    int64_t ranks = 1;
    for (uint32_t axis : exchange.axes)
      ranks *= program.sizes[axis];
    const int64_t whole = value(transfer.elements), part = value(transfer.part);
    const std::optional<Touch> send = copy_of(transfer.send),
                               receive = copy_of(transfer.receive);
    if (!send || !receive)
      return;
    if (exchange.dispatches || exchange.combines)
      return add_rows(exchange, ranks, whole, part, *send, *receive);
    const int64_t row = volume(result.extents[transfer.receive], 1);
    for (int64_t place = 0; place < ranks; ++place) {
      const int64_t own = std::clamp<int64_t>(whole - place * part, 0, part);
      add_run(place, *send, false, 0, exchange.gathers ? own : whole);
      if (exchange.gathers)
        add_run(place, *receive, true, 0, whole);
      else
        for (int64_t from = 0; from < ranks; ++from)
          add_run(place, *receive, true, from * row, from * row + own);
    }
    if (whole > part * ranks)
      findings.add("exchange", result.phase(task).name, result.name(task),
                   " exchanges ", whole, " elements of @",
                   result.buffer(*send).name, " by ", part, ", of which ",
                   ranks, " ranks have not all");
  }

  /// All of the own rows, and those that experts get: behind them nothing is.
  void add_rows(const Exchange &exchange, int64_t ranks, int64_t own,
                int64_t row, const Touch &send, const Touch &receive) {
    const std::vector<int64_t> &received =
        instance(exchange.received, result.phase(task).segment,
                 result.tasks[task].iteration);
    if (received.size() < 2)
      return;
    const int64_t come = received[received.size() - 2] * row;
    for (int64_t place = 0; place < ranks; ++place) {
      add_run(place, send, false, 0, exchange.dispatches ? own : come);
      add_run(place, receive, true, 0, exchange.dispatches ? come : own);
    }
  }

  /// Elements from one on to another, in the order of their indices.
  void add_run(int64_t place, const Touch &touch, bool write, int64_t begin,
               int64_t end) {
    const Buffer &buffer = result.buffer(touch);
    const Index &shape = result.extents[touch.buffer];
    const std::string fault = result.phase(task).name + buffer.name;
    for (size_t d = 0; d < shape.rank; ++d)
      if (shape[d] > 1 && buffer.strides[d] != volume(buffer.capacity, d + 1))
        return findings.add("exchange", fault, result.name(task),
                            " exchanges @", buffer.name,
                            ", whose elements do not lie behind one another");
    if (end > volume(shape))
      return findings.add("exchange", fault, result.name(task),
                          write ? " receives " : " sends ", end,
                          " elements of @", buffer.name, ", which has ",
                          volume(shape));
    while (begin < end) {
      // All of the dimensions behind d, as far as they begin here and fit.
      Index low = unflatten(begin, shape), high = low;
      size_t d = shape.rank - 1;
      while (d > 0 && low[d] == 0 && volume(shape, d) <= end - begin)
        high[d] = shape[d], --d;
      for (size_t outer = 0; outer < d; ++outer)
        ++high[outer];
      const int64_t inner = volume(shape, d + 1);
      high[d] = std::min(shape[d], low[d] + (end - begin) / inner);
      add_moved(place, touch, write, low, high);
      begin += (high[d] - low[d]) * inner;
    }
  }

  void check_notifications() {
    for (size_t event = 0; event < program.events.size(); ++event) {
      const Event &in = program.events[event];
      const Counters &of = result.counters[event];
      for (int64_t word = 0; in.notifier && word < of.words; ++word)
        for (int64_t i = 0; i < of.repeat; ++i)
          if (const int64_t count = notifications[of.word(word) + i];
              count != of.count)
            findings.add("count", in.name, "word ",
                         result.word_name(of.word(word)), " gets ", count,
                         " notifications of phase '",
                         program.phases[*in.notifier].name, "' in iteration ",
                         i, ", its event counts ", of.count);
    }
  }

  /// What there is when a step begins, and has to be when it ends.
  void keep_values(uint32_t number) {
    const Buffer &buffer = program.buffers[number];
    auto add_copies = [&](std::vector<Touch> &to, const Index &low,
                          const Index &high) {
      std::vector<uint32_t> boxes;
      for (Touch touch{Regions::none, number, 0, true};
           touch.layer < buffer.layers; ++touch.layer)
        if (take_box(touch, low, high)) {
          to.push_back(touch);
          boxes.push_back(touch.box);
        }
      return boxes;
    };
    const Index high = result.extents[number];
    Index low{{}, high.rank}, past = high;
    if (regions.overlap(add_copies(result.whole, low, high)))
      findings.add("bounds", "overlap " + buffer.name, "two elements of @",
                   buffer.name, " share bytes");
    if (buffer.kind != Buffer::Kind::State)
      return;
    // What a step has of a state in pages is its own rows.
    past[0] = buffer.page ? 0 : std::min(result.symbols.past, high[0]);
    add_copies(result.past, low, past);
    low[0] = past[0];
    add_copies(result.gained, low, high);
  }

  struct Instances {
    /// Where a task writes it.
    std::optional<uint32_t> segment;
    std::vector<std::vector<int64_t>> values;
  };

  const Program &program;
  Regions &regions;
  Findings &findings;
  std::vector<Instances> instances;
  std::vector<int64_t> notifications;
  /// The task that is added.
  uint32_t task = 0;
};
} // namespace

Unrolled baton::check::unroll(const Program &program, const Call &call,
                              const Symbols &symbols, Regions &regions,
                              Findings &findings) {
  return std::move(Unroller(program, call, symbols, regions, findings).result);
}

//===----------------------------------------------------------------------===//
// Workers
//===----------------------------------------------------------------------===//

/// Whether there is such a task that nobody has.
bool Deal::give(size_t task, uint32_t to) {
  if (task >= worker.size() || worker[task] != nobody)
    return false;
  worker[task] = to;
  position[task] = uint32_t(lists[to].size());
  lists[to].push_back(uint32_t(task));
  return true;
}

/// What is left over one worker runs, so that the rest can be judged.
void Deal::give_rest(size_t begin, size_t end, const std::string &workers) {
  for (size_t task = begin; task < end; ++task)
    if (give(task, 0))
      findings.add("schedule", unrolled.phase(task).name, "no worker of ",
                   workers, " runs ", unrolled.name(task));
}

Deal::Deal(const Unrolled &unrolled, uint32_t workers, Findings &findings)
    : worker(unrolled.tasks.size(), nobody), position(worker.size()),
      unrolled(unrolled), findings(findings) {
  for (const Schedule &schedule : unrolled.program->schedules)
    if (schedule.symbols == unrolled.symbols) {
      take(schedule);
      return;
    }
  lists.resize(workers);
  if (workers == 0)
    give_each();
  for (size_t task = 0; workers > 0 && task < worker.size();) {
    const int64_t tiles = volume(unrolled.grids[unrolled.tasks[task].phase]);
    deal(task, tiles);
    task += tiles;
  }
}

/// One for each way of dealing out phases of one task, as for any number of
/// workers, and one for each other task.
void Deal::give_each() {
  lists.resize(2);
  for (size_t task = 0; task < worker.size(); ++task) {
    const Phase &phase = unrolled.phase(task);
    if (!phase.meets_ranks())
      lists.emplace_back();
    give(task, phase.meets_ranks() ? phase.cyclic : uint32_t(lists.size() - 1));
  }
}

/// One of the many ways in which workers may take a phase's tiles: in ascending
/// order, and none has a pattern that others could rely on.
void Deal::take_tickets(size_t first, int64_t tiles) {
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const uint64_t scattered = (first + tile + 1) * 0x9E3779B97F4A7C15;
    give(first + tile, uint32_t((scattered >> 32) % lists.size()));
  }
}

/// As generated code deals out a phase's tiles.
void Deal::deal(size_t first, int64_t tiles) {
  const int64_t workers = lists.size();
  const Phase &phase = unrolled.phase(first);
  if (phase.ticket)
    return take_tickets(first, tiles);
  const Index &grid = unrolled.grids[unrolled.tasks[first].phase];
  const int64_t columns = volume(grid, 1), size = phase.tile_size,
                rows = std::max<int64_t>(
                    0, phase.tile_rows.evaluate(unrolled.symbols));
  // The tile nearest to where a worker's share of all rows begins.
  auto begin = [&](int64_t index) {
    const int64_t share = int64_t(__int128(index) * rows * columns / workers);
    const int64_t row = share / (size * columns);
    const int64_t height =
        std::max<int64_t>(1, std::min(rows - row * size, size));
    return row * columns + (share - row * size * columns + height / 2) / height;
  };
  for (uint32_t to = 0; to < workers; ++to) {
    int64_t tile = phase.cyclic ? to : begin(to);
    const int64_t end = phase.cyclic ? tiles : begin(to + 1);
    while (tile < end && tile < tiles && give(first + tile, to))
      tile += phase.cyclic ? workers : 1;
    if (tile < end)
      findings.add("schedule", phase.name, "worker ", to, " of ", workers,
                   " runs tile ", tile, " of phase '", phase.name,
                   "', which is none or another's");
  }
  give_rest(first, first + tiles, std::to_string(workers));
}

void Deal::take(const Schedule &schedule) {
  lists.resize(schedule.workers.size());
  // Where tasks of each iteration of a phase begin.
  std::map<std::pair<uint32_t, int64_t>, size_t> firsts;
  for (size_t task = 0; task < worker.size(); ++task)
    if (const auto &[phase, iteration, tile, word, touches] =
            unrolled.tasks[task];
        tile == 0)
      firsts[{phase, iteration}] = task;
  for (uint32_t to = 0; to < lists.size(); ++to)
    for (const auto &[number, iteration, coordinates] : schedule.workers[to]) {
      const Phase &phase = unrolled.program->phases[number];
      const auto first = firsts.find({number, iteration});
      const auto tile = flatten(coordinates, unrolled.grids[number]);
      if (first == firsts.end() || !tile || !give(first->second + *tile, to))
        findings.add("schedule", phase.name,
                     "the schedule has a task of phase '", phase.name,
                     "' twice, or one that is not there");
    }
  give_rest(0, worker.size(), "the schedule");
}
