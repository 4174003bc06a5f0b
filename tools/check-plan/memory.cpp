//===- memory.cpp - what a rank's bytes hold, and who touches them --------===//

#include "tools/check-plan/run.h"

#include <map>
#include <memory>

using namespace baton::check;

namespace {
constexpr uint32_t nobody = Deal::nobody;

/// Whose values a region holds: nobody's, those of a storage that outlives the
/// program, or those of a buffer's copy.
struct Owner {
  uint32_t program = nobody, buffer = 0;
  int64_t layer = 0;

  bool operator==(const Owner &) const = default;
};
constexpr Owner nothing = {nobody, 0, 0}, carried = {nobody, 1, 0};

struct Region {
  Owner owner;
  bool renewed = false;
  /// No task may write it.
  bool kept = false;
  /// Who touched it in the program that runs.
  uint32_t writer = nobody;
  std::vector<uint32_t> readers;
};
using Contents = std::vector<Region>;

class Memory {
public:
  Memory(const Regions &regions, Findings &findings)
      : regions(regions), findings(findings) {}

  void look_at(const ProgramRun &program_run) {
    run = &program_run;
    const Rank &rank = run->rank;
    const size_t calls = rank.calls, number = run->number % calls;
    const Unrolled *const *step = &rank.programs[run->number - number];
    if (number == 0)
      begin_step({step, calls});
    // What the runtime writes at the border before a program.
    const Unrolled &before = *step[number == 0 ? calls - 1 : number - 1];
    for (const Touch &touch : before.advance)
      hold(before, touch);
    run_tasks();
    if (number + 1 == calls)
      end_step({step, calls});
  }

private:
  /// The memory that a call's storage is: a slot's of a chunk, a chunk's, or
  /// all of the rank's.
  Contents &contents(const Unrolled &in, uint32_t buffer) {
    const Storage &storage =
        in.program->storages[in.program->buffers[buffer].storage];
    const uint32_t number = regions.storage(in.call.program, buffer);
    const bool is_stage = storage.scope == Storage::Scope::Stage;
    Contents &found = memory[{number, is_stage ? in.call.chunk : -1,
                              storage.slot == "flight" ? in.call.slot : -1}];
    found.resize(regions.count_regions(number));
    return found;
  }
  /// What is not transient may be seen through several buffers.
  static Owner owner(const Unrolled &in, const Touch &touch) {
    const Buffer &buffer = in.buffer(touch);
    if (buffer.kind != Buffer::Kind::Transient && !buffer.ring)
      return carried;
    return {in.call.program, touch.buffer, touch.layer};
  }
  /// Whether a region of one touch is another's, too.
  bool has(const Touch &other, const Touch &one, uint32_t region) const {
    return held[other.buffer] == held[one.buffer] &&
           regions.has(other.box, region);
  }

  void hold(const Unrolled &in, const Touch &touch) {
    Contents &of = contents(in, touch.buffer);
    for (uint32_t region : regions.of(touch.box)) {
      of[region].owner = owner(in, touch);
      of[region].kept |= is_carried(in.buffer(touch)) &&
                         in.buffer(touch).carry == Buffer::Carry::Kept;
    }
  }

  /// Forgets what does not live from step to step.
  void begin_step(std::span<const Unrolled *const> programs) {
    memory.clear();
    slots.clear();
    for (const Unrolled *in : programs) {
      for (const Touch &touch : in->whole)
        if (is_carried(in->buffer(touch)))
          hold(*in, touch);
      for (const Touch &touch : in->past)
        hold(*in, touch);
    }
  }
  static bool is_carried(const Buffer &buffer) {
    return buffer.kind == Buffer::Kind::Persistent &&
           buffer.carry != Buffer::Carry::Step;
  }

  /// Memory that is free between programs holds nothing yet, nor does that of a
  /// slot which another microbatch has taken.
  void start() {
    const Unrolled &in = run->unrolled;
    const std::pair microbatch(in.call.chunk, in.call.microbatch);
    auto [slot, is_new] = slots.emplace(in.call.slot, microbatch);
    const bool is_taken = !is_new && slot->second != microbatch;
    slot->second = microbatch;
    std::set<uint32_t> transient;
    for (const Touch &touch : in.touches)
      if (in.storage(touch).scope == Storage::Scope::Transient)
        transient.insert(regions.storage(in.call.program, touch.buffer));
    std::erase_if(memory, [&](const auto &entry) {
      const auto &[number, chunk, of_slot] = entry.first;
      return transient.count(number) || (is_taken && of_slot == in.call.slot);
    });
    for (auto &[key, of] : memory)
      for (Region &region : of) {
        region.writer = nobody;
        region.readers.clear();
      }
    held.clear();
    for (uint32_t buffer = 0; buffer < in.program->buffers.size(); ++buffer)
      held.push_back(&contents(in, buffer));
  }

  void run_tasks() {
    start();
    const Unrolled &in = run->unrolled;
    size_t moved = 0;
    for (task = 0; task < in.tasks.size(); ++task) {
      for (const Touch &touch : in.touched(task))
        if (!touch.write)
          read(touch);
      for (const Touch &touch : in.touched(task))
        if (touch.write)
          write(touch);
      for (; moved < in.moved.size() && in.moved[moved].task == task; ++moved)
        if (is_here(in.moved[moved].place))
          deliver(in.moved[moved].touch);
    }
  }
  /// Whether a place of an exchange's group is the rank's.
  bool is_here(int64_t place) const {
    const Phase &phase = run->unrolled.phase(task);
    int64_t own = 0;
    if (phase.exchange)
      for (uint32_t axis : phase.exchange->axes)
        own = own * run->unrolled.program->sizes[axis] + run->rank.place[axis];
    return !phase.exchange || place == own;
  }

  /// "writes @x[3, 5]": how a task touches a region.
  std::string touched(uint32_t by, const Touch &like, uint32_t region,
                      bool writes) const {
    for (const Touch &touch : run->unrolled.touched(by))
      if (touch.write == writes && has(touch, like, region))
        return (writes ? " writes " : " reads ") +
               regions.element(touch.box, region);
    return "";
  }

  /// Of two tasks that touch the same bytes, one of which writes, the one that
  /// means to be first has to be over when the other begins.
  void check_order(uint32_t first, const Touch &touch, uint32_t region) {
    if (first != nobody && first != task && !run->clocks.before(first, task))
      report_order(first, touch, region);
  }
  void report_order(uint32_t first, const Touch &touch, uint32_t region) {
    const Unrolled &in = run->unrolled;
    const bool turned = run->clocks.before(task, first);
    const std::string kind = turned ? "order" : "race",
                      fault = in.phase(first).name + '\n' +
                              in.phase(task).name + '\n' +
                              in.buffer(touch).name;
    if (findings.has(kind, fault))
      return;
    const bool wrote = (*held[touch.buffer])[region].writer == first;
    findings.add(kind, fault, run->name(task),
                 touch.write ? " writes " : " reads ",
                 regions.element(touch.box, region), ", and ", run->name(first),
                 touched(first, touch, region, wrote), ": ",
                 turned ? "the former comes first, the latter should"
                        : "nothing orders them");
  }

  /// The last reader on a worker stands for all on it.
  void note_reader(std::vector<uint32_t> &readers) const {
    const Deal &deal = run->deal;
    auto same =
        std::find_if(readers.begin(), readers.end(), [&](uint32_t other) {
          return deal.worker[other] == deal.worker[task];
        });
    if (same == readers.end())
      readers.push_back(task);
    else if (deal.position[*same] < deal.position[task])
      *same = task;
  }

  /// Whether a task that reads a region if a flag is set also writes it, of a
  /// buffer whose values begin anew in each step: the first one of a step adds
  /// to nothing.
  bool starts(const Touch &touch, uint32_t region) const {
    const Buffer &of = run->unrolled.buffer(touch);
    if (!touch.conditional || of.kind != Buffer::Kind::Persistent || of.ring)
      return false;
    const std::span<const Touch> all = run->unrolled.touched(task);
    return std::any_of(all.begin(), all.end(), [&](const Touch &other) {
      return other.write && !other.may && has(other, touch, region);
    });
  }

  void read(const Touch &touch) {
    const Unrolled &in = run->unrolled;
    const Buffer &buffer = in.buffer(touch);
    const Owner who = owner(in, touch);
    // The first layer of a ring may be brought through another buffer, before
    // the segment that turns the ring.
    const bool takes_first =
        buffer.ring && in.tasks[task].iteration == 0 && !in.phase(task).ahead;
    Contents &of = *held[touch.buffer];
    for (uint32_t number : regions.of(touch.box)) {
      Region &region = of[number];
      check_order(region.writer, touch, number);
      note_reader(region.readers);
      // Who may read what is there uses only what was written.
      if (region.owner == who || touch.may ||
          (region.owner == carried && takes_first))
        continue;
      const std::string fault =
          in.program->name + in.phase(task).name + buffer.name;
      if (findings.has("value", fault) ||
          (region.owner == nothing && starts(touch, number)))
        continue;
      std::string why = "nobody has written in this step";
      if (region.owner != nothing && region.writer != nobody)
        why = run->name(region.writer) + " has overwritten: it" +
              touched(region.writer, touch, number, true);
      findings.add("value", fault, run->name(task), " reads ",
                   regions.element(touch.box, number), ", which ", why);
    }
  }

  /// Nobody says in which order a task touches what it does: it may write what
  /// it reads, but not another value's bytes.
  void check_itself(const Touch &touch) {
    const Unrolled &in = run->unrolled;
    for (const Touch &other : in.touched(task)) {
      if (owner(in, other) == owner(in, touch))
        continue;
      for (uint32_t region : regions.of(touch.box))
        if (has(other, touch, region))
          return findings.add(
              "race",
              in.phase(task).name + '\n' + in.buffer(touch).name + '\n' +
                  in.buffer(other).name,
              run->name(task), " writes ", regions.element(touch.box, region),
              other.write ? ", and also " : ", and reads ",
              regions.element(other.box, region), " in the same bytes");
    }
  }

  void write(const Touch &touch) {
    check_itself(touch);
    Contents &of = *held[touch.buffer];
    for (uint32_t number : regions.of(touch.box)) {
      Region &region = of[number];
      // What the phase that advances states, the runtime does.
      if (region.kept && !run->unrolled.phase(task).advances)
        findings.add("value", run->unrolled.buffer(touch).name + " is kept",
                     run->name(task), " writes ",
                     regions.element(touch.box, number),
                     ", whose values are kept from step to step");
      for (uint32_t reader : region.readers)
        check_order(reader, touch, number);
      check_order(region.writer, touch, number);
      region.readers.clear();
      region.writer = task;
    }
    leave(touch, !touch.may);
  }

  /// A write that need not happen leaves what was the same buffer's before.
  void leave(const Touch &touch, bool happens) {
    const Owner who = owner(run->unrolled, touch);
    Contents &of = *held[touch.buffer];
    for (uint32_t number : regions.of(touch.box)) {
      Region &region = of[number];
      region.renewed |= happens;
      if (happens)
        region.owner = who;
      else if (region.owner != who)
        region.owner = nothing;
    }
  }

  /// What ranks move, and what the runtime takes, has to be what the phase says
  /// that it touches.
  void deliver(const Touch &moved) {
    const Unrolled &in = run->unrolled;
    const std::span<const Touch> all = in.touched(task);
    for (uint32_t region : regions.of(moved.box))
      if (std::none_of(all.begin(), all.end(), [&](const Touch &touch) {
            return touch.write == moved.write && has(touch, moved, region);
          }))
        return findings.add("exchange",
                            in.phase(task).name + in.buffer(moved).name,
                            run->name(task),
                            moved.write               ? " receives "
                            : in.phase(task).advances ? " hands over "
                                                      : " sends ",
                            regions.element(moved.box, region),
                            ", which no access of it states");
    if (moved.write)
      leave(moved, true);
  }

  void expect(const Unrolled &in, const Touch &touch, bool renewed,
              const std::string &otherwise) {
    const Contents &of = contents(in, touch.buffer);
    for (uint32_t region : regions.of(touch.box))
      if (of[region].owner != owner(in, touch) ||
          (renewed && !of[region].renewed))
        return findings.add("value", otherwise + in.buffer(touch).name,
                            run->rank.name, regions.element(touch.box, region),
                            otherwise);
  }

  void end_step(std::span<const Unrolled *const> programs) {
    for (const Unrolled *in : programs) {
      for (const Touch &touch : in->gained)
        expect(*in, touch, true, ", a row that a state gains, is not written");
      for (const Touch &touch : in->past)
        expect(*in, touch, false, ", a row of an earlier step, is overwritten");
      for (const Touch &touch : in->whole)
        if (is_carried(in->buffer(touch)))
          expect(*in, touch, false,
                 ", which later steps read, does not hold what it held");
      for (const Touch &touch : in->whole)
        if (in->symbols.outputs > 0 && is_carried(in->buffer(touch)) &&
            in->buffer(touch).carry == Buffer::Carry::Renewed)
          expect(*in, touch, true,
                 " is not renewed by a step that has outputs");
    }
  }

  const Regions &regions;
  Findings &findings;
  /// By storage number, chunk and slot.
  std::map<std::tuple<uint32_t, int64_t, int64_t>, Contents> memory;
  /// The chunk and microbatch whose values each slot keeps.
  std::map<int64_t, std::pair<int64_t, int64_t>> slots;
  const ProgramRun *run = nullptr;
  uint32_t task = 0;
  /// Of each buffer.
  std::vector<Contents *> held;
};
} // namespace

std::function<void(const ProgramRun &)>
baton::check::follow_memory(const Regions &regions, Findings &findings) {
  return [memory = std::make_shared<Memory>(regions, findings)](
             const ProgramRun &run) { memory->look_at(run); };
}
