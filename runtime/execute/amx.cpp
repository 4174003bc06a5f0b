//===- amx.cpp - leave to use the CPU's tiles -----------------------------===//

#include "runtime/execute/amx.h"

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

} // namespace baton
