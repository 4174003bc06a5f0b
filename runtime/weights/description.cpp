//===- description.cpp - the parameters that a compiled program asks for -===//

#include "runtime/weights/description.h"

#include "runtime/error.h"
#include "runtime/weights/message.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace baton {

namespace {

[[noreturn]] void fail(const std::string &name, const std::string &what) {
  throw Error("parameter " + quote_name(name) + " of the compiled program " +
              what);
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

/// Sources that name a rank's experts by their order, with their numbers.
void name_experts(const std::string &name, std::vector<std::string> &sources,
                  const IndexRange &own) {
  constexpr std::string_view begin = "{expert+";
  for (std::string &source : sources) {
    const size_t at = source.find(begin);
    const size_t end = source.find('}', at == source.npos ? 0 : at);
    if (at == source.npos || end == source.npos)
      fail(name, "has a source that names no expert");
    const char *first = source.data() + at + begin.size();
    const char *last = source.data() + end;
    uint64_t expert = 0;
    const auto [stop, error] = std::from_chars(first, last, expert);
    if (error != std::errc() || stop != last || expert >= own.count)
      fail(name, "has a source that names no expert of the rank's");
    source.replace(at, end + 1 - at, std::to_string(own.begin + expert));
  }
}

/// Of a rank's inputs only some.
void take_inputs(const std::string &name, ParameterPart &part,
                 const nlohmann::json &inputs) {
  if (inputs.size() != 2 || !is_count(inputs[0]) || !is_count(inputs[1]) ||
      part.shape.size() != 2)
    fail(name, "has inputs that are no first one and number of a matrix");
  const uint64_t first = inputs[0], count = inputs[1];
  if (count == 0 || first > part.own_inputs.count ||
      count > part.own_inputs.count - first)
    fail(name,
         "has inputs that do not fit its shape " + shape_text(part.shape));
  part.own_inputs = {part.own_inputs.begin + first, count};
  part.room_inputs = count;
}

} // namespace

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
  if (auto experts = part.find("experts"); experts != part.end())
    name_experts(name, result.sources, part_of(name, *experts, mesh, rank));
  if (auto blocks = part.find("blocks"); blocks != part.end()) {
    for (const nlohmann::json &number : *blocks)
      if (!is_count(number) || number.get<uint64_t>() >> 48)
        fail(name,
             "has blocks that are not made of small non-negative integers");
    if (blocks->size() != 3 && blocks->size() != 4)
      fail(name, "has blocks that are no size, stride and offset");
    result.blocks = {(*blocks)[0], (*blocks)[1], (*blocks)[2]};
    if (blocks->size() == 4)
      result.blocks.pairs = (*blocks)[3];
    const OutputBlocks &taken = result.blocks;
    if (result.shape.empty() || taken.size == 0 ||
        taken.offset + taken.size > taken.stride ||
        result.stored_outputs() % taken.stride || taken.pairs % 2 ||
        (taken.pairs && taken.size % taken.pairs))
      fail(name,
           "has blocks that do not fit its shape " + shape_text(result.shape));
  }
  result.plus = part.value("plus", 0.0f);
  // Other shapes are refused by the parameter.
  if (result.shape.size() == 1 || result.shape.size() == 2)
    cut_part(name, result, part.value("shards", nlohmann::json()), mesh, rank);
  if (auto inputs = part.find("inputs"); inputs != part.end())
    take_inputs(name, result, *inputs);
  return result;
}

namespace {

ParameterDescription parse_parameter(const nlohmann::json &object,
                                     const Mesh &mesh, uint32_t rank) {
  ParameterDescription result;
  result.name = object.at("name").get<std::string>();
  std::optional<DataType> type =
      parse_program_type(object.at("dtype").get<std::string>());
  if (!type)
    fail(result.name, "has the unknown dtype " +
                          quote_name(object.at("dtype").get<std::string>()));
  result.type = *type;
  result.layers = unsigned_or(object, "layers", 1);
  result.first_layer = unsigned_or(object, "first_layer", 0);
  result.layer_step = unsigned_or(object, "layer_step", 1);
  if (object.contains("parts"))
    for (const nlohmann::json &part : object.at("parts"))
      result.parts.push_back(parse_part(result.name, part, mesh, rank));
  FormDescription description{result.name, *type, result.layers, result.parts,
                              object};
  description.check_product(
      {result.layers, result.first_layer + 1, result.layer_step + 1});
  result.form =
      WeightForm::parse(object.at("kind").get<std::string>(), description);
  return result;
}

} // namespace

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
