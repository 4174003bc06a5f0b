//===- PlanJson.h - a plan as data, for who judges it ---------------------===//

#ifndef BATON_CODEGEN_PLAN_PLANJSON_H
#define BATON_CODEGEN_PLAN_PLANJSON_H

#include "dialects/Event/Event.h"

#include <nlohmann/json_fwd.hpp>

namespace baton::plan {

/// All programs of a step, and which of them a rank runs in which order, in the
/// form that docs/event-dialect.md describes. States what is there, right or
/// wrong: a plan needs no proof, and an attribute of an op that this file does
/// not know of the dialect's own is left out.
nlohmann::json planJson(llvm::ArrayRef<event::ProgramOp> programs);

} // namespace baton::plan

#endif // BATON_CODEGEN_PLAN_PLANJSON_H
