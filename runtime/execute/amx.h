//===- amx.h - leave to use the CPU's tiles -------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_AMX_H
#define BATON_RUNTIME_EXECUTE_AMX_H

namespace baton {

/// Asks the kernel to let this process use AMX's tiles, which it keeps from
/// whoever has not asked. False where it does not, or where there are none.
bool request_amx();

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_AMX_H
