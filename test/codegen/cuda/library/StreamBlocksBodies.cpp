//===- StreamBlocksBodies.cpp - blocks that flow through a ring, emulated -===//

#include "test/codegen/cuda/library/StreamBlocksBodies.h"
#include "runtime/cuda/emulation/engine.h"
#include "test/codegen/cuda/library/Relocation.h"

#include <algorithm>

// Behind the standard headers, whose attributes it redefines.
#include "test/codegen/cuda/library/matrix_blocks_linears.h"
#include "test/codegen/cuda/library/stream_blocks_linears.h"

using namespace baton;
using namespace baton::test;

template <uint32_t Formats, bool OfBytes, int Threads, uint32_t Ring = Formats>
static StreamBlocksBody body_of(const char *formats) {
  return {formats, Threads, OfBytes, [](void *arguments) {
            const auto &call =
                *static_cast<const StreamBlocksCall *>(arguments);
            BATON_DYNAMIC_SHARED(shared);
            stream_blocks<Formats, Ring, OfBytes, Threads>(
                shared, call.out, call.x, call.exact, call.panels, call.bias,
                call.other, call.k, call.stride, call.columns, call.tile,
                call.activation, call.gated);
          }};
}

std::string StreamBlocksBody::kernel() const {
  std::string list = formats;
  std::replace(list.begin(), list.end(), '|', '_');
  const std::string name =
      std::string("stream_") + (of_integers ? "integers_" : "blocks_") + list;
  return threads == 256 ? name
                        : name + " of " + std::to_string(threads) + " threads";
}

bool StreamBlocksBody::can_run() const {
  Place *const place = Place::chosen();
  return !place || place->has(kernel());
}

void StreamBlocksBody::run(StreamBlocksCall call, uint64_t seed) const {
  const emulation::Launch launch = {
      1, static_cast<unsigned>(threads),
      static_cast<size_t>(block_ring_bytes * threads), seed};
  run_placed(
      kernel(), launch.threads, launch.shared_bytes,
      [&] { emulation::launch(launch, body, &call); }, call.out, call.x,
      call.exact, call.panels, call.bias, call.other, call.k, call.stride,
      call.columns, call.tile, call.activation, call.gated);
}

const std::vector<StreamBlocksBody> &test::stream_blocks_bodies() {
  static const std::vector<StreamBlocksBody> all = {
#define BATON_BODY_OF(NAME, BLOCK)                                             \
  body_of<1u << blocks::NAME, false, 64>(#NAME),
      BATON_FOR_EACH_BLOCK(BATON_BODY_OF)
#undef BATON_BODY_OF
#define BATON_INTEGER_BODY_OF(NAME, BLOCK)                                     \
  body_of<1u << blocks::NAME, true, 64>(#NAME),
          BATON_FOR_EACH_INTEGER_BLOCK(BATON_INTEGER_BODY_OF)
#undef BATON_INTEGER_BODY_OF
              body_of<some_formats, false, 128>(some_names),
      body_of<some_formats, true, 128>(some_names),
      body_of < 1u << blocks::q4_0 | 1u << blocks::f16 | 1u << blocks::f32,
      false, 64 > ("q4_0|f16|f32"),
      body_of < 1u << blocks::q8_0 | 1u << blocks::q4_k | 1u << blocks::f16 |
          1u << blocks::bf16 | 1u << blocks::f32,
      true, 64 > ("q8_0|q4_k|f16|bf16|f32"),
      body_of < 1u << blocks::q4_0 | 1u << blocks::f16, true,
      128 > ("q4_0|f16"),
      // A ring with longer slots than its own.
      body_of < 1u << blocks::bf16, false, 128,
      1u << blocks::bf16 | some_formats > ("bf16"),
      body_of < 1u << blocks::q4_0, false, 32,
      1u << blocks::q4_0 | 1u << blocks::bf16 > ("q4_0"),
      body_of<1u << blocks::q4_k, false, 256>("q4_k"),
      body_of<1u << blocks::q4_k, true, 256>("q4_k"),
      body_of<1u << blocks::q6_k, false, 256>("q6_k")};
  return all;
}
