//===- memory.h - what a rank's bytes hold, and who touches them ----------===//

#ifndef BATON_TOOLS_CHECK_PLAN_MEMORY_H
#define BATON_TOOLS_CHECK_PLAN_MEMORY_H

#include "tools/check-plan/run.h"

namespace baton::check {

/// The memory of one rank, in which its programs run one after the other. Tasks
/// are looked at in order of rank, which is what a plan means: each reads what
/// it finds then, and who touches a region later has to come later.
class Memory {
public:
  Memory(const Regions &regions, std::string rank, Findings &findings)
      : regions(regions), rank(std::move(rank)), findings(findings) {}

  /// Forgets what does not live from step to step.
  void begin_step(std::span<const Unrolled *const> programs);
  /// What the runtime writes at the border before a program: that which the
  /// one before it says.
  void cross_border(const Unrolled &before);
  /// `places`: of each exchange, which of its group the rank is.
  void run(const ProgramRun &run,
           const std::function<int64_t(const Exchange &)> &place);
  void end_step(std::span<const Unrolled *const> programs);

private:
  static constexpr uint32_t nothing = 0, carried = 1;
  struct Content {
    /// Whose values a region holds: nobody's, those of a storage that outlives
    /// the program, or those of a buffer's copy.
    uint32_t owner = nothing;
    bool renewed = false;
    /// No task may write it.
    bool kept = false;
  };
  using Contents = std::vector<Content>;
  /// Who touched a region in the program that runs.
  struct Users {
    uint32_t writer = ~0u;
    std::vector<uint32_t> readers;
  };

  const Buffer &buffer(const Unrolled &in, const Touch &touch) const {
    return in.program->buffers[touch.buffer];
  }
  Contents &contents(const Unrolled &in, const Touch &touch);
  uint32_t owner(const Unrolled &in, const Touch &touch);
  void hold(const Unrolled &in, const Touch &touch);
  void start(const Unrolled &in);
  void read(const ProgramRun &run, uint32_t task, const Touch &touch);
  void check_itself(const ProgramRun &run, uint32_t task, const Touch &touch);
  void write(const ProgramRun &run, uint32_t task, const Touch &touch);
  void leave(const ProgramRun &run, const Touch &touch, bool happens);
  void deliver(const ProgramRun &run, uint32_t task, const Moved &moved);
  void check_order(const ProgramRun &run, uint32_t first, uint32_t then,
                   const Touch &touch, uint32_t region);
  bool starts(const ProgramRun &run, uint32_t task, const Touch &touch,
              uint32_t region) const;
  bool takes_first(const ProgramRun &run, uint32_t task,
                   const Touch &touch) const;
  std::string name(const ProgramRun &run, uint32_t task) const;
  std::string touched(const ProgramRun &run, uint32_t task, uint32_t storage,
                      uint32_t region, bool writes) const;

  const Regions &regions;
  const std::string rank;
  Findings &findings;
  /// By storage number, scope and place.
  std::map<std::tuple<uint32_t, int64_t, int64_t>, Contents> memory;
  /// Whose values each slot keeps.
  std::map<int64_t, std::pair<int64_t, int64_t>> slots;
  std::map<std::tuple<uint32_t, uint32_t, int64_t>, uint32_t> owners;
  /// Of the program that runs, by storage number.
  std::unordered_map<uint32_t, std::vector<Users>> users;
};

} // namespace baton::check

#endif // BATON_TOOLS_CHECK_PLAN_MEMORY_H
