//===- formats.h - what Python finds in a file ---------------------------===//

#ifndef BATON_TEST_RUNTIME_TRAIN_FORMATS_H
#define BATON_TEST_RUNTIME_TRAIN_FORMATS_H

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <string>

namespace baton::test {

/// What formats.py says of a file, or null when it refuses it. The path has no
/// character that a shell would mind.
inline nlohmann::json read_format(const std::string &format,
                                  const std::filesystem::path &path) {
  std::string command = std::string(BATON_PYTHON) + " -S " +
                        BATON_FORMATS_SCRIPT + " " + format + " " +
                        path.string();
  FILE *pipe = popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  while (size_t count = pipe ? fread(buffer, 1, sizeof(buffer), pipe) : 0)
    text.append(buffer, count);
  EXPECT_TRUE(pipe && pclose(pipe) == 0) << command;
  return nlohmann::json::parse(text, nullptr, false);
}

} // namespace baton::test

#endif // BATON_TEST_RUNTIME_TRAIN_FORMATS_H
