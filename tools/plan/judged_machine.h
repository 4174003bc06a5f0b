//===- judged_machine.h - whose measurements a table has ------------------===//

#ifndef BATON_TOOLS_PLAN_JUDGED_MACHINE_H
#define BATON_TOOLS_PLAN_JUDGED_MACHINE_H

#include "tools/plan/judge.h"

#include <string>
#include <vector>

namespace baton::plan {

/// What may have made a table's steps.
struct Machine {
  Device device;
  Framework framework;
};

/// Of these names, the devices that a table speaks of: of a100-80gb "A100", of
/// rtx-4090 "4090", as words of `about`; all where it names none.
std::vector<std::string> named_devices(const std::vector<std::string> &names,
                                       const std::string &about);

/// All machines with these devices and frameworks, which are names or files. In
/// the place of "auto" are the devices that the table names, and all frameworks
/// there are. The first is what published tables with such columns were
/// measured on, if it is among them.
std::vector<Machine> possible_machines(const MeasuredTable &table,
                                       const std::string &device,
                                       const std::string &framework);

/// The machine with which the row that calibrates, from 0, surprises least, by
/// its time and by what it allocated; no other row's measurements play a part,
/// but all rows have to fit the device. Another machine than the first has to
/// make it e^6 times as likely.
const Machine &likeliest(const std::vector<Machine> &machines,
                         const std::vector<MeasuredStep> &steps,
                         size_t calibrating,
                         std::optional<Recompute> recompute);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_JUDGED_MACHINE_H
