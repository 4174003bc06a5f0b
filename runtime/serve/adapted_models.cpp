//===- adapted_models.cpp - a served model beside its adapters ------------===//

#include "runtime/serve/adapted_models.h"

#include <utility>

namespace baton {

AdaptedModels::AdaptedModels(std::shared_ptr<const ServedModel> given)
    : model(std::move(given)) {
  if (!model->format.adapters)
    return;
  for (const auto &adapter : model->format.adapters->all()) {
    auto own = std::make_shared<ServedModel>(*model);
    own->name = adapter->name();
    own->adapter = adapter;
    adapted.emplace(adapter->name(), std::move(own));
  }
}

const std::shared_ptr<const ServedModel> &
AdaptedModels::of(const nlohmann::ordered_json &body) const {
  if (auto name = body.find("model"); name != body.end() && name->is_string())
    if (auto found = adapted.find(name->get<std::string>());
        found != adapted.end())
      return found->second;
  return model;
}

const ServedModel *AdaptedModels::find(const std::string &name) const {
  if (name == model->name)
    return model.get();
  auto found = adapted.find(name);
  return found == adapted.end() ? nullptr : found->second.get();
}

std::vector<const ServedModel *> AdaptedModels::all() const {
  std::vector<const ServedModel *> list = {model.get()};
  for (const auto &[name, own] : adapted)
    list.push_back(own.get());
  return list;
}

} // namespace baton
