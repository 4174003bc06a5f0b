//===- check_body.h - batonc check-body -----------------------------------===//

#ifndef BATON_TOOLS_BATONC_CHECK_BODY_H
#define BATON_TOOLS_BATONC_CHECK_BODY_H

namespace baton::tools {

/// Takes the arguments from the command's name on; returns the exit status.
/// The tool is what batonc was called as.
int checkBodyCommand(int argc, char **argv, const char *tool);

} // namespace baton::tools

#endif // BATON_TOOLS_BATONC_CHECK_BODY_H
