//===- layer_arrival.cpp - a layer's weights come from a file -------------===//

#include "runtime/layer_arrival.h"
#include "codegen/cpu/library/vector.h"

using namespace baton::cpu;

BATON_TASK void baton_task_layer_arrival(int32_t *__restrict arrived,
                                         const int32_t *__restrict arrival) {
  BatonLayerArrival runtime;
  __builtin_memcpy(&runtime, arrival, sizeof runtime);
  *arrived = runtime.arrive ? runtime.arrive(runtime.host) : 0;
}
