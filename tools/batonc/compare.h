//===- compare.h - batonc compare -----------------------------------------===//

#ifndef BATON_TOOLS_BATONC_COMPARE_H
#define BATON_TOOLS_BATONC_COMPARE_H

namespace baton::tools {

/// Takes the arguments from the command's name on, and what the tool was called
/// as; returns the exit status.
int compareCommand(int argc, char **argv, const char *tool);

} // namespace baton::tools

#endif // BATON_TOOLS_BATONC_COMPARE_H
