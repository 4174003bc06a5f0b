//===- amx.h - leave to use the CPU's tiles -------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_AMX_H
#define BATON_RUNTIME_EXECUTE_AMX_H

#include "runtime/execute/metadata.h"

namespace baton {

/// Asks the kernel to let this process use AMX's tiles, which it keeps from
/// whoever has not asked. False where it does not, or where there are none.
bool request_amx();

/// The same for a program that has its instructions. Throws Error that says
/// what to do where it cannot.
void require_amx(const Metadata &metadata);

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_AMX_H
