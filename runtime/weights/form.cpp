//===- form.cpp - how a parameter lies in memory --------------------------===//

#include "runtime/weights/form.h"

#include "runtime/error.h"
#include "runtime/weights/message.h"

#include <nlohmann/json.hpp>

#include <map>

namespace baton {

std::shared_ptr<const WeightForm>
WeightForm::parse(const std::string &kind, const FormDescription &description) {
  using Parse = std::shared_ptr<const WeightForm> (*)(const FormDescription &);
  static const std::map<std::string, Parse> forms = {
      {"panels", parse_panels},     {"blocks", parse_blocks},
      {"vector", parse_vector},     {"table", parse_table},
      {"constant", parse_constant},
  };
  auto found = forms.find(kind);
  if (found == forms.end())
    description.fail("has the unknown kind " + quote_name(kind));
  return found->second(description);
}

void FormDescription::fail(const std::string &what) const {
  throw Error("parameter " + quote_name(name) + " of the compiled program " +
              what);
}

uint64_t FormDescription::size(const char *key) const {
  auto found = object.find(key);
  // JSON that was built rather than read holds signed integers too.
  if (found == object.end() ||
      !(found->is_number_unsigned() ||
        (found->is_number_integer() && found->get<int64_t>() >= 0)))
    fail(std::string("has no non-negative integer \"") + key + "\"");
  return found->get<uint64_t>();
}

void FormDescription::check_product(
    std::initializer_list<uint64_t> sizes) const {
  uint64_t product = 1;
  for (uint64_t size : sizes)
    if (size == 0 || __builtin_mul_overflow(product, size, &product) ||
        product >> 48)
      fail("has an impossible size");
}

void FormDescription::require_real() const {
  if (type != DataType::F32 && type != DataType::F64)
    fail("is a " + object.at("kind").get<std::string>() +
         " of another dtype than f32");
}

std::vector<std::string> ParameterPart::names(uint64_t layer) const {
  return names_in_layer(sources, layer);
}

PanelPart panel_part(const ParameterPart &part, const Tensor &tensor) {
  return {tensor.data,
          tensor.type,
          part.outputs(),
          part.stored_outputs(),
          part.transposed != tensor.is_flipped,
          part.blocks,
          part.plus - tensor.added,
          tensor.paired_rows,
          PanelCut{part.own_outputs.begin, part.own_outputs.count,
                   part.own_inputs.begin, part.own_inputs.count,
                   part.all_inputs()},
          is_quantised(tensor.type) ? &tensor : nullptr};
}

} // namespace baton
