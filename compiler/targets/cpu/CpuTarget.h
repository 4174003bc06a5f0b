//===- CpuTarget.h - programs for the host's cores ------------------------===//

#ifndef BATON_COMPILER_TARGETS_CPU_CPUTARGET_H
#define BATON_COMPILER_TARGETS_CPU_CPUTARGET_H

#include "compiler/Target.h"

namespace baton::compiler {

/// A plan becomes one object, into which the task library's bitcode is inlined.
class CpuTarget : public Target {
public:
  std::string name() const override { return "cpu"; }
  std::string description() const override { return "cpu"; }
  bool runsOnHost() const override { return true; }
  /// With the tiles of linears whose sums are AMX's, where they are.
  llvm::Expected<std::vector<TargetDescription>>
  describe(const CompileOptions &options,
           const Installation &installation) const override;
  bool has(Feature feature) const override;
  llvm::Error check(const CompileOptions &options) const override;
  llvm::Expected<Code> emit(llvm::ArrayRef<plan::ProgramLayout> layouts,
                            nlohmann::json &metadata,
                            const CompileOptions &options,
                            llvm::ArrayRef<TargetDescription> descriptions,
                            const cpu::Target &host,
                            const Installation &installation) const override;

protected:
  /// Paths of the task library's bitcode, and of the same in F64.
  virtual std::string library(const Installation &installation) const;
  virtual std::string libraryInF64(const Installation &installation) const;

private:
  cpu::TargetOptions codegenOptions(const CompileOptions &options,
                                    const Installation &installation) const;
};

} // namespace baton::compiler

#endif // BATON_COMPILER_TARGETS_CPU_CPUTARGET_H
