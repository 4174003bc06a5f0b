//===- PlacedTest.h - tests of bodies that may run elsewhere --------------===//
//
// Where BATON_TEST_BODIES names a place (Relocation.h), a test that has passed
// has run a body there: one whose place lacks the body is skipped, and one that
// has run none there fails. So what such a run counts is what it has tested.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_PLACEDTEST_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_PLACEDTEST_H

#include "test/codegen/cuda/library/Relocation.h"

#include <gtest/gtest.h>

namespace baton::test {

template <typename Base> class PlacedTestOf : public Base {
protected:
  void SetUp() override {
    if (!can_run())
      GTEST_SKIP() << "BATON_TEST_BODIES names a cubin without this body";
    if (Place *place = Place::chosen())
      calls = place->calls;
  }
  void TearDown() override {
    Place *const place = Place::chosen();
    if (place && !this->IsSkipped() && !this->HasFailure())
      EXPECT_GT(place->calls, calls)
          << "no body has run where BATON_TEST_BODIES says";
  }
  virtual bool can_run() const { return true; }

private:
  uint64_t calls = 0;
};

/// Of what a Parameter stands for, with can_run() where a place may lack it.
template <typename Parameter>
class PlacedTest : public PlacedTestOf<::testing::TestWithParam<Parameter>> {
protected:
  bool can_run() const override {
    if constexpr (requires(Parameter parameter) { parameter.can_run(); })
      return this->GetParam().can_run();
    return true;
  }
};

/// The error of one instruction's sum on tensor cores, in roundings of F32. The
/// emulation rounds once. A GPU cuts instead, each addend to the largest one's
/// size, with two bits more than F32 has at least, and the sum: 2 for that, and
/// half of one for each of the 17 addends; some make two such sums of it.
inline double roundings_of_a_step() {
  return Place::chosen() && Place::chosen()->is_gpu() ? 13.0 : 1.0;
}

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_PLACEDTEST_H
