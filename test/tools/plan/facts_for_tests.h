//===- facts_for_tests.h - the files that the tool has --------------------===//

#ifndef BATON_TEST_TOOLS_PLAN_FACTS_FOR_TESTS_H
#define BATON_TEST_TOOLS_PLAN_FACTS_FOR_TESTS_H

#include "tools/plan/device.h"
#include "tools/plan/framework.h"

namespace baton::plan {

inline Device device(const std::string &name) {
  return read_device(std::string(BATON_PLAN_FACTS "/devices/") + name +
                     ".json");
}

inline Framework framework(const std::string &name) {
  return read_framework(std::string(BATON_PLAN_FACTS "/frameworks/") + name +
                        ".json");
}

inline std::string table(const std::string &name) {
  return std::string(BATON_PLAN_TABLES "/") + name + ".csv";
}

} // namespace baton::plan

#endif // BATON_TEST_TOOLS_PLAN_FACTS_FOR_TESTS_H
