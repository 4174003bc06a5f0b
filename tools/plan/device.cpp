//===- device.cpp - what a kind of device can do, from a file -------------===//

#include "tools/plan/device.h"

#include "runtime/error.h"
#include "tools/plan/facts.h"

#include <algorithm>
#include <vector>

using namespace baton;
using namespace baton::plan;

/// Beside this program, wherever it was installed.
static std::filesystem::path fact_folder(const std::string &kind) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / kind;
}

std::vector<std::string> plan::fact_names(const std::string &kind) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto &entry :
       std::filesystem::directory_iterator(fact_folder(kind), ignored))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::filesystem::path plan::fact_file(const std::string &kind,
                                      const std::string &name_or_file) {
  if (name_or_file.find('/') != std::string::npos ||
      name_or_file.ends_with(".json"))
    return name_or_file;
  const std::filesystem::path file =
      fact_folder(kind) / (name_or_file + ".json");
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored))
    return file;
  std::string list;
  for (const std::string &name : fact_names(kind))
    list += (list.empty() ? "" : ", ") + name;
  throw Error("there is no '" + name_or_file + "' among the " + kind +
              "; there are " + list + ", or give a file");
}

const OpTable *Device::table(const std::string &op,
                             const std::string &type) const {
  for (const OpTable &table : tables)
    if (table.op() == op && table.type() == type)
      return &table;
  return nullptr;
}

/// What calibrate adds to a data sheet's keys.
static void read_measured(const nlohmann::ordered_json *measured,
                          const nlohmann::ordered_json *tables,
                          Device &device) {
  if (!measured != !tables)
    throw Error(std::string(measured ? "tables" : "measured") +
                " is missing: they come together");
  if (!measured)
    return;
  try {
    device.measured = {measured->at("date").get<std::string>(),
                       measured->at("processor").get<std::string>(),
                       measured->at("cores").get<int64_t>(),
                       measured->at("workers").get<int64_t>(),
                       measured->value("quick", false)};
  } catch (const nlohmann::ordered_json::exception &error) {
    throw Error(std::string("measured: ") + error.what());
  }
  if (!tables->is_array())
    throw Error("tables is no list");
  for (const nlohmann::ordered_json &table : *tables) {
    OpTable read = OpTable::parse(table);
    if (device.table(read.op(), read.type()))
      throw Error("table " + read.op() + " " + read.type() + " is there twice");
    device.tables.push_back(std::move(read));
  }
}

Device plan::read_device(const std::string &name_or_file) {
  const std::filesystem::path file = fact_file("devices", name_or_file);
  Facts facts(file);
  Device device;
  device.name = facts.text("name");
  device.source = facts.text("source");
  device.uncertainty = facts.fraction("uncertainty");
  device.memory = facts.positive("memory_gb") * 1e9;
  device.bandwidth = facts.positive("memory_gb_per_s") * 1e9;
  device.stream_fraction = facts.fraction("stream_fraction");
  device.dropout_fraction = facts.fraction("dropout_fraction");
  device.matmul_rate = facts.positive("matmul_tflops") * 1e12;
  device.matmul_fraction = facts.fraction("matmul_fraction");
  device.attention_fraction = facts.fraction("attention_fraction");
  device.multiprocessors = facts.count("multiprocessors");
  device.kernel_time = facts.not_negative("kernel_us") * 1e-6;
  device.devices_per_node = facts.count("devices_per_node");
  device.link_rate = facts.positive("link_gb_per_s") * 1e9;
  device.link_latency = facts.not_negative("link_us") * 1e-6;
  device.network_rate = facts.positive("network_gb_per_s") * 1e9;
  device.network_latency = facts.not_negative("network_us") * 1e-6;
  const nlohmann::ordered_json *measured = facts.optional("measured");
  const nlohmann::ordered_json *tables = facts.optional("tables");
  facts.finish();
  try {
    read_measured(measured, tables, device);
  } catch (const Error &error) {
    throw Error(file.string() + ": " + error.what());
  }
  return device;
}
