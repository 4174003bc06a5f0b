//===- installed_tool.h - commands that are programs of their own ---------===//

#ifndef BATON_TOOLS_BATONC_INSTALLED_TOOL_H
#define BATON_TOOLS_BATONC_INSTALLED_TOOL_H

#include <string>

namespace baton::tools {

/// Becomes the program that quantises (tools/quantize), with the arguments from
/// the command's name on; returns the exit status where there is none. The tool
/// is what batonc was called as. Called before prepareProcess(): what that does
/// to signals would stay.
int quantizeCommand(char **argv, const char *tool);

/// Likewise the program that prunes (tools/prune).
int pruneCommand(char **argv, const char *tool);

/// Likewise the program that plans (tools/plan).
int planCommand(char **argv, const char *tool);

/// Likewise the program that compares ranks (tools/health).
int healthCommand(char **argv, const char *tool);

/// Likewise the program that measures this machine (tools/calibrate):
/// "calibrate" or "sweep".
int calibrateCommand(char **argv, const char *tool, const std::string &command);

/// Likewise the program that merges (tools/merge).
int mergeCommand(char **argv, const char *tool);

} // namespace baton::tools

#endif // BATON_TOOLS_BATONC_INSTALLED_TOOL_H
