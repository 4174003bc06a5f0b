//===- this_machine.cpp - the machine at hand as devices ------------------===//

#include "tools/plan/this_machine.h"

#include "runtime/execute/machine_speed.h"
#include "runtime/main/free_memory.h"
#include "runtime/main/table.h"

#include <unistd.h>

using namespace baton;
using namespace baton::plan;

// What training steps reach of what is measured: products of multiply-adds, as
// steps did (docs/measurements/2026-11-29-plan-train.md); attention's of the
// same and bytes of the bandwidth are assumed.
static constexpr double products_reach = 0.7, attention_reach = 0.25,
                        streams_reach = 0.6;

Device plan::this_machine_cut(int64_t ranks, unsigned workers) {
  const auto threads = unsigned(ranks) * workers;
  const auto parts = double(ranks);
  Device device;
  device.name = "this machine's ranks of " + std::to_string(workers) +
                (workers == 1 ? " worker" : " workers");
  device.matmul_rate = measure_arithmetic_peak(threads) / parts;
  device.bandwidth = measure_read_bandwidth(threads) / parts;
  device.source = "Measured now: " + fixed_text(device.matmul_rate / 1e9, 1) +
                  " GFLOP/s and " + fixed_text(device.bandwidth / 1e9, 1) +
                  " GB/s a rank. What steps reach of them is assumed: " +
                  percent_text(products_reach) + " in products, " +
                  percent_text(attention_reach) + " in attention, " +
                  percent_text(streams_reach) + " of the bytes.";
  const auto all =
      double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE));
  device.memory = double(free_memory().value_or(uint64_t(all))) / parts;
  device.matmul_fraction = products_reach;
  device.attention_fraction = attention_reach;
  device.stream_fraction = device.dropout_fraction = streams_reach;
  device.uncertainty = 0.3;
  device.multiprocessors = workers;
  device.devices_per_node = ranks;
  // A part is read by one and written by the other.
  device.link_rate = device.network_rate = device.bandwidth * streams_reach / 2;
  device.link_latency = device.network_latency = 20e-6;
  return device;
}
