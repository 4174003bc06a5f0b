//===- serving_setup.h - what serves conversations starts with ------------===//

#ifndef BATON_RUNTIME_MAIN_SERVING_SETUP_H
#define BATON_RUNTIME_MAIN_SERVING_SETUP_H

#include "runtime/execute/metadata.h"
#include "runtime/main/run_options.h"
#include "runtime/serve/served_model.h"

#include <memory>
#include <optional>
#include <string>

namespace baton {

/// The model of --weights, under a name of its own or that of the checkpoint,
/// with the template of a file or the checkpoint's. How many pages there are
/// its shape does not say yet. Throws Error for what is there and damaged.
std::shared_ptr<ServedModel>
read_served_model(const Metadata &metadata, const RunOptions &run,
                  const std::optional<std::string> &name = {},
                  const std::optional<std::string> &chat_template = {});

} // namespace baton

#endif // BATON_RUNTIME_MAIN_SERVING_SETUP_H
