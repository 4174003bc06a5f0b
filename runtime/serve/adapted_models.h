//===- adapted_models.h - a served model beside its adapters --------------===//

#ifndef BATON_RUNTIME_SERVE_ADAPTED_MODELS_H
#define BATON_RUNTIME_SERVE_ADAPTED_MODELS_H

#include "runtime/serve/served_model.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace baton {

/// A model, and the same with each adapter that it is served with, which
/// requests call by its name.
class AdaptedModels {
public:
  explicit AdaptedModels(std::shared_ptr<const ServedModel> model);

  /// That with the adapter that a request's "model" names; any other name is
  /// the model's own.
  const std::shared_ptr<const ServedModel> &
  of(const nlohmann::ordered_json &body) const;
  /// By its name; null where there is none.
  const ServedModel *find(const std::string &name) const;
  /// The model, then those with adapters, by name.
  std::vector<const ServedModel *> all() const;

private:
  std::shared_ptr<const ServedModel> model;
  std::map<std::string, std::shared_ptr<const ServedModel>> adapted;
};

} // namespace baton

#endif // BATON_RUNTIME_SERVE_ADAPTED_MODELS_H
