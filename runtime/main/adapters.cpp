//===- adapters.cpp - adapters that flags name ----------------------------===//

#include "runtime/main/adapters.h"

#include "runtime/error.h"
#include "runtime/weights/message.h"

namespace baton {

static void add_adapter(AdapterShelf &shelf, const std::string &name,
                        const std::string &folder) {
  try {
    shelf.add(name, folder);
  } catch (const Error &failure) {
    throw Error("--adapter: " + std::string(failure.what()));
  }
}

std::shared_ptr<AdapterShelf>
read_adapters(const Metadata &metadata, const std::vector<std::string> &named) {
  auto shelf = std::make_shared<AdapterShelf>(metadata);
  for (const std::string &text : named) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      throw Error("--adapter: expected NAME=DIR, not " + quote_name(text));
    add_adapter(*shelf, text.substr(0, equals), text.substr(equals + 1));
  }
  return shelf;
}

LoneAdapter::LoneAdapter(const Metadata &metadata,
                         const std::optional<std::string> &folder) {
  if (!folder)
    return;
  AdapterShelf shelf(metadata);
  add_adapter(shelf, *folder, *folder);
  adapter = shelf.get(*folder);
}

void LoneAdapter::load(Execution &execution) const {
  if (!adapter)
    return;
  adapter->write(adapter->pack(), 0, storage_writer(execution));
  execution.adapter_ranks = adapter->ranks();
}

} // namespace baton
