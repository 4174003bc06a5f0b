//===- device_facts.h - devices of batonc plan, for the compiler's plans --===//

#ifndef BATON_TOOLS_BATONC_DEVICE_FACTS_H
#define BATON_TOOLS_BATONC_DEVICE_FACTS_H

#include "compiler/Installation.h"
#include "passes/planning/PlacementProblem.h"

#include "llvm/Support/Error.h"

namespace baton::tools {

struct NamedDevice {
  std::string name;
  planning::DeviceFacts facts;
  int64_t perNode = 1;
  /// Bytes in a second, and seconds, of a message from one device to another:
  /// inside a node, and between nodes.
  double linkRate = 0, linkLatency = 0, networkRate = 0, networkLatency = 0;
};

/// Of a name of the installation's or a file; `ranks` exchange tensors, inside
/// a node where they fit one, else over a network that a node's devices share.
/// Products are as fast as of 16-bit numbers.
llvm::Expected<NamedDevice>
readDeviceFacts(const std::string &nameOrFile, int64_t ranks,
                const compiler::Installation &installation);

} // namespace baton::tools

#endif // BATON_TOOLS_BATONC_DEVICE_FACTS_H
