//===- unroll.cpp - the tasks of one program in one step ------------------===//

#include "tools/check-plan/unroll.h"

#include <algorithm>
#include <numeric>

using namespace baton::check;

namespace {
constexpr int64_t max_tasks = int64_t(1) << 26, max_words = int64_t(1) << 25;
}

static int64_t volume(const std::vector<int64_t> &extents) {
  __int128 result = 1;
  for (int64_t extent : extents)
    result = std::min<__int128>(result * std::max<int64_t>(0, extent),
                                int64_t(1) << 60);
  return int64_t(result);
}

static std::vector<int64_t> values(const Expressions &expressions,
                                   const Symbols &symbols) {
  std::vector<int64_t> result;
  for (const Expression &expression : expressions)
    result.push_back(expression.evaluate(nullptr, symbols));
  return result;
}

static std::string listed(const int64_t *numbers, size_t count) {
  std::string text = "[";
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + "]";
}

void Unrolled::coordinates(size_t task, int64_t *result) const {
  const std::vector<int64_t> &grid = grids[tasks[task].phase];
  int64_t rest = tasks[task].tile;
  for (size_t d = grid.size(); d-- > 0; rest /= grid[d])
    result[d] = rest % grid[d];
}

std::string Unrolled::name(size_t task) const {
  int64_t at[max_dimensions];
  coordinates(task, at);
  const Phase &of = phase(task);
  std::string text = "phase '" + of.name + "' " + listed(at, of.grid.size());
  if (program->segments[of.segment].repeat > 1)
    text += " in iteration " + std::to_string(tasks[task].iteration);
  return text;
}

std::string Unrolled::word_name(size_t word) const {
  for (size_t event = 0; event < counters.size(); ++event) {
    const Counters &of = counters[event];
    if (word < of.first || word >= of.first + of.words)
      continue;
    std::vector<int64_t> index(of.shape.size());
    int64_t rest = word - of.first;
    for (size_t d = index.size(); d-- > 0; rest /= of.shape[d])
      index[d] = rest % of.shape[d];
    return "@" + program->events[event].name +
           listed(index.data(), index.size());
  }
  return "";
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
  }

  Unrolled run() {
    for (const Buffer &buffer : program.buffers) {
      extents.push_back(values(buffer.extents, result.symbols));
      within("buffer @" + buffer.name, extents.back(), buffer.capacity);
    }
    for (const Phase &phase : program.phases) {
      result.grids.push_back(values(phase.grid, result.symbols));
      within("phase '" + phase.name + "'", result.grids.back(), phase.capacity);
    }
    number_words();
    check_scopes();
    result.first_tasks.resize(program.phases.size());
    for (uint32_t s = 0; s < program.segments.size(); ++s)
      for (int64_t i = 0; i < program.segments[s].repeat; ++i)
        for (uint32_t phase : program.segments[s].phases)
          add_tasks(phase, uint32_t(i));
    result.first_touches.push_back(result.touches.size());
    count_notifications();
    keep_values();
    return std::move(result);
  }

private:
  void within(const std::string &what, const std::vector<int64_t> &numbers,
              const std::vector<int64_t> &capacity) {
    for (size_t d = 0; d < capacity.size() && d < numbers.size(); ++d)
      if (numbers[d] > capacity[d])
        findings.add("bounds", program.name + what,
                     what + " has " + listed(numbers.data(), numbers.size()) +
                         ", more than its capacity " +
                         listed(capacity.data(), capacity.size()));
  }

  void number_words() {
    for (const Event &event : program.events) {
      Counters &of = result.counters.emplace_back();
      of.shape = values(event.shape, result.symbols);
      within("event @" + event.name, of.shape, event.capacity);
      of.count = event.count.evaluate(nullptr, result.symbols);
      if (event.notifier) {
        of.segment = program.phases[*event.notifier].segment;
        of.repeat = program.segments[of.segment].repeat;
      }
      of.words = volume(of.shape);
      of.first = result.words;
      of.first_iteration = result.iterations;
      result.words += of.words;
      // All of a step behind its iterations.
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
      if (!phase.exchange)
        continue;
      auto check = [&](uint32_t number, const char *what) {
        const Event &event = program.events[number];
        if (!event.system)
          findings.add("scope", phase.name + event.name,
                       "phase '" + phase.name + "' exchanges and " + what +
                           " @" + event.name + ", whose scope is device");
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
    if (iteration == 0)
      result.first_tasks[number] = result.tasks.size();
    for (int64_t tile = 0; tile < count; ++tile) {
      const uint32_t task = uint32_t(result.tasks.size());
      result.tasks.push_back({number, iteration, uint32_t(tile)});
      result.first_touches.push_back(result.touches.size());
      int64_t at[max_dimensions];
      result.coordinates(task, at);
      notify(phase, task, at);
      if (result.is_idle(task))
        continue;
      for (const Access &access : phase.accesses)
        add_access(access, task, at);
      if (phase.exchange)
        add_transfers(*phase.exchange, task);
      if (phase.message)
        add_tensors(phase.message->tensors, task, !phase.message->sends);
      if (phase.advances)
        add_tensors({*phase.advances}, task, false);
    }
  }

  void notify(const Phase &phase, uint32_t task, const int64_t *at) {
    result.notified.push_back(Unrolled::no_word);
    if (!phase.notifies)
      return;
    const Counters &of = result.counters[*phase.notifies];
    int64_t index[max_dimensions], word = 0;
    bool inside = true;
    for (size_t d = 0; d < of.shape.size(); ++d) {
      index[d] = phase.word[d].evaluate(at, result.symbols);
      inside &= index[d] >= 0 && index[d] < of.shape[d];
      word = inside ? word * of.shape[d] + index[d] : 0;
    }
    const std::string &event = program.events[*phase.notifies].name;
    if (!inside)
      return findings.add("count", phase.name,
                          result.name(task) + " notifies @" + event +
                              listed(index, of.shape.size()) +
                              ", outside of its shape " +
                              listed(of.shape.data(), of.shape.size()));
    result.notified.back() = uint32_t(of.first + word);
  }

  /// Of the layer that a task works on; nothing when there is no such copy.
  std::optional<Touch> copy_of(uint32_t number, uint32_t task) {
    const Buffer &buffer = program.buffers[number];
    const Phase &phase = result.phase(task);
    const Segment &segment = program.segments[phase.segment];
    Touch touch{Regions::none, number, 0, false, false};
    if (buffer.layers == 1)
      return touch;
    const int64_t iteration = result.tasks[task].iteration + phase.ahead;
    touch.layer = segment.reverse ? segment.repeat - 1 - iteration : iteration;
    if (touch.layer < buffer.layers || buffer.ring)
      return touch;
    findings.add("bounds", phase.name + buffer.name,
                 result.name(task) + " touches copy " +
                     std::to_string(touch.layer) + " of @" + buffer.name +
                     ", which has " + std::to_string(buffer.layers));
    return {};
  }

  uint32_t add_box(const Touch &touch, const int64_t *low,
                   const int64_t *high) {
    const Buffer &buffer = program.buffers[touch.buffer];
    const size_t rank = buffer.strides.size();
    for (size_t d = 0; d < rank; ++d)
      if (high[d] > buffer.capacity[d]) // Reported already.
        return Regions::none;
    const size_t before = regions.count_boxes();
    const uint32_t box =
        regions.add(result.call, touch.buffer, touch.layer % buffer.layers,
                    {low, rank}, {high, rank});
    const Storage &storage = program.storages[buffer.storage];
    if (regions.count_boxes() > before && regions.end(box) > storage.bytes)
      findings.add("bounds", program.name + buffer.name,
                   "@" + buffer.name + listed(low, rank) + " to " +
                       listed(high, rank) + " ends " +
                       std::to_string(regions.end(box)) +
                       " bytes into its storage @" + storage.name +
                       ", which has " + std::to_string(storage.bytes));
    return box;
  }

  void add_access(const Access &access, uint32_t task, const int64_t *at) {
    if (program.buffers[access.buffer].kind == Buffer::Kind::Input) {
      if (access.write)
        findings.add("bounds", result.phase(task).name,
                     result.name(task) + " writes the input @" +
                         program.buffers[access.buffer].name);
      return;
    }
    std::optional<Touch> touch = copy_of(access.buffer, task);
    if (!touch)
      return;
    const Bounds box(access.low, access.high, extents[access.buffer], at,
                     result.symbols);
    touch->box = add_box(*touch, box.low, box.high);
    if (touch->box == Regions::none)
      return;
    touch->write = access.write;
    touch->conditional = access.conditional;
    // What leaves values there of an exchange is what it delivers, of an
    // advance what the runtime writes at the border.
    const Phase &phase = result.phase(task);
    touch->may =
        access.may || (access.write && (phase.meets_ranks() || phase.advances));
    result.touches.push_back(*touch);
    if (phase.advances && access.write)
      result.advance.push_back(*touch);
  }

  void add_moved(uint32_t task, int64_t place, Touch touch, bool write,
                 const int64_t *low, const int64_t *high) {
    touch.write = write;
    touch.box = add_box(touch, low, high);
    if (touch.box != Regions::none)
      result.moved.push_back({task, place, touch});
  }

  /// Elements from one on to another, in the order of their indices, as boxes;
  /// dimensions before `d` are chosen.
  void add_flat(uint32_t task, int64_t place, const Touch &touch, bool write,
                size_t d, int64_t begin, int64_t end, Bounds &box) {
    const std::vector<int64_t> &shape = extents[touch.buffer];
    if (begin >= end)
      return;
    if (d == shape.size())
      return add_moved(task, place, touch, write, box.low, box.high);
    const int64_t inner = volume({shape.begin() + d + 1, shape.end()});
    auto part = [&](int64_t row) {
      box.low[d] = row;
      box.high[d] = row + 1;
      add_flat(task, place, touch, write, d + 1,
               std::max<int64_t>(0, begin - row * inner),
               std::min(inner, end - row * inner), box);
    };
    int64_t first = begin / inner, last = end / inner;
    if (begin % inner || first == last)
      part(first++);
    if (first < last) {
      box.low[d] = first;
      box.high[d] = last;
      for (size_t k = d + 1; k < shape.size(); ++k)
        box.low[k] = 0, box.high[k] = shape[k];
      add_moved(task, place, touch, write, box.low, box.high);
    }
    if (first <= last && end % inner)
      part(last);
  }

  void add_transfers(const Exchange &exchange, uint32_t task) {
    int64_t ranks = 1;
    for (uint32_t axis : exchange.axes)
      ranks *= program.sizes[axis];
    for (const Transfer &transfer : exchange.transfers) {
      const int64_t whole = transfer.elements.evaluate(nullptr, result.symbols),
                    part = transfer.part.evaluate(nullptr, result.symbols);
      std::optional<Touch> send = copy_of(transfer.send, task),
                           receive = copy_of(transfer.receive, task);
      if (!send || !receive)
        continue;
      for (int64_t place = 0; place < ranks; ++place) {
        const int64_t own = std::clamp<int64_t>(whole - place * part, 0, part);
        add_run(task, place, *send, false, 0, exchange.gathers ? own : whole);
        if (exchange.gathers) {
          add_run(task, place, *receive, true, 0, whole);
          continue;
        }
        const std::vector<int64_t> &shape = extents[transfer.receive];
        const int64_t row = volume({shape.begin() + 1, shape.end()});
        for (int64_t from = 0; from < ranks; ++from)
          add_run(task, place, *receive, true, from * row, from * row + own);
      }
      if (whole > part * ranks)
        findings.add("exchange", result.phase(task).name,
                     result.name(task) + " exchanges " + std::to_string(whole) +
                         " elements of @" +
                         program.buffers[transfer.send].name + " by " +
                         std::to_string(part) + ", of which " +
                         std::to_string(ranks) + " ranks have not all");
    }
  }

  /// Whether elements lie in the order of their indices, without gaps.
  bool is_dense(uint32_t number) const {
    const Buffer &buffer = program.buffers[number];
    int64_t expected = 1;
    for (size_t d = buffer.strides.size(); d-- > 0;) {
      if (extents[number][d] > 1 && buffer.strides[d] != expected)
        return false;
      expected *= buffer.capacity[d];
    }
    return true;
  }

  void add_run(uint32_t task, int64_t place, const Touch &touch, bool write,
               int64_t begin, int64_t end) {
    const Buffer &buffer = program.buffers[touch.buffer];
    if (!is_dense(touch.buffer))
      return findings.add("exchange", result.phase(task).name + buffer.name,
                          result.name(task) + " exchanges @" + buffer.name +
                              ", whose elements do not lie behind one another");
    if (end > volume(extents[touch.buffer]))
      return findings.add(
          "exchange", result.phase(task).name + buffer.name,
          result.name(task) + (write ? " receives " : " sends ") +
              std::to_string(end) + " elements of @" + buffer.name +
              ", which has " + std::to_string(volume(extents[touch.buffer])));
    Bounds box({}, {}, {}, nullptr, result.symbols);
    add_flat(task, place, touch, write, 0, begin, end, box);
  }

  void add_tensors(const std::vector<uint32_t> &tensors, uint32_t task,
                   bool write) {
    const int64_t zeros[max_dimensions] = {};
    for (uint32_t tensor : tensors)
      if (std::optional<Touch> touch = copy_of(tensor, task))
        add_moved(task, -1, *touch, write, zeros, extents[tensor].data());
  }

  void count_notifications() {
    std::vector<int64_t> counts(result.iterations);
    for (size_t task = 0; task < result.tasks.size(); ++task)
      if (result.notified[task] != Unrolled::no_word) {
        const Counters &of = result.counters[*result.phase(task).notifies];
        ++counts[of.first_iteration +
                 (result.notified[task] - of.first) * (of.repeat + 1) +
                 result.tasks[task].iteration];
      }
    for (size_t event = 0; event < program.events.size(); ++event) {
      const Counters &of = result.counters[event];
      for (int64_t word = 0; program.events[event].notifier && word < of.words;
           ++word)
        for (int64_t i = 0; i < of.repeat; ++i)
          if (int64_t count =
                  counts[of.first_iteration + word * (of.repeat + 1) + i];
              count != of.count)
            findings.add(
                "count", program.events[event].name,
                "word " + result.word_name(of.first + word) + " gets " +
                    std::to_string(count) + " notifications of phase '" +
                    program.phases[*program.events[event].notifier].name +
                    "' in iteration " + std::to_string(i) +
                    ", its event counts " + std::to_string(of.count));
    }
  }

  /// What there is when a step begins, and has to be when it ends.
  void keep_values() {
    for (uint32_t number = 0; number < program.buffers.size(); ++number) {
      const Buffer &buffer = program.buffers[number];
      std::vector<int64_t> low(buffer.strides.size()), high = extents[number];
      if (buffer.kind == Buffer::Kind::Input)
        continue;
      std::vector<uint32_t> copies;
      for (int64_t copy = 0; copy < buffer.layers; ++copy)
        if (uint32_t box = add_box({0, number, copy, false, false}, low.data(),
                                   high.data());
            box != Regions::none)
          copies.push_back(box);
      if (regions.overlap(copies))
        findings.add("bounds", "overlap " + buffer.name,
                     "two elements of @" + buffer.name + " share bytes");
      auto add = [&](std::vector<Touch> &list) {
        for (int64_t copy = 0; copy < buffer.layers; ++copy) {
          Touch touch{Regions::none, number, copy, true, false};
          touch.box = add_box(touch, low.data(), high.data());
          if (touch.box != Regions::none)
            list.push_back(touch);
        }
      };
      if (buffer.kind == Buffer::Kind::State) {
        low[0] = std::min(result.symbols.past, high[0]);
        add(result.gained);
        std::swap(high[0], low[0]);
        low[0] = 0;
        add(result.past);
      }
      if (buffer.kind != Buffer::Kind::Persistent)
        continue;
      if (buffer.carry != Buffer::Carry::Step)
        add(result.carried);
      if (buffer.carry == Buffer::Carry::Kept)
        add(result.kept);
      if (buffer.carry == Buffer::Carry::Renewed)
        add(result.renewed);
    }
  }

  const Program &program;
  Regions &regions;
  Findings &findings;
  Unrolled result;
  std::vector<std::vector<int64_t>> extents;
};
} // namespace

Unrolled baton::check::unroll(const Program &program, const Call &call,
                              const Symbols &symbols, Regions &regions,
                              Findings &findings) {
  return Unroller(program, call, symbols, regions, findings).run();
}

//===----------------------------------------------------------------------===//
// Workers
//===----------------------------------------------------------------------===//

Deal::Deal(const Unrolled &unrolled, uint32_t workers, Findings &findings)
    : worker(unrolled.tasks.size(), Unrolled::no_word),
      position(unrolled.tasks.size()) {
  for (const Schedule &schedule : unrolled.program->schedules)
    if (schedule.symbols == unrolled.symbols) {
      take(unrolled, schedule, findings);
      return;
    }
  if (workers > 0) {
    deal(unrolled, workers, findings);
    return;
  }
  // One for each way of dealing out phases of one task, as for any number of
  // workers, and one for each other task.
  lists.resize(2);
  for (uint32_t task = 0; task < worker.size(); ++task) {
    const Phase &phase = unrolled.phase(task);
    if (!phase.meets_ranks())
      lists.emplace_back();
    give(task, phase.meets_ranks() ? uint32_t(phase.cyclic)
                                   : uint32_t(lists.size() - 1));
  }
}

void Deal::give(uint32_t task, uint32_t to) {
  worker[task] = to;
  position[task] = uint32_t(lists[to].size());
  lists[to].push_back(task);
}

/// As generated code deals out a phase's tiles.
void Deal::deal(const Unrolled &unrolled, uint32_t workers,
                Findings &findings) {
  lists.resize(workers);
  for (size_t first = 0; first < unrolled.tasks.size();) {
    const Phase &phase = unrolled.phase(first);
    const std::vector<int64_t> &grid =
        unrolled.grids[unrolled.tasks[first].phase];
    const int64_t tiles = volume(grid);
    const int64_t columns =
        grid.empty() ? 1 : volume({grid.begin() + 1, grid.end()});
    const int64_t rows = std::max<int64_t>(
        0, phase.tile_rows.evaluate(nullptr, unrolled.symbols));
    const int64_t size = phase.tile_size;
    // The tile nearest to where a worker's share of all rows begins.
    auto begin = [&](int64_t index) {
      const int64_t share = int64_t(__int128(index) * rows * columns / workers);
      const int64_t row = share / (size * columns);
      const int64_t height =
          std::max<int64_t>(1, std::min(rows - row * size, size));
      return row * columns +
             (share - row * size * columns + height / 2) / height;
    };
    for (uint32_t to = 0; to < workers; ++to) {
      int64_t tile = phase.cyclic ? to : begin(to);
      const int64_t end = phase.cyclic ? tiles : begin(to + 1);
      for (; tile < end; tile += phase.cyclic ? workers : 1) {
        if (tile < tiles && worker[first + tile] == Unrolled::no_word) {
          give(uint32_t(first + tile), to);
          continue;
        }
        findings.add("schedule", phase.name,
                     "worker " + std::to_string(to) + " of " +
                         std::to_string(workers) + " runs tile " +
                         std::to_string(tile) + " of phase '" + phase.name +
                         "', which is none or another's");
        break;
      }
    }
    for (int64_t tile = 0; tile < tiles; ++tile)
      if (worker[first + tile] == Unrolled::no_word) {
        findings.add("schedule", phase.name,
                     "no worker of " + std::to_string(workers) + " runs " +
                         unrolled.name(first + tile));
        give(uint32_t(first + tile), 0);
      }
    first += tiles;
  }
}

void Deal::take(const Unrolled &unrolled, const Schedule &schedule,
                Findings &findings) {
  lists.resize(schedule.workers.size());
  const Program &program = *unrolled.program;
  for (uint32_t to = 0; to < lists.size(); ++to)
    for (const Schedule::Task &task : schedule.workers[to]) {
      const Phase &phase = program.phases[task.phase];
      const std::vector<int64_t> &grid = unrolled.grids[task.phase];
      const Segment &segment = program.segments[phase.segment];
      bool inside = task.coordinates.size() == grid.size() &&
                    task.iteration >= 0 && task.iteration < segment.repeat;
      int64_t tile = 0, stride = 0;
      for (size_t d = 0; d < grid.size() && inside; ++d) {
        inside = task.coordinates[d] >= 0 && task.coordinates[d] < grid[d];
        tile = tile * grid[d] + task.coordinates[d];
      }
      for (uint32_t other : segment.phases)
        stride += volume(unrolled.grids[other]);
      const size_t number =
          unrolled.first_tasks[task.phase] + task.iteration * stride + tile;
      if (inside && worker[number] == Unrolled::no_word)
        give(uint32_t(number), to);
      else
        findings.add("schedule", phase.name,
                     "the schedule has a task of phase '" + phase.name +
                         "' twice, or one that is not there");
    }
  for (uint32_t task = 0; task < worker.size(); ++task)
    if (worker[task] == Unrolled::no_word) {
      findings.add("schedule", unrolled.phase(task).name,
                   "no worker of the schedule runs " + unrolled.name(task));
      give(task, 0);
    }
}
