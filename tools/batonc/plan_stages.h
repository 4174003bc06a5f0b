//===- plan_stages.h - batonc plan stages ---------------------------------===//

#ifndef BATON_TOOLS_BATONC_PLAN_STAGES_H
#define BATON_TOOLS_BATONC_PLAN_STAGES_H

namespace baton::tools {

/// Takes the arguments from the command's last word on; returns the exit
/// status.
int planStagesCommand(int argc, char **argv, const char *tool);

} // namespace baton::tools

#endif // BATON_TOOLS_BATONC_PLAN_STAGES_H
