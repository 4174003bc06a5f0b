//===- offload_setup.cpp - a program that starts in bounded memory --------===//

#include "runtime/main/offload_setup.h"

#include "runtime/error.h"
#include "runtime/main/batch_setup.h"
#include "runtime/main/memory_size.h"
#include "runtime/main/table.h"

namespace baton {

OffloadFlags with_usual_memory(const Metadata &metadata, OffloadFlags flags,
                               std::optional<std::string> *kv_memory) {
  const auto offloading = OffloadingDescription::parse(metadata.json);
  if (flags.memory || !offloading || !offloading->usual)
    return flags;
  const OffloadingDescription::Usual &usual = *offloading->usual;
  auto choose = [](std::optional<std::string> &flag, const std::string &own) {
    if (!flag && !own.empty())
      flag = own;
  };
  flags.usual = true;
  choose(flags.memory, usual.memory);
  choose(flags.kv_in_memory, usual.kv_in_memory);
  if (kv_memory)
    choose(*kv_memory, usual.kv_memory);
  return flags;
}

OffloadSetup OffloadSetup::make(const Metadata &metadata,
                                const OffloadFlags &flags, unsigned workers,
                                uint64_t pages,
                                const std::filesystem::path &folder,
                                uint64_t further) {
  OffloadSetup setup;
  if (!flags.memory) {
    if (flags.kv_in_memory)
      throw Error("--kv-in-memory is a part of --memory, which is not given");
    if (flags.no_prefetch)
      throw Error("--no-prefetch is for --memory, which is not given");
    if (flags.folder)
      throw Error("--offload-dir is for --memory, which is not given");
    return setup;
  }
  if (!metadata.batch)
    throw Error("--memory: is for programs of many sequences; compile with "
                "--max-batch and --offload");
  setup.limit = parse_memory_size("--memory", *flags.memory);
  setup.needs =
      offload_needs(metadata, workers, pages, resident_bytes() + further);
  std::optional<uint64_t> staying;
  if (flags.kv_in_memory)
    staying = parse_memory_size("--kv-in-memory", *flags.kv_in_memory) /
              std::max<uint64_t>(setup.needs.page_bytes, 1);
  OffloadPlan plan =
      plan_offload(setup.needs, setup.limit, staying,
                   "--memory: " + *flags.memory +
                       (flags.usual ? ", as the program was compiled," : ""));
  const std::filesystem::path place = flags.folder.value_or(folder.string());
  setup.memory = plan.memory;
  setup.pages = OffloadedPages{plan.staying_pages, place, !flags.no_prefetch};
  setup.weights = LayerLoading{std::move(plan.weights), place};
  return setup;
}

nlohmann::ordered_json OffloadSetup::planned_json() const {
  const LayerPlacement &placement = weights->placement;
  return {{"limit", limit},
          {"planned", memory},
          {"process", needs.process},
          {"resident", needs.resident},
          {"buffers", needs.activations},
          {"fixed_weights", needs.weights.fixed},
          {"layer_weights", placement.staying_bytes},
          {"ring", placement.memory() - placement.staying_bytes},
          {"moved_weights", placement.moved_bytes},
          {"pages", needs.pages},
          {"pages_in_memory", std::min(pages->staying, needs.pages)},
          {"kv_memory", needs.kv_memory(pages->staying)}};
}

std::string OffloadSetup::planned_text() const {
  const LayerPlacement &placement = weights->placement;
  Table table({1});
  auto row = [&](const char *what, uint64_t bytes) {
    table.add({what, bytes_text(double(bytes))});
  };
  row("the process", needs.process);
  row("buffers", needs.activations);
  row("weights outside of layers", needs.weights.fixed);
  row("weights of layers that stay", placement.staying_bytes);
  row("places of layers that come",
      placement.memory() - placement.staying_bytes);
  row("keys and values", needs.kv_memory(pages->staying));
  row("in all", memory);
  row("of", limit);
  row("weights that come in each step", placement.moved_bytes);
  return table.text(0);
}

nlohmann::ordered_json OffloadSetup::json(const Execution &execution) const {
  const LayerTraffic traffic = execution.layer_traffic().value();
  nlohmann::ordered_json json = planned_json();
  json.update({{"steps", traffic.steps},
               {"weights_read", traffic.weights_read},
               {"pages_read", traffic.pages_read},
               {"pages_written", traffic.pages_written},
               {"most_loads", traffic.most_loads},
               {"least_loads", traffic.least_loads},
               {"waited_s", traffic.waited}});
  return json;
}

std::string OffloadSetup::text(const Execution &execution) const {
  const LayerTraffic traffic = execution.layer_traffic().value();
  const double steps = std::max<double>(double(traffic.steps), 1);
  std::string text = "in " + bytes_text(double(limit)) + " of memory: " +
                     bytes_text(double(weights->placement.moved_bytes)) +
                     " of weights come from a file in each step";
  if (pages->staying < needs.pages)
    text += ", " + bytes_text(double(traffic.pages_read) / steps) +
            " of keys and values, of which " +
            bytes_text(double(traffic.pages_written) / steps) + " go back";
  return text + "; " + fixed_text(traffic.waited / steps * 1e3, 1) +
         " ms of a step wait for them\n";
}

} // namespace baton
