//===- framework.cpp - how a training framework runs a model --------------===//

#include "tools/plan/framework.h"

#include "tools/plan/device.h"
#include "tools/plan/facts.h"

using namespace baton;
using namespace baton::plan;

Framework plan::read_framework(const std::string &name_or_file) {
  Facts facts(fact_file("frameworks", name_or_file));
  Framework framework;
  framework.name = facts.text("name");
  framework.source = facts.text("source");
  framework.flash_attention = facts.flag("flash_attention");
  framework.dropout = facts.flag("dropout");
  framework.adds_in_product = facts.flag("adds_in_product");
  framework.overlaps_gradients = facts.flag("overlaps_gradients");
  framework.weight_bytes = facts.positive("weight_bytes");
  framework.gradient_bytes = facts.positive("gradient_bytes");
  framework.state_bytes = facts.not_negative("state_bytes");
  framework.update_bytes = facts.not_negative("update_bytes");
  framework.placeholder_bytes = facts.not_negative("placeholder_bytes");
  framework.sent_gradient_bytes = facts.positive("sent_gradient_bytes");
  framework.reserved = facts.not_negative("reserved_gb") * 1e9;
  auto microseconds = [&](const char *key) {
    return facts.not_negative(key) * 1e-6;
  };
  framework.host_forward = microseconds("host_forward_us");
  framework.host_backward = microseconds("host_backward_us");
  framework.host_unfused = microseconds("host_unfused_us");
  framework.host_collective = microseconds("host_collective_us");
  framework.host_jitter = microseconds("host_jitter_us");
  framework.host_microbatch = microseconds("host_microbatch_us");
  framework.host_ends = microseconds("host_ends_us");
  framework.host_exchange = microseconds("host_exchange_us");
  framework.host_step = microseconds("host_step_us");
  framework.host_step_layer = microseconds("host_step_layer_us");
  facts.finish();
  return framework;
}
