//===- panel_inputs.h - parts of packed weights as numbers ----------------===//
//
// For bodies that read a weight piece by piece, in every form that it may have.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_PANEL_INPUTS_H
#define BATON_CODEGEN_CPU_LIBRARY_PANEL_INPUTS_H

#include "codegen/cpu/library/blocks.h"
#include "codegen/cpu/library/library.h"

namespace baton::cpu {

/// Inputs that are unpacked at once: whole blocks of every format.
constexpr int64_t most_inputs = 256;

/// Inputs [begin, begin + count) of a panel as [count][16], whole blocks but at
/// the end; where they lie already, there.
template <typename Weight>
BATON_INLINE const Real *unpack_inputs(Real *buffer, const Weight *panel,
                                       int64_t begin, int64_t count) {
  return unpack(buffer, panel + PanelSize<Weight>::of(begin), count);
}

/// A panel that says which format it has.
struct MixedPanel {
  int8_t byte;
};

template <typename Format>
__attribute__((noinline)) void unpack_format(Real *buffer,
                                             const MixedPanel *panel,
                                             int64_t begin, int64_t count) {
  unpack_inputs(buffer,
                reinterpret_cast<const typename Stored<Format>::Weight *>(
                    panel + sizeof(blocks::MixedHead)),
                begin, count);
}

BATON_INLINE const Real *unpack_inputs(Real *buffer, const MixedPanel *panel,
                                       int64_t begin, int64_t count) {
  blocks::MixedHead head;
  __builtin_memcpy(&head, panel, sizeof head);
  switch (head.format) {
#define BATON_UNPACK_FORMAT(NAME, FORMAT)                                      \
  case blocks::NAME:                                                           \
    unpack_format<blocks::FORMAT>(buffer, panel, begin, count);                \
    return buffer;
    BATON_FOR_EACH_BLOCK(BATON_UNPACK_FORMAT)
    BATON_FOR_EACH_PLAIN_FORMAT(BATON_UNPACK_FORMAT)
#undef BATON_UNPACK_FORMAT
  }
  __builtin_trap();
}

/// How inputs of a panel come, together.
template <typename Weight>
constexpr int64_t inputs_together = PanelSize<Weight>::inputs;
template <> inline constexpr int64_t inputs_together<MixedPanel> = most_inputs;

template <typename Weight>
BATON_INLINE int64_t panel_stride_of(const Weight *, int64_t inputs) {
  return PanelSize<Weight>::of(inputs);
}
BATON_INLINE int64_t panel_stride_of(const MixedPanel *panels, int64_t) {
  blocks::MixedHead head;
  __builtin_memcpy(&head, panels, sizeof head);
  return head.stride;
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_PANEL_INPUTS_H
