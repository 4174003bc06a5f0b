//===- describe.cpp - what batonc says of a program that it would make ----===//

#include "tools/plan/describe.h"

#include "tools/command/child.h"

#include <fstream>
#include <iterator>
#include <vector>

using namespace baton;
using namespace baton::plan;

std::string plan::batonc_beside_this() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() /
          "../../bin/batonc")
      .lexically_normal()
      .string();
}

/// The line of batonc's that says why, without what every such line begins
/// with.
static std::string reason(const std::filesystem::path &errors) {
  std::ifstream stream(errors);
  std::string line;
  std::getline(stream, line);
  const size_t begin = line.find("error: ");
  return begin == std::string::npos ? line : line.substr(begin + 7);
}

Described plan::describe_program(const std::string &batonc,
                                 const std::filesystem::path &model,
                                 const Flags &flags, uint64_t rows,
                                 const std::filesystem::path &file) {
  const std::filesystem::path errors = file.string() + ".errors";
  std::vector<std::string> words = {
      batonc, model.string(), "--emit=description",
      "-o",   file.string(),  "--quiet"};
  for (const auto &[flag, value] : flags)
    words.push_back(value.empty() ? flag : flag + "=" + value);
  Described described;
  if (!run_quiet_child(words, errors)) {
    described.refusal = reason(errors);
    return described;
  }
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  stream.close();
  described.metadata = Metadata::parse(text);
  limit_rows(described, rows);
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  return described;
}

void plan::limit_rows(Described &described, uint64_t rows) {
  if (!described.metadata || rows <= described.metadata->max_rows)
    return;
  described.refusal = "a step of such a program has " +
                      std::to_string(described.metadata->max_rows) +
                      " rows at most";
  described.metadata.reset();
}

Described DescribedOnce::operator()(const Flags &flags) {
  std::promise<Described> promise;
  std::shared_future<Described> program;
  {
    const std::lock_guard lock(mutex);
    if (auto found = programs.find(flags); found != programs.end())
      program = found->second;
    else
      programs.emplace(flags, promise.get_future().share());
  }
  if (program.valid())
    return program.get();
  try {
    Described described = describe(flags);
    promise.set_value(described);
    return described;
  } catch (...) {
    {
      const std::lock_guard lock(mutex);
      programs.erase(flags);
    }
    promise.set_exception(std::current_exception());
    throw;
  }
}
