//===- Installation.h - the files that batonc reads at run time ----------===//
//
// They lie in ../lib/baton beside the tool, in the build tree as in an
// installation, so that both can be moved.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_INSTALLATION_H
#define BATON_COMPILER_INSTALLATION_H

#include <string>
#include <vector>

namespace baton::compiler {

struct Installation {
  /// Absolute path of lib/baton.
  std::string root;

  /// The installation that the running tool belongs to. `argv0` is what the
  /// tool was called as.
  static Installation ofTool(const char *argv0);

  /// The headers that the source of a kernel for a device includes.
  std::string headers() const;
  /// Where tools/install-cuda puts NVRTC when the machine has none.
  std::string cuda() const;
  /// The program that measures the machine at hand.
  std::string machineSpeed() const;
  /// batonc itself.
  std::string compiler() const;
  /// What batonc quantize and batonc merge run.
  std::string tool(const std::string &name) const;
  /// Bitcode of the CPU task library.
  std::string cpuLibrary() const;
  std::string cpuLibraryInF64() const;
  /// Description of a target by its name, for example "cpu".
  std::string target(const std::string &name) const;
  /// An optimizer by its name, for example "adamw", and all names.
  std::string optimizer(const std::string &name) const;
  std::vector<std::string> optimizers() const;
  /// Runtime archives built for a sanitizer ("", "thread" or "address").
  std::vector<std::string> archives(const std::string &sanitize) const;
  /// The archive of devices' emulation, which is the same for all.
  std::string emulation() const;
};

} // namespace baton::compiler

#endif // BATON_COMPILER_INSTALLATION_H
