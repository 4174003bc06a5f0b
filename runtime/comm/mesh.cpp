//===- mesh.cpp - which ranks there are, and who exchanges what -----------===//

#include "runtime/comm/mesh.h"

#include "runtime/error.h"

#include <algorithm>

namespace baton {

namespace {

[[noreturn]] void damaged(const std::string &what) {
  throw Error("this program's description is damaged: " + what);
}

constexpr Collective::Kind all_kinds[] = {
    Collective::Kind::AllToAll, Collective::Kind::AllGather,
    Collective::Kind::Dispatch, Collective::Kind::Combine};

bool contains(const std::vector<std::string> &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_axes(const Mesh &mesh, const std::vector<std::string> &names,
                const std::string &where) {
  for (const std::string &name : names)
    if (std::none_of(mesh.axes.begin(), mesh.axes.end(),
                     [&](const Mesh::Axis &axis) { return axis.name == name; }))
      damaged(where + " names the axis \"" + name + "\", which the mesh lacks");
}

Mesh parse_mesh(const nlohmann::json &json) {
  Mesh mesh;
  uint64_t ranks = 1;
  for (const nlohmann::json &axis : json.at("axes")) {
    mesh.axes.push_back({axis.at("name"), axis.at("size").get<uint32_t>()});
    ranks *= mesh.axes.back().size;
    if (ranks == 0 || ranks > 1 << 20)
      damaged("its mesh has no sensible number of ranks");
  }
  mesh.batch = json.value("batch", std::vector<std::string>());
  check_axes(mesh, mesh.batch, "the batch");
  return mesh;
}

Collective parse_collective(const nlohmann::json &json, const Mesh &mesh) {
  Collective result;
  result.name = json.at("name");
  std::string kind = json.at("kind");
  const auto *found = std::find_if(
      std::begin(all_kinds), std::end(all_kinds),
      [&](Collective::Kind one) { return kind == Collective::name_of(one); });
  if (found == std::end(all_kinds))
    damaged("the collective " + result.name + " is of the kind " + kind);
  result.kind = *found;
  result.axes = json.at("axes").get<std::vector<std::string>>();
  check_axes(mesh, result.axes, "the collective " + result.name);
  result.operation = json.value("operation", "");
  if (auto payload = json.find("payload"); payload != json.end())
    result.payload =
        payload->is_string() ? payload->get<std::string>() : payload->dump();
  result.iterations = json.value("iterations", uint32_t(1));
  return result;
}

} // namespace

Mesh Mesh::parse(const nlohmann::json &description) {
  auto found = description.find("mesh");
  if (found == description.end() || found->is_null())
    return {};
  try {
    return parse_mesh(*found);
  } catch (const nlohmann::json::exception &failure) {
    damaged(failure.what());
  }
}

uint32_t Mesh::ranks() const {
  uint32_t count = 1;
  for (const Axis &axis : axes)
    count *= axis.size;
  return count;
}

std::string Mesh::text() const {
  std::string text;
  for (const Axis &axis : axes)
    text +=
        (text.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
  return text.empty() ? "one rank" : text;
}

std::vector<uint32_t> Mesh::group(uint32_t rank,
                                  const std::vector<std::string> &along) const {
  // From the last axis, whose neighbours are next to one another.
  std::vector<uint32_t> members = {0};
  uint32_t stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    std::vector<uint32_t> longer;
    bool varies = contains(along, axes[i].name);
    uint32_t own = rank / stride % axes[i].size;
    for (uint32_t at = varies ? 0 : own; at < (varies ? axes[i].size : own + 1);
         ++at)
      for (uint32_t member : members)
        longer.push_back(member + at * stride);
    members = std::move(longer);
    stride *= axes[i].size;
  }
  return members;
}

Place Mesh::place(uint32_t rank, const std::vector<std::string> &along) const {
  std::vector<uint32_t> members = group(rank, along);
  auto found = std::find(members.begin(), members.end(), rank);
  return {static_cast<uint32_t>(found - members.begin()),
          static_cast<uint32_t>(members.size())};
}

uint32_t Mesh::first_like(uint32_t rank,
                          const std::vector<std::string> &along) const {
  std::vector<std::string> others;
  for (const Axis &axis : axes)
    if (!contains(along, axis.name))
      others.push_back(axis.name);
  return group(rank, others).front();
}

const char *Collective::name_of(Kind kind) {
  switch (kind) {
  case Kind::AllToAll:
    return "all_to_all";
  case Kind::AllGather:
    return "all_gather";
  case Kind::Dispatch:
    return "dispatch";
  case Kind::Combine:
    return "combine";
  }
  return "";
}

std::vector<Collective> Collective::parse(const nlohmann::json &description,
                                          const Mesh &mesh) {
  std::vector<Collective> result;
  try {
    auto found = description.find("collectives");
    if (found != description.end() && !found->is_null())
      for (const nlohmann::json &entry : *found)
        result.push_back(parse_collective(entry, mesh));
  } catch (const nlohmann::json::exception &failure) {
    damaged(failure.what());
  }
  return result;
}

std::vector<Message> Message::parse(const nlohmann::json &description,
                                    const Mesh &mesh) {
  std::vector<Message> result;
  auto pipeline = description.find("pipeline");
  if (pipeline == description.end() || pipeline->is_null())
    pipeline = description.find("stages");
  if (pipeline == description.end() || pipeline->is_null())
    return result;
  try {
    for (const nlohmann::json &entry : pipeline->at("messages")) {
      Message &message = result.emplace_back();
      message.name = entry.at("program").get<std::string>() + "." +
                     entry.at("name").get<std::string>();
      message.sends = entry.at("direction") == "send";
      message.is_next = entry.at("peer") == "next";
      message.axis = entry.at("axis");
      message.channel = entry.at("channel");
      message.payload = entry.at("payload");
      check_axes(mesh, {message.axis}, "the message " + message.name);
    }
  } catch (const nlohmann::json::exception &failure) {
    damaged(failure.what());
  }
  return result;
}

TensorPart TensorPart::of(const BatonExchange &tensor, uint32_t place) {
  uint64_t begin = std::min(tensor.bytes, place * tensor.part);
  return {begin, std::min(tensor.bytes - begin, tensor.part)};
}

} // namespace baton
