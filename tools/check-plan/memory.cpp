//===- memory.cpp - what a rank's bytes hold, and who touches them --------===//

#include "tools/check-plan/memory.h"

#include <algorithm>

using namespace baton::check;

std::string Memory::name(const ProgramRun &run, uint32_t task) const {
  std::string text =
      rank + "@" + run.unrolled.program->name + " " + run.unrolled.name(task);
  if (!run.each)
    text += " (worker " + std::to_string(run.deal.worker[task]) + ")";
  return text;
}

/// The memory that a call's storage is: a slot's of a chunk, a chunk's, or all
/// of the rank's.
Memory::Contents &Memory::contents(const Unrolled &in, const Touch &touch) {
  const Storage &storage = in.program->storages[buffer(in, touch).storage];
  const uint32_t number = regions.box(touch.box).storage;
  const bool is_stage = storage.scope == Storage::Scope::Stage;
  Contents &found = memory[{number, is_stage ? in.call.chunk : -1,
                            storage.slot == "flight" ? in.call.slot : -1}];
  if (found.empty())
    found.resize(regions.count_regions(number));
  return found;
}

/// What is not transient may be seen through several buffers.
uint32_t Memory::owner(const Unrolled &in, const Touch &touch) {
  const Buffer &of = buffer(in, touch);
  if (of.kind != Buffer::Kind::Transient && !of.ring)
    return carried;
  auto [found, is_new] =
      owners.emplace(std::tuple(in.call.program, touch.buffer, touch.layer), 0);
  if (is_new)
    found->second = uint32_t(owners.size()) + carried;
  return found->second;
}

void Memory::hold(const Unrolled &in, const Touch &touch) {
  Contents &of = contents(in, touch);
  const uint32_t who = owner(in, touch);
  for (uint32_t region : regions.regions(touch.box))
    of[region].owner = who;
}

void Memory::begin_step(std::span<const Unrolled *const> programs) {
  memory.clear();
  slots.clear();
  for (const Unrolled *program : programs) {
    for (const Touch &touch : program->carried)
      hold(*program, touch);
    for (const Touch &touch : program->past)
      hold(*program, touch);
  }
  for (const Unrolled *program : programs)
    for (const Touch &touch : program->kept)
      for (uint32_t region : regions.regions(touch.box))
        contents(*program, touch)[region].kept = true;
}

void Memory::cross_border(const Unrolled &before) {
  for (const Touch &touch : before.advance)
    hold(before, touch);
}

/// Memory that is free between programs holds nothing yet, nor does that of a
/// slot which another microbatch has taken.
void Memory::start(const Unrolled &in) {
  users.clear();
  const std::pair<int64_t, int64_t> microbatch(in.call.chunk,
                                               in.call.microbatch);
  auto [slot, is_new] = slots.emplace(in.call.slot, microbatch);
  const bool is_taken = !is_new && slot->second != microbatch;
  slot->second = microbatch;
  std::set<uint32_t> transient;
  for (const Touch &touch : in.touches)
    if (in.program->storages[buffer(in, touch).storage].scope ==
        Storage::Scope::Transient)
      transient.insert(regions.box(touch.box).storage);
  std::erase_if(memory, [&](const auto &entry) {
    const auto &[number, chunk, of_slot] = entry.first;
    return transient.count(number) || (is_taken && of_slot == in.call.slot);
  });
}

void Memory::run(const ProgramRun &run,
                 const std::function<int64_t(const Exchange &)> &place) {
  const Unrolled &in = run.unrolled;
  start(in);
  size_t moved = 0;
  for (uint32_t task = 0; task < in.tasks.size(); ++task) {
    for (const Touch &touch : in.touched(task))
      if (!touch.write)
        read(run, task, touch);
    for (const Touch &touch : in.touched(task))
      if (touch.write)
        write(run, task, touch);
    for (; moved < in.moved.size() && in.moved[moved].task == task; ++moved) {
      const Phase &phase = in.phase(task);
      if (!phase.exchange || in.moved[moved].place == place(*phase.exchange))
        deliver(run, task, in.moved[moved]);
    }
  }
}

/// "writes @x[3, 5]": how a task touches a region.
std::string Memory::touched(const ProgramRun &run, uint32_t task,
                            uint32_t storage, uint32_t region,
                            bool writes) const {
  for (const Touch &touch : run.unrolled.touched(task)) {
    std::span<const uint32_t> list = regions.regions(touch.box);
    if (touch.write == writes && regions.box(touch.box).storage == storage &&
        std::find(list.begin(), list.end(), region) != list.end())
      return (writes ? " writes " : " reads ") +
             regions.element(touch.box, region);
  }
  return "";
}

/// Of two tasks that touch the same bytes, one of which writes, the one that
/// means to be first has to be over when the other begins.
void Memory::check_order(const ProgramRun &run, uint32_t first, uint32_t then,
                         const Touch &touch, uint32_t region) {
  if (first == then || run.clocks.before(first, then))
    return;
  const uint32_t storage = regions.box(touch.box).storage;
  const bool wrote = users[storage][region].writer == first;
  const bool turned = run.clocks.before(then, first);
  const std::string kind = turned ? "order" : "race";
  const std::string fault = run.unrolled.phase(first).name + '\n' +
                            run.unrolled.phase(then).name + '\n' +
                            buffer(run.unrolled, touch).name;
  if (findings.has(kind, fault))
    return;
  findings.add(kind, fault,
               name(run, then) + (touch.write ? " writes " : " reads ") +
                   regions.element(touch.box, region) + ", and " +
                   name(run, first) +
                   touched(run, first, storage, region, wrote) + ": " +
                   (turned ? "the former comes first, the latter should"
                           : "nothing orders them"));
}

/// Whether a task that reads a region if a flag is set also writes it, of a
/// buffer whose values begin anew in each step: the first one of a step adds to
/// nothing.
bool Memory::starts(const ProgramRun &run, uint32_t task, const Touch &touch,
                    uint32_t region) const {
  const Buffer &of = buffer(run.unrolled, touch);
  if (!touch.conditional || of.kind != Buffer::Kind::Persistent || of.ring)
    return false;
  for (const Touch &other : run.unrolled.touched(task)) {
    std::span<const uint32_t> list = regions.regions(other.box);
    if (other.write && !other.may &&
        regions.box(other.box).storage == regions.box(touch.box).storage &&
        std::find(list.begin(), list.end(), region) != list.end())
      return true;
  }
  return false;
}

/// The first layer of a ring may be brought through another buffer, before the
/// segment that turns the ring.
bool Memory::takes_first(const ProgramRun &run, uint32_t task,
                         const Touch &touch) const {
  return buffer(run.unrolled, touch).ring &&
         run.unrolled.tasks[task].iteration == 0 &&
         !run.unrolled.phase(task).ahead;
}

void Memory::read(const ProgramRun &run, uint32_t task, const Touch &touch) {
  const Unrolled &in = run.unrolled;
  const uint32_t storage = regions.box(touch.box).storage;
  const Contents &held = contents(in, touch);
  std::vector<Users> &of = users[storage];
  of.resize(held.size());
  const uint32_t who = owner(in, touch);
  for (uint32_t region : regions.regions(touch.box)) {
    Users &user = of[region];
    if (user.writer != ~0u)
      check_order(run, user.writer, task, touch, region);
    // The last reader on a worker stands for all on it.
    auto same = std::find_if(
        user.readers.begin(), user.readers.end(), [&](uint32_t other) {
          return run.deal.worker[other] == run.deal.worker[task];
        });
    if (same == user.readers.end())
      user.readers.push_back(task);
    else if (run.deal.position[*same] < run.deal.position[task])
      *same = task;
    const uint32_t owner_now = held[region].owner;
    // Who may read what is there uses only what was written.
    if (owner_now == who || touch.may ||
        (owner_now == carried && takes_first(run, task, touch)))
      continue;
    const std::string fault =
        in.program->name + in.phase(task).name + buffer(in, touch).name;
    if (findings.has("value", fault) ||
        (owner_now == nothing && starts(run, task, touch, region)))
      continue;
    std::string why = ", which nobody has written in this step";
    if (owner_now != nothing && user.writer != ~0u)
      why = ", which " + name(run, user.writer) + " has overwritten: it" +
            touched(run, user.writer, storage, region, true);
    findings.add("value", fault,
                 name(run, task) + " reads " +
                     regions.element(touch.box, region) + why);
  }
}

/// Nobody says in which order a task touches what it does: it may write what it
/// reads, but not another value's bytes.
void Memory::check_itself(const ProgramRun &run, uint32_t task,
                          const Touch &touch) {
  const Unrolled &in = run.unrolled;
  for (const Touch &other : in.touched(task)) {
    if (regions.box(other.box).storage != regions.box(touch.box).storage ||
        owner(in, other) == owner(in, touch))
      continue;
    std::span<const uint32_t> list = regions.regions(other.box);
    for (uint32_t region : regions.regions(touch.box))
      if (std::find(list.begin(), list.end(), region) != list.end())
        return findings.add(
            "race",
            in.phase(task).name + '\n' + buffer(in, touch).name + '\n' +
                buffer(in, other).name,
            name(run, task) + " writes " + regions.element(touch.box, region) +
                (other.write ? ", and also " : ", and reads ") +
                regions.element(other.box, region) + " in the same bytes");
  }
}

void Memory::write(const ProgramRun &run, uint32_t task, const Touch &touch) {
  check_itself(run, task, touch);
  const Contents &held = contents(run.unrolled, touch);
  std::vector<Users> &of = users[regions.box(touch.box).storage];
  of.resize(held.size());
  for (uint32_t region : regions.regions(touch.box)) {
    // What the phase that advances states, the runtime does.
    if (held[region].kept && !run.unrolled.phase(task).advances)
      findings.add("value", buffer(run.unrolled, touch).name + " is kept",
                   name(run, task) + " writes " +
                       regions.element(touch.box, region) +
                       ", whose values are kept from step to step");
    Users &user = of[region];
    for (uint32_t reader : user.readers)
      check_order(run, reader, task, touch, region);
    if (user.writer != ~0u)
      check_order(run, user.writer, task, touch, region);
    user.readers.clear();
    user.writer = task;
  }
  leave(run, touch, !touch.may);
}

/// A write that need not happen leaves what was the same buffer's before.
void Memory::leave(const ProgramRun &run, const Touch &touch, bool happens) {
  Contents &held = contents(run.unrolled, touch);
  const uint32_t who = owner(run.unrolled, touch);
  for (uint32_t region : regions.regions(touch.box)) {
    Content &content = held[region];
    if (happens)
      content.owner = who, content.renewed = true;
    else if (content.owner != who)
      content.owner = nothing;
  }
}

/// What ranks move, and what the runtime takes, has to be what the phase says
/// that it touches.
void Memory::deliver(const ProgramRun &run, uint32_t task, const Moved &moved) {
  const Unrolled &in = run.unrolled;
  std::set<uint32_t> stated;
  for (const Touch &touch : in.touched(task))
    if (touch.write == moved.touch.write &&
        regions.box(touch.box).storage == regions.box(moved.touch.box).storage)
      for (uint32_t region : regions.regions(touch.box))
        stated.insert(region);
  for (uint32_t region : regions.regions(moved.touch.box))
    if (!stated.count(region))
      return findings.add("exchange",
                          in.phase(task).name + buffer(in, moved.touch).name,
                          name(run, task) +
                              (moved.touch.write         ? " receives "
                               : in.phase(task).advances ? " hands over "
                                                         : " sends ") +
                              regions.element(moved.touch.box, region) +
                              ", which no access of it states");
  if (moved.touch.write)
    leave(run, moved.touch, true);
}

void Memory::end_step(std::span<const Unrolled *const> programs) {
  auto expect = [&](const Unrolled &in, const Touch &touch, bool renewed,
                    const char *what) {
    const Contents &held = contents(in, touch);
    for (uint32_t region : regions.regions(touch.box))
      if (held[region].owner != owner(in, touch) ||
          (renewed && !held[region].renewed))
        return findings.add("value", what + buffer(in, touch).name,
                            rank + regions.element(touch.box, region) + what);
  };
  for (const Unrolled *in : programs) {
    for (const Touch &touch : in->gained)
      expect(*in, touch, true, ", a row that a state gains, is not written");
    for (const Touch &touch : in->past)
      expect(*in, touch, false, ", a row of an earlier step, is overwritten");
    for (const Touch &touch : in->carried)
      expect(*in, touch, false,
             ", which later steps read, does not hold what "
             "it held");
    if (in->symbols.outputs > 0)
      for (const Touch &touch : in->renewed)
        expect(*in, touch, true, " is not renewed by a step that has outputs");
  }
}
