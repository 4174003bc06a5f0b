//===- json_file.h - JSON that lies beside weights ------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_JSON_FILE_H
#define BATON_RUNTIME_WEIGHTS_JSON_FILE_H

#include <nlohmann/json_fwd.hpp>

#include <filesystem>

namespace baton {

/// Reads a whole file. Throws Error for one that cannot be read or is no JSON,
/// and for keys that repeat and absurd nesting.
nlohmann::json read_json(const std::filesystem::path &path);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_JSON_FILE_H
