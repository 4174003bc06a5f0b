//===- weights.h - the weights that --weights names ----------------------===//

#ifndef BATON_RUNTIME_MAIN_WEIGHTS_H
#define BATON_RUNTIME_MAIN_WEIGHTS_H

#include "runtime/execute/execution.h"
#include "runtime/execute/metadata.h"
#include "runtime/main/run_options.h"
#include "runtime/weights/parameters.h"

#include <filesystem>
#include <memory>
#include <optional>

namespace baton {

/// The folder or the GGUF file that --weights names. Throws Error when there is
/// none.
std::filesystem::path weights_path(const RunOptions &options);

/// Reads the parameters of one of the program's ranks from a checkpoint,
/// showing progress; from --weights without one. `layers`: of which some move.
Parameters load_weights(const Metadata &metadata,
                        const std::filesystem::path &path,
                        const RunOptions &options, uint32_t rank,
                        const std::optional<LayerLoading> &layers = {});
Parameters load_weights(const Metadata &metadata, const RunOptions &options,
                        uint32_t rank = 0,
                        const std::optional<LayerLoading> &layers = {});

/// make_execution() with the run's event origin; where it copies the weights to
/// a device, progress is shown. `pages`: of what is paged, of which
/// `layer_pages` may say that some do not stay in memory.
std::unique_ptr<Execution>
make_execution(const Metadata &metadata, const Parameters &parameters,
               const RunOptions &options, unsigned workers, uint64_t pages = 0,
               const std::optional<OffloadedPages> &layer_pages = {});

} // namespace baton

#endif // BATON_RUNTIME_MAIN_WEIGHTS_H
