//===- CudaTarget.h - programs for GPUs, and for their emulation ----------===//

#ifndef BATON_COMPILER_TARGETS_CUDA_CUDATARGET_H
#define BATON_COMPILER_TARGETS_CUDA_CUDATARGET_H

#include "compiler/Target.h"

namespace baton::compiler {

/// A plan becomes CUDA C++, which NVRTC compiles for an architecture, or clang
/// for the emulation of a device on the host.
class CudaTarget : public Target {
public:
  std::string name() const override { return "cuda:..."; }
  std::string examples() const override;
  std::string help() const override;
  std::string description() const override { return "cuda"; }
  llvm::Expected<std::vector<TargetDescription>>
  describe(const CompileOptions &options,
           const Installation &installation) const override;
  bool choosesByRows() const override { return true; }
  llvm::Error checkMeasurable(const CompileOptions &options) const override;
  bool has(Feature feature) const override;
  llvm::Error check(const CompileOptions &options) const override;
  llvm::Expected<Code> emit(llvm::ArrayRef<plan::ProgramLayout> layouts,
                            nlohmann::json &metadata,
                            const CompileOptions &options,
                            llvm::ArrayRef<TargetDescription> descriptions,
                            const cpu::Target &host,
                            const Installation &installation) const override;
  std::vector<std::string>
  archives(const CompileOptions &options,
           const Installation &installation) const override;

protected:
  std::optional<std::string>
  architecture(llvm::StringRef target) const override;
};

} // namespace baton::compiler

#endif // BATON_COMPILER_TARGETS_CUDA_CUDATARGET_H
