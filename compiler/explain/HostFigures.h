//===- HostFigures.h - what the machine at hand can do, measured once -----===//

#ifndef BATON_COMPILER_EXPLAIN_HOSTFIGURES_H
#define BATON_COMPILER_EXPLAIN_HOSTFIGURES_H

#include "compiler/Installation.h"
#include "compiler/explain/Machine.h"

namespace baton::explain {

/// The kind of processor that runs this process, and how many of its cores the
/// process may use: what figures are kept under.
struct Host {
  std::string model;
  unsigned cores;

  static Host current();
  /// "2 cores of AMD EPYC".
  std::string text() const;
};

/// "2026-11-26", in UTC.
std::string today();

/// Workers, read bandwidth, peak and hand-over time of this machine, as they
/// are kept in `cache`, a folder of link::Cache; else measured, which takes
/// about two seconds, and kept there. An empty folder keeps nothing. Says on
/// standard error that it measures, unless `quiet`. Errors name what failed.
llvm::Expected<MachineFigures>
hostFigures(const compiler::Installation &installation,
            const std::string &cache, bool quiet);

} // namespace baton::explain

#endif // BATON_COMPILER_EXPLAIN_HOSTFIGURES_H
