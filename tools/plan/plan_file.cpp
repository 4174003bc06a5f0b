//===- plan_file.cpp - a plan that batonc --plan compiles -----------------===//

#include "tools/plan/plan_file.h"

#include "runtime/files/temporary.h"
#include "tools/plan/commands.h"

using namespace baton;
using namespace baton::plan;
using Json = nlohmann::ordered_json;

Json plan::flags_json(const Flags &flags) {
  Json json = Json::object();
  for (const auto &[flag, value] : flags)
    json[flag] = value.empty() ? Json(true) : Json(value);
  return json;
}

void plan::check_plan_file(const std::filesystem::path &file) {
  if (!file.empty())
    const TemporaryFile gone(file);
}

void plan::write_plan(const std::filesystem::path &file,
                      const std::string &model, const Flags &compile,
                      const Flags &train, double seconds, double memory) {
  const std::string text = text_of(
      Json{{"format", 1},
           {"about", "A plan of batonc plan for batonc MODEL --plan=FILE."},
           {"model", model},
           {"compile", flags_json(compile)},
           {"train", flags_json(train)},
           {"forecast", {{"seconds", seconds}, {"bytes_of_a_rank", memory}}}});
  TemporaryFile temporary(file);
  temporary.write(text.data(), text.size(), 0);
  temporary.publish();
}
