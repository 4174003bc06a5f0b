//===- plan_shard.h - batonc plan shard -----------------------------------===//

#ifndef BATON_TOOLS_BATONC_PLAN_SHARD_H
#define BATON_TOOLS_BATONC_PLAN_SHARD_H

namespace baton::tools {

/// Takes the arguments from the command's last word on; returns the exit
/// status.
int planShardCommand(int argc, char **argv, const char *tool);

} // namespace baton::tools

#endif // BATON_TOOLS_BATONC_PLAN_SHARD_H
