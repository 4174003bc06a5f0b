//===- unroll.cpp - the tasks of one program in one step ------------------===//

#include "tools/check-plan/unroll.h"

#include <algorithm>

using namespace baton::check;

static constexpr int64_t max_tasks = 1 << 26, max_words = 1 << 25;

int64_t baton::check::volume(const int64_t *extents, size_t count) {
  __int128 result = 1;
  for (size_t d = 0; d < count; ++d)
    result = std::min<__int128>(result * std::max<int64_t>(0, extents[d]),
                                int64_t(1) << 60);
  return int64_t(result);
}

Index baton::check::unflatten(int64_t number, const int64_t *extents,
                              size_t count) {
  Index index{};
  for (size_t d = count; d-- > 0; number /= extents[d])
    index[d] = number % extents[d];
  return index;
}

Bounds::Bounds(const Expressions &from, const Expressions &to,
               const int64_t *shape, const Index &at, const Symbols &symbols) {
  for (size_t d = 0; d < from.size(); ++d) {
    low[d] = std::max<int64_t>(0, from[d].evaluate(at.data(), symbols));
    high[d] = std::min(shape[d], to[d].evaluate(at.data(), symbols));
    count *= std::max<int64_t>(0, high[d] - low[d]);
  }
}

int64_t Bounds::flatten(int64_t element,
                        const std::vector<int64_t> &shape) const {
  int64_t number = 0, scale = 1;
  for (size_t d = shape.size(); d-- > 0; scale *= shape[d]) {
    const int64_t extent = high[d] - low[d];
    number += (low[d] + element % extent) * scale;
    element /= extent;
  }
  return number;
}

int64_t Unrolled::tiles(uint32_t phase) const {
  return volume(grids[phase].data(), program->phases[phase].grid.size());
}

Index Unrolled::coordinates(size_t task) const {
  const uint32_t number = tasks[task].phase;
  return unflatten(tasks[task].tile, grids[number].data(),
                   program->phases[number].grid.size());
}

std::string Unrolled::name(size_t task) const {
  const Phase &of = phase(task);
  std::string name = "phase '" + of.name + "' " +
                     listed(coordinates(task).data(), of.grid.size());
  if (program->segments[of.segment].repeat > 1)
    name += text(" in iteration ", tasks[task].iteration);
  return name;
}

std::string Unrolled::word_name(size_t word) const {
  size_t event = 0;
  while (word >= counters[event].first + counters[event].words)
    ++event;
  const auto &[shape, count, repeat, words, segment, first, rest, partial] =
      counters[event];
  return "@" + program->events[event].name +
         listed(unflatten(word - first, shape.data(), shape.size()).data(),
                shape.size());
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
    notifications.resize(result.iterations);
    result.first_tasks.resize(program.phases.size());
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
    return expression.evaluate(nullptr, result.symbols);
  }
  Index values(const std::string &what, const Expressions &expressions,
               const std::vector<int64_t> &capacity) {
    Index numbers{};
    for (size_t d = 0; d < expressions.size(); ++d)
      numbers[d] = value(expressions[d]);
    for (size_t d = 0; d < capacity.size() && d < expressions.size(); ++d)
      if (numbers[d] > capacity[d])
        findings.add("bounds", program.name + what, what, " has ",
                     listed(numbers.data(), expressions.size()),
                     ", more than its capacity ",
                     listed(capacity.data(), capacity.size()));
    return numbers;
  }

  void number_words() {
    for (const Event &event : program.events) {
      Counters &of = result.counters.emplace_back();
      const Index shape =
          values("event @" + event.name, event.shape, event.capacity);
      of.shape.assign(shape.begin(), shape.begin() + event.shape.size());
      of.count = value(event.count);
      if (event.notifier) {
        of.segment = program.phases[*event.notifier].segment;
        of.repeat = program.segments[of.segment].repeat;
      }
      of.words = volume(of.shape.data(), of.shape.size());
      of.first = result.words;
      of.first_iteration = result.iterations;
      result.words += of.words;
      result.iterations += of.words * (of.repeat + 1);
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
    const int64_t count = result.tiles(number);
    if (count + int64_t(result.tasks.size()) > max_tasks)
      throw Error("program @" + program.name + " has too many tasks");
    if (iteration == 0)
      result.first_tasks[number] = result.tasks.size();
    for (int64_t tile = 0; tile < count; ++tile) {
      task = uint32_t(result.tasks.size());
      result.tasks.push_back({number, iteration, uint32_t(tile),
                              Unrolled::no_word, result.touches.size()});
      const Index at = result.coordinates(task);
      if (phase.notifies)
        notify(phase, at);
      if (result.is_idle(task))
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

  void notify(const Phase &phase, const Index &at) {
    const Counters &of = result.counters[*phase.notifies];
    Index index{};
    int64_t word = 0;
    bool inside = true;
    for (size_t d = 0; d < of.shape.size(); ++d) {
      index[d] = phase.word[d].evaluate(at.data(), result.symbols);
      inside &= index[d] >= 0 && index[d] < of.shape[d];
      word = inside ? word * of.shape[d] + index[d] : 0;
    }
    if (!inside)
      return findings.add("count", phase.name, result.name(task), " notifies @",
                          program.events[*phase.notifies].name,
                          listed(index.data(), of.shape.size()),
                          ", outside of its shape ",
                          listed(of.shape.data(), of.shape.size()));
    result.tasks[task].word = uint32_t(of.first + word);
    ++notifications[of.iteration(of.first + word,
                                 result.tasks[task].iteration)];
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
    const size_t rank = buffer.strides.size();
    for (size_t d = 0; d < rank; ++d)
      if (high[d] > buffer.capacity[d]) // Reported already.
        return false;
    const size_t before = regions.count_boxes();
    touch.box = regions.add(result.call, touch.buffer,
                            touch.layer % buffer.layers, low, high);
    const Storage &storage = result.storage(touch);
    if (regions.count_boxes() > before)
      if (const int64_t end = regions.end(touch.box); end > storage.bytes)
        findings.add("bounds", program.name + buffer.name, "@", buffer.name,
                     listed(low.data(), rank), " to ",
                     listed(high.data(), rank), " ends ", end,
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
    const Bounds box(access.low, access.high,
                     result.extents[access.buffer].data(), at, result.symbols);
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
    if (std::optional<Touch> touch = copy_of(tensor))
      add_moved(-1, *touch, write, {}, result.extents[tensor]);
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
    const size_t rank = result.buffer(*receive).strides.size();
    const int64_t row =
        volume(result.extents[transfer.receive].data() + 1, rank - 1);
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

  /// Elements from one on to another, in the order of their indices.
  void add_run(int64_t place, const Touch &touch, bool write, int64_t begin,
               int64_t end) {
    const Buffer &buffer = result.buffer(touch);
    const size_t rank = buffer.strides.size();
    const int64_t *shape = result.extents[touch.buffer].data();
    const std::string fault = result.phase(task).name + buffer.name;
    int64_t dense = 1;
    for (size_t d = rank; d-- > 0; dense *= buffer.capacity[d])
      if (shape[d] > 1 && buffer.strides[d] != dense)
        return findings.add("exchange", fault, result.name(task),
                            " exchanges @", buffer.name,
                            ", whose elements do not lie behind one another");
    if (end > volume(shape, rank))
      return findings.add("exchange", fault, result.name(task),
                          write ? " receives " : " sends ", end,
                          " elements of @", buffer.name, ", which has ",
                          volume(shape, rank));
    while (begin < end) {
      Index low = unflatten(begin, shape, rank), high = low;
      for (size_t d = 0; d < rank; ++d)
        ++high[d];
      // All of the dimensions behind d, as far as they begin here and fit.
      int64_t inner = 1;
      size_t d = rank - 1;
      for (; d > 0 && low[d] == 0 && inner * shape[d] <= end - begin; --d) {
        high[d] = shape[d];
        inner *= shape[d];
      }
      high[d] = std::min(shape[d], low[d] + (end - begin) / inner);
      add_moved(place, touch, write, low, high);
      begin += (high[d] - low[d]) * inner;
    }
  }

  void check_notifications() {
    for (size_t event = 0; event < program.events.size(); ++event) {
      const Event &in = program.events[event];
      const Counters &of = result.counters[event];
      for (size_t word = of.first; in.notifier && word < of.first + of.words;
           ++word)
        for (int64_t i = 0; i < of.repeat; ++i)
          if (const int64_t count = notifications[of.iteration(word, i)];
              count != of.count)
            findings.add("count", in.name, "word ", result.word_name(word),
                         " gets ", count, " notifications of phase '",
                         program.phases[*in.notifier].name, "' in iteration ",
                         i, ", its event counts ", of.count);
    }
  }

  /// What there is when a step begins, and has to be when it ends.
  void keep_values(uint32_t number) {
    const Buffer &buffer = program.buffers[number];
    auto copies = [&](const Index &low, const Index &high) {
      std::vector<Touch> all;
      for (Touch touch{Regions::none, number, 0, true};
           touch.layer < buffer.layers; ++touch.layer)
        if (take_box(touch, low, high))
          all.push_back(touch);
      return all;
    };
    auto add = [](std::vector<Touch> &to, const std::vector<Touch> &list) {
      to.insert(to.end(), list.begin(), list.end());
    };
    Index high = result.extents[number], low{};
    const std::vector<Touch> all = copies(low, high);
    std::vector<uint32_t> boxes;
    for (const Touch &touch : all)
      boxes.push_back(touch.box);
    if (regions.overlap(boxes))
      findings.add("bounds", "overlap " + buffer.name, "two elements of @",
                   buffer.name, " share bytes");
    if (buffer.kind == Buffer::Kind::State) {
      low[0] = std::min(result.symbols.past, high[0]);
      add(result.gained, copies(low, high));
      high[0] = low[0];
      add(result.past, copies({}, high));
    }
    if (buffer.kind != Buffer::Kind::Persistent)
      return;
    if (buffer.carry != Buffer::Carry::Step)
      add(result.carried, all);
    if (buffer.carry == Buffer::Carry::Kept)
      add(result.kept, all);
    if (buffer.carry == Buffer::Carry::Renewed)
      add(result.renewed, all);
  }

  const Program &program;
  Regions &regions;
  Findings &findings;
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
    const int64_t tiles = unrolled.tiles(unrolled.tasks[task].phase);
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

/// As generated code deals out a phase's tiles.
void Deal::deal(size_t first, int64_t tiles) {
  const int64_t workers = lists.size();
  const Phase &phase = unrolled.phase(first);
  const Index &grid = unrolled.grids[unrolled.tasks[first].phase];
  const int64_t columns =
      phase.grid.empty() ? 1 : volume(grid.data() + 1, phase.grid.size() - 1);
  const int64_t size = phase.tile_size,
                rows = std::max<int64_t>(
                    0, phase.tile_rows.evaluate(nullptr, unrolled.symbols));
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
  const Program &program = *unrolled.program;
  // Of each segment, how many tasks an iteration has.
  std::vector<size_t> strides(program.segments.size());
  for (uint32_t phase = 0; phase < program.phases.size(); ++phase)
    strides[program.phases[phase].segment] += unrolled.tiles(phase);
  for (uint32_t to = 0; to < lists.size(); ++to)
    for (const auto &[number, iteration, coordinates] : schedule.workers[to]) {
      const Phase &phase = program.phases[number];
      const Index &grid = unrolled.grids[number];
      bool inside = coordinates.size() == phase.grid.size() && iteration >= 0 &&
                    iteration < program.segments[phase.segment].repeat;
      int64_t tile = 0;
      for (size_t d = 0; inside && d < coordinates.size(); ++d) {
        inside = coordinates[d] >= 0 && coordinates[d] < grid[d];
        tile = tile * grid[d] + coordinates[d];
      }
      if (!inside || !give(unrolled.first_tasks[number] +
                               iteration * strides[phase.segment] + tile,
                           to))
        findings.add("schedule", phase.name,
                     "the schedule has a task of phase '", phase.name,
                     "' twice, or one that is not there");
    }
  give_rest(0, worker.size(), "the schedule");
}
