//===- Redirect.h - the CPU library's tests on CUDA bodies ----------------===//
//
// Included before a test of codegen/cpu/library, this makes the bodies that it
// calls those of codegen/cuda/library in emulation. The tests judge by the FP64
// oracle and by properties that both libraries have to have; no line of them is
// repeated here.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_REDIRECT_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_REDIRECT_H

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/training.h"
#include "test/codegen/cuda/library/Bodies.h"

#include <algorithm>
#include <cstddef>
#include <gtest/gtest.h>
#include <iterator>

namespace baton::test {

/// Calls take turns in blocks of several sizes and schedules. Large ones are
/// for Twins.h: there are many calls.
inline ThreadBlock next_block() {
  constexpr ThreadBlock blocks[] = {{32, 0}, {96, 5}, {64, 0}, {32, 9}};
  static size_t calls = 0;
  return blocks[calls++ % std::size(blocks)];
}

template <size_t Size> struct BodyName {
  consteval BodyName(const char (&name)[Size]) {
    std::copy_n(name, Size, text);
  }
  char text[Size];
};

template <BodyName Name, typename Function> struct EmulatedCall;

template <BodyName Name, typename... Parameters>
struct EmulatedCall<Name, void(Parameters...)> {
  static void call(Parameters... arguments) {
    static auto *const body = emulated_body<void(Parameters...)>(Name.text);
    ASSERT_NE(body, nullptr) << "no CUDA body " << Name.text;
    run_emulated(next_block(), body, std::tuple<Parameters...>(arguments...));
  }
};

} // namespace baton::test

// A macro per body: #define baton_task_x EmulatedCall<"baton_task_x",
// ...>::call
#include "codegen/bodies/Redirections.inc"

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_REDIRECT_H
