//===- explain.h - batonc explain -----------------------------------------===//

#ifndef BATON_TOOLS_BATONC_EXPLAIN_H
#define BATON_TOOLS_BATONC_EXPLAIN_H

namespace baton::tools {

/// Takes the arguments from the command's name on, and what the tool was called
/// as; returns the exit status.
int explainCommand(int argc, char **argv, const char *tool);

} // namespace baton::tools

#endif // BATON_TOOLS_BATONC_EXPLAIN_H
