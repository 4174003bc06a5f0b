//===- amx.cpp - leave to use the CPU's tiles -----------------------------===//

#include "runtime/execute/amx.h"

#include "runtime/error.h"

#include <cerrno>
#include <cstring>
#include <string>

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
  throw Error(std::string("this program was compiled for a CPU with AMX, which "
                          "this machine lacks or its kernel does not let it "
                          "use (") +
              std::strerror(errno) +
              "); compile it with --activations=bf16-amx and a --target-cpu "
              "without, such as x86-64-v3, for the same bits");
}

} // namespace baton
