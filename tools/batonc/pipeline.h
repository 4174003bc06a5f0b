//===- pipeline.h - batonc pipeline ---------------------------------------===//

#ifndef BATON_TOOLS_BATONC_PIPELINE_H
#define BATON_TOOLS_BATONC_PIPELINE_H

namespace baton::tools {

/// Takes the arguments from the command's name on; returns the exit status.
int pipelineCommand(int argc, char **argv);

} // namespace baton::tools

#endif // BATON_TOOLS_BATONC_PIPELINE_H
