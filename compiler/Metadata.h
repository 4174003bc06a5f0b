//===- Metadata.h - what an executable says of itself ---------------------===//

#ifndef BATON_COMPILER_METADATA_H
#define BATON_COMPILER_METADATA_H

#include "codegen/cpu/Target.h"
#include "codegen/plan/ProgramLayout.h"
#include "compiler/Options.h"
#include "dialects/Event/Event.h"

#include <nlohmann/json.hpp>

namespace baton::compiler {

/// The plans' metadata (codegen/plan/Metadata.h), and the model, the target
/// and what a token costs.
nlohmann::json metadata(llvm::ArrayRef<plan::ProgramLayout> layouts,
                        const CompileOptions &options,
                        const cpu::Target &target);

/// As text. Names come from file names and IR, which need not be UTF-8.
std::string jsonText(const nlohmann::json &json);

} // namespace baton::compiler

#endif // BATON_COMPILER_METADATA_H
