//===- TwinsTest.cpp - every body of the CPU has a twin, and a test -------===//
//
// One test case for every body that codegen/bodies declares. It runs what
// TWIN_TEST defined under the body's name.
//
//===----------------------------------------------------------------------===//

#include "test/codegen/cuda/library/Twins.h"
#include "test/codegen/cuda/library/PlacedTest.h"

using namespace baton::test;

/// What ctest shows of a parameter.
void baton::test::PrintTo(const EmulatedBody &body, std::ostream *os) {
  *os << body.name;
}

namespace {

class Twins : public PlacedTest<EmulatedBody> {
protected:
  static void test(Blocks blocks) {
    const std::string name = GetParam().name;
    auto test = twin_tests().find(name);
    ASSERT_NE(test, twin_tests().end())
        << "test/codegen/cuda/library has no TWIN_TEST(" << name << ")";
    twin_blocks() = std::move(blocks);
    test->second();
  }
};

TEST_P(Twins, Agree) { test({{32, 0}, {64, 7}, {96, 0}, {256, 7}}); }

TEST_P(Twins, AgreeInEverySchedule) {
  test({{32, 7}, {64, 0}, {96, 7}, {256, 0}});
}

INSTANTIATE_TEST_SUITE_P(Library, Twins, ::testing::ValuesIn(emulated_bodies()),
                         [](const auto &test) {
                           return std::string(test.param.name);
                         });

} // namespace
