//===- StreamBodies.cpp - linears of one row through a ring, emulated -----===//

#include "test/codegen/cuda/library/StreamBodies.h"
#include "runtime/cuda/emulation/engine.h"
#include "test/codegen/cuda/library/Relocation.h"

#include <string>

// Behind the standard headers, whose attributes it redefines.
#include "test/codegen/cuda/library/stream_linears.h"

using namespace baton;
using namespace baton::test;

template <int Threads> static StreamBodies bodies_of() {
  return {Threads,
          [](void *arguments) {
            const auto &call = *static_cast<const StreamCall *>(arguments);
            BATON_DYNAMIC_SHARED(shared);
            stream_linear<Threads>(shared, call.out, call.x, call.panels,
                                   call.bias, call.other, call.k, call.columns,
                                   call.tile, call.activation);
          },
          [](void *arguments) {
            const auto &call = *static_cast<const StreamCall *>(arguments);
            BATON_DYNAMIC_SHARED(shared);
            stream_gated_linear<Threads>(
                shared, call.out, call.x, call.panels, call.bias, call.other,
                call.k, call.columns, call.tile, call.activation);
          }};
}

/// CompiledBodies.cu's name of a body.
static std::string kernel(const char *body, int threads) {
  return threads == 256
             ? body
             : body + (" of " + std::to_string(threads)) + " threads";
}

static void run(const char *body, int threads, void (*emulated)(void *),
                StreamCall call, uint64_t seed) {
  const emulation::Launch launch = {
      1, static_cast<unsigned>(threads),
      static_cast<size_t>(ring_stages * threads * 16), seed};
  run_placed(
      kernel(body, threads), launch.threads, launch.shared_bytes,
      [&] { emulation::launch(launch, emulated, &call); }, call.out, call.x,
      call.panels, call.bias, call.other, call.k, call.columns, call.tile,
      call.activation);
}

void StreamBodies::run_linear(StreamCall call, uint64_t seed) const {
  run("stream_linear", threads, linear, call, seed);
}
void StreamBodies::run_gated_linear(StreamCall call, uint64_t seed) const {
  run("stream_gated_linear", threads, gated_linear, call, seed);
}

bool StreamBodies::can_run() const {
  Place *const place = Place::chosen();
  return !place || place->has(kernel("stream_linear", threads));
}

const std::vector<StreamBodies> &test::stream_bodies() {
  static const std::vector<StreamBodies> all = {
      bodies_of<32>(), bodies_of<128>(), bodies_of<256>()};
  return all;
}
