//===- Process.h - what a compiler expects of its process ----------------===//

#ifndef BATON_TOOLS_BATONC_PROCESS_H
#define BATON_TOOLS_BATONC_PROCESS_H

namespace baton {

/// Closed pipes and full disks fail writes instead of killing the process;
/// signals end it in good order (codegen/link/Scratch.h); no file that is
/// opened later takes the place of a closed standard stream. Called before
/// anything else.
void prepareProcess();

} // namespace baton

#endif // BATON_TOOLS_BATONC_PROCESS_H
