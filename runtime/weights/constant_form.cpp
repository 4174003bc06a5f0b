//===- constant_form.cpp - numbers that the program brings along ----------===//

#include "runtime/weights/convert.h"
#include "runtime/weights/form.h"

#include <nlohmann/json.hpp>

namespace baton {

namespace {

class ConstantForm : public WeightForm {
public:
  explicit ConstantForm(const FormDescription &description);

  uint64_t layer_bytes() const override {
    return panel_count(values.size(), false) * panel_lanes * bytes_of(type);
  }
  void pack(const std::vector<StoredTensor> &, uint64_t, uint64_t,
            std::byte *layer) const override {
    conversion(DataType::F32, type)(values.data(), layer, values.size());
  }
  void fill_randomly(uint64_t first, uint64_t last, std::span<const uint64_t>,
                     std::byte *layer) const override {
    pack({}, first, last, layer);
  }

private:
  DataType type;
  std::vector<float> values;
};

} // namespace

ConstantForm::ConstantForm(const FormDescription &description)
    : type(description.type) {
  description.require_real();
  uint64_t n = description.size("n");
  description.check_product({description.layers, n, panel_lanes, 4});
  values = description.object.at("values").get<std::vector<float>>();
  if (values.size() != n)
    description.fail("has " + std::to_string(values.size()) +
                     " values, but n = " + std::to_string(n));
}

std::shared_ptr<const WeightForm>
parse_constant(const FormDescription &description) {
  return std::make_shared<ConstantForm>(description);
}

} // namespace baton
