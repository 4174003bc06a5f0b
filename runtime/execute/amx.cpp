//===- amx.cpp - leave to use the CPU's tiles -----------------------------===//

#include "runtime/execute/amx.h"

#include "runtime/error.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace baton {

bool request_amx() {
#if defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)
  // Documentation/arch/x86/xstate.rst of Linux; its header's names for them are
  // younger than many systems.
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

void require_amx(const Metadata &metadata) {
  const auto target = metadata.json.find("target");
  if (target == metadata.json.end() || !target->value("amx", false) ||
      request_amx())
    return;
  throw Error(
      "this program was compiled for a CPU with AMX, which this machine "
      "lacks or its kernel does not let programs use; compile it with "
      "--target-cpu=x86-64-v4, which has the same bits with "
      "--activations=bf16-amx");
}

} // namespace baton
