//===- description.cpp - the parameters that a compiled program asks for -===//

#include "runtime/weights/description.h"

#include "runtime/error.h"
#include "runtime/weights/message.h"
#include "runtime/weights/packing.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <regex>

namespace baton {

namespace {

[[noreturn]] void fail(const std::string &name, const std::string &what) {
  throw Error("parameter " + quote_name(name) + " of the compiled program " +
              what);
}

/// The product of sizes that are all positive; refuses one beyond 2^48, above
/// which no machine of today has memory and sums could overflow.
uint64_t checked_product(const std::string &name,
                         std::initializer_list<uint64_t> sizes) {
  uint64_t product = 1;
  for (uint64_t size : sizes)
    if (size == 0 || __builtin_mul_overflow(product, size, &product) ||
        product >> 48)
      fail(name, "has an impossible size");
  return product;
}

/// JSON that was built rather than read holds signed integers too.
bool is_count(const nlohmann::json &value) {
  return value.is_number_unsigned() ||
         (value.is_number_integer() && value.get<int64_t>() >= 0);
}

uint64_t unsigned_or(const nlohmann::json &object, const char *key,
                     std::optional<uint64_t> otherwise) {
  auto found = object.find(key);
  if (found == object.end() && otherwise)
    return *otherwise;
  if (found == object.end() || !is_count(*found))
    fail(object.at("name"),
         std::string("has no non-negative integer \"") + key + "\"");
  return found->get<uint64_t>();
}

/// What a rank has of a part.
void cut_part(const std::string &name, ParameterPart &part,
              const nlohmann::json &shards, const Mesh &mesh, uint32_t rank) {
  std::vector<uint64_t> whole = {part.all_outputs()};
  if (part.shape.size() == 2)
    whole.push_back(part.all_inputs());
  ShardedTensor cut = ShardedTensor::of_whole(name, whole, shards, mesh);
  std::vector<IndexRange> own = cut.ranges(rank);
  part.own_outputs = own[0];
  part.room_outputs = cut.part_shape()[0];
  part.own_inputs = own.size() == 2 ? own[1] : IndexRange{0, 1};
  part.room_inputs = own.size() == 2 ? cut.part_shape()[1] : 1;
}

ParameterPart parse_part(const std::string &name, const nlohmann::json &part,
                         const Mesh &mesh, uint32_t rank) {
  ParameterPart result;
  result.sources = part.at("sources").get<std::vector<std::string>>();
  for (const nlohmann::json &size : part.at("shape")) {
    if (!is_count(size) || size == 0)
      fail(name, "has a part whose shape is not made of positive integers");
    result.shape.push_back(size);
  }
  result.transposed = part.value("transposed", false);
  if (result.sources.empty())
    fail(name, "has a part without sources");
  if (auto blocks = part.find("blocks"); blocks != part.end()) {
    for (const nlohmann::json &number : *blocks)
      if (!is_count(number) || number.get<uint64_t>() >> 48)
        fail(name,
             "has blocks that are not made of small non-negative integers");
    if (blocks->size() != 3)
      fail(name, "has blocks that are no size, stride and offset");
    result.blocks = {(*blocks)[0], (*blocks)[1], (*blocks)[2]};
    const OutputBlocks &taken = result.blocks;
    if (result.shape.empty() || taken.size == 0 ||
        taken.offset + taken.size > taken.stride ||
        result.stored_outputs() % taken.stride)
      fail(name,
           "has blocks that do not fit its shape " + shape_text(result.shape));
  }
  result.plus = part.value("plus", 0.0f);
  // Other shapes are refused by the parameter.
  if (result.shape.size() == 1 || result.shape.size() == 2)
    cut_part(name, result, part.value("shards", nlohmann::json()), mesh, rank);
  return result;
}

void check_panels(const ParameterDescription &parameter, bool vector) {
  uint64_t outputs = 0;
  for (const ParameterPart &part : parameter.parts) {
    bool fits = vector
                    ? part.shape.size() == 1 && !part.transposed
                    : part.shape.size() == 2 && part.room_inputs == parameter.k;
    if (!fits || part.outputs() > parameter.n - outputs)
      fail(parameter.name,
           "has a part of shape " + shape_text(part.shape) +
               " that does not fit k = " + std::to_string(parameter.k) +
               ", n = " + std::to_string(parameter.n));
    outputs += part.outputs();
  }
  if (outputs != parameter.n)
    fail(parameter.name,
         "has parts of " + std::to_string(outputs) +
             " outputs, but n = " + std::to_string(parameter.n));
  if (parameter.interleave &&
      (parameter.parts.size() != 2 ||
       parameter.parts[0].outputs() != parameter.parts[1].outputs()))
    fail(parameter.name, "interleaves something else than two equal parts");
}

ParameterDescription parse_parameter(const nlohmann::json &object,
                                     const Mesh &mesh, uint32_t rank) {
  ParameterDescription result;
  result.name = object.at("name").get<std::string>();
  std::string kind = object.at("kind").get<std::string>();
  std::optional<DataType> type =
      parse_program_type(object.at("dtype").get<std::string>());
  if (!type)
    fail(result.name, "has the unknown dtype " +
                          quote_name(object.at("dtype").get<std::string>()));
  result.type = *type;
  result.layers = unsigned_or(object, "layers", 1);
  result.first_layer = unsigned_or(object, "first_layer", 0);
  result.layer_step = unsigned_or(object, "layer_step", 1);
  checked_product(result.name, {result.layers, result.first_layer + 1,
                                result.layer_step + 1});
  if (object.contains("parts"))
    for (const nlohmann::json &part : object.at("parts"))
      result.parts.push_back(parse_part(result.name, part, mesh, rank));
  bool is_wide = result.type == DataType::F64;
  if (is_wide && kind != "constant")
    fail(result.name, "is no constant, but of the dtype f64");
  bool only_f32 = kind == "vector" || kind == "constant";
  if (only_f32 && !is_wide && result.type != DataType::F32)
    fail(result.name, "is a " + kind + " of another dtype than f32");

  if (kind == "panels" || kind == "vector") {
    result.kind = ParameterKind::Panels;
    result.k = kind == "vector" ? 1 : unsigned_or(object, "k", {});
    result.n = unsigned_or(object, "n", {});
    result.interleave = object.value("interleave", false);
    // Twice the lanes: two interleaved parts are each padded by themselves.
    checked_product(result.name,
                    {result.layers, result.k, result.n, 2 * panel_lanes, 4});
    check_panels(result, kind == "vector");
  } else if (kind == "table") {
    result.kind = ParameterKind::Table;
    result.rows = unsigned_or(object, "rows", {});
    result.columns = unsigned_or(object, "columns", {});
    checked_product(result.name,
                    {result.layers, result.rows, result.columns, 4});
    if (result.parts.size() != 1 || result.parts[0].transposed ||
        result.parts[0].blocks.size != result.parts[0].blocks.stride ||
        result.parts[0].shape.size() != 2 ||
        result.parts[0].room_outputs != result.rows ||
        result.parts[0].room_inputs != result.columns)
      fail(result.name, "is a table, but not made of one part of shape " +
                            shape_text({result.rows, result.columns}));
  } else if (kind == "constant") {
    result.kind = ParameterKind::Constant;
    result.n = unsigned_or(object, "n", {});
    checked_product(result.name, {result.layers, result.n, panel_lanes, 4});
    result.values = object.at("values").get<std::vector<float>>();
    if (result.values.size() != result.n)
      fail(result.name, "has " + std::to_string(result.values.size()) +
                            " values, but n = " + std::to_string(result.n));
  } else {
    fail(result.name, "has the unknown kind " + quote_name(kind));
  }
  return result;
}

} // namespace

std::vector<std::string> ParameterPart::names(uint64_t layer) const {
  // {layer} or {layer+2}
  static const std::regex placeholder("\\{layer(?:\\+([0-9]{1,6}))?\\}");
  std::vector<std::string> result;
  for (const std::string &source : sources) {
    std::string name;
    auto rest = source.cbegin();
    for (std::sregex_iterator match(source.begin(), source.end(), placeholder),
         end;
         match != end; ++match) {
      name.append(rest, (*match)[0].first);
      uint64_t more = (*match)[1].matched ? std::stoull((*match)[1]) : 0;
      name += std::to_string(layer + more);
      rest = (*match)[0].second;
    }
    result.push_back(name.append(rest, source.cend()));
  }
  return result;
}

uint64_t ParameterDescription::layer_bytes() const {
  switch (kind) {
  case ParameterKind::Panels:
    return panel_count(n, interleave) * panel_lanes * k * bytes_of(type);
  case ParameterKind::Table:
    return rows * columns * bytes_of(type);
  case ParameterKind::Constant:
    return panel_count(n, false) * panel_lanes * bytes_of(type);
  }
  __builtin_unreachable();
}

std::vector<ParameterDescription>
parse_parameters(const nlohmann::json &description, uint32_t rank) {
  std::vector<ParameterDescription> result;
  const Mesh mesh = Mesh::parse(description);
  try {
    std::optional<uint32_t> stage;
    if (auto stages = description.find("stages"); stages != description.end())
      stage = mesh.place(rank, {stages->at("axis").get<std::string>()}).index;
    for (const nlohmann::json &parameter : description.at("parameters")) {
      result.push_back(parse_parameter(parameter, mesh, rank));
      if (!stage)
        continue;
      const auto readers = parameter.at("stages").get<std::vector<uint32_t>>();
      result.back().is_elsewhere =
          std::find(readers.begin(), readers.end(), *stage) == readers.end();
    }
  } catch (const nlohmann::json::exception &error) {
    std::string which = result.empty() ? "the first parameter"
                                       : "the parameter after " +
                                             quote_name(result.back().name);
    throw Error("the compiled program's description of its parameters is "
                "malformed at " +
                which + ": " + error.what());
  }
  return result;
}

} // namespace baton
