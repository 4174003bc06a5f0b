//===- Twins.h - CPU and CUDA bodies side by side -------------------------===//
//
// TWIN_TEST(baton_task_x) { ... } defines the test of a body, found under its
// name by TwinsTest.cpp. `twin` is the pair of bodies:
//
//   twin.agree([&](auto body) {
//     Buffer out(rows, width);
//     body(out.data(), ...);
//     return out;
//   });
//
// calls that with the CPU's body, and with the CUDA body in blocks of several
// sizes, each in a schedule, and expects the same bits in what is returned,
// gaps between rows included.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_TWINS_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_TWINS_H

#include "test/codegen/cpu/library/Support.h"
#include "test/codegen/cuda/library/Bodies.h"

#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace baton::test {

/// Blocks' threads, and the seeds of their schedules.
using Blocks = std::vector<std::pair<unsigned, uint64_t>>;

/// Those in which CUDA bodies run.
inline Blocks &twin_blocks() {
  static Blocks blocks;
  return blocks;
}

/// The same bits; NaNs are equal, because their payloads depend on the order of
/// operands, which no compiler keeps.
inline void expect_twin_bits(const std::vector<float> &actual,
                             const std::vector<float> &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_TRUE(std::bit_cast<uint32_t>(actual[i]) ==
                    std::bit_cast<uint32_t>(expected[i]) ||
                (std::isnan(actual[i]) && std::isnan(expected[i])))
        << "element " << i << ": " << actual[i] << " instead of "
        << expected[i];
}
inline void expect_twin_bits(const Buffer &actual, const Buffer &expected) {
  expect_twin_bits(actual.values, expected.values);
}

template <typename Function> struct Twin;

template <typename... Parameters> struct Twin<void(Parameters...)> {
  const char *name;
  void (*native)(Parameters...);

  template <typename Use> void agree(Use use) const {
    auto *const emulated = emulated_body<void(Parameters...)>(name);
    ASSERT_NE(emulated, nullptr) << name << " has other parameters";
    const auto expected = use(native);
    ASSERT_FALSE(twin_blocks().empty());
    for (auto [threads, seed] : twin_blocks()) {
      SCOPED_TRACE(std::to_string(threads) + " threads, seed " +
                   std::to_string(seed));
      auto in_block = [&, threads = threads, seed = seed](
                          std::type_identity_t<Parameters>... arguments) {
        run_emulated({threads, seed}, emulated,
                     std::tuple<Parameters...>(arguments...));
      };
      expect_twin_bits(use(in_block), expected);
      if (::testing::Test::HasFatalFailure())
        return;
    }
  }
};

/// The tests of bodies by the bodies' names.
inline std::map<std::string, void (*)()> &twin_tests() {
  static std::map<std::string, void (*)()> tests;
  return tests;
}

#define TWIN_TEST(body)                                                        \
  static void test_##body(const Twin<decltype(body)> &twin);                   \
  [[maybe_unused]] static const bool registered_##body =                       \
      twin_tests().emplace(#body, [] { test_##body({#body, body}); }).second;  \
  static void test_##body(const Twin<decltype(body)> &twin)

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_TWINS_H
