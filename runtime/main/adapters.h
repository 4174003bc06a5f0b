//===- adapters.h - adapters that flags name ------------------------------===//

#ifndef BATON_RUNTIME_MAIN_ADAPTERS_H
#define BATON_RUNTIME_MAIN_ADAPTERS_H

#include "runtime/batch/adapter_shelf.h"
#include "runtime/execute/execution.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace baton {

/// Adapters by "NAME=DIR", each. Throws Error that begins with the flag.
std::shared_ptr<AdapterShelf>
read_adapters(const Metadata &metadata, const std::vector<std::string> &named);

/// The adapter in a folder, for all rows of a program that one sequence is run
/// by; none without. Throws Error that begins with the flag.
class LoneAdapter {
public:
  LoneAdapter(const Metadata &metadata,
              const std::optional<std::string> &folder);
  explicit LoneAdapter(std::shared_ptr<ServedAdapter> adapter)
      : adapter(std::move(adapter)) {}

  /// Puts it into the program's memory.
  void load(Execution &execution) const;

private:
  std::shared_ptr<ServedAdapter> adapter;
};

} // namespace baton

#endif // BATON_RUNTIME_MAIN_ADAPTERS_H
