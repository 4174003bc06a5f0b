//===- describe.h - what batonc says of a program that it would make ------===//

#ifndef BATON_TOOLS_PLAN_DESCRIBE_H
#define BATON_TOOLS_PLAN_DESCRIBE_H

#include "runtime/execute/metadata.h"
#include "tools/plan/baton_split.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace baton::plan {

/// What batonc says: its program, or why there is none.
struct Described {
  std::optional<Metadata> metadata;
  std::string refusal;
};

/// batonc, of whose installation this program is.
std::string batonc_beside_this();

/// Of these flags, for steps of so many rows. `file` is written and removed
/// again.
Described describe_program(const std::string &batonc,
                           const std::filesystem::path &model,
                           const Flags &flags, uint64_t rows,
                           const std::filesystem::path &file);

/// Refuses steps of more rows than the described program has.
void limit_rows(Described &described, uint64_t rows);

/// Describes programs of the same flags once: those without a pipeline do not
/// know how many microbatches a step has. For several threads at once.
class DescribedOnce {
public:
  using Describe = std::function<Described(const Flags &)>;

  explicit DescribedOnce(Describe describe) : describe(std::move(describe)) {}

  /// Waits where another thread describes them. What `describe` throws is
  /// thrown to all that wait, and nothing is kept of it.
  Described operator()(const Flags &flags);

private:
  const Describe describe;
  std::mutex mutex;
  std::map<Flags, std::shared_future<Described>> programs;
};

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_DESCRIBE_H
