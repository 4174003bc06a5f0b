//===- MutateIR.h - mutations that keep IR well-formed --------------------===//

#ifndef BATON_TEST_FUZZ_MUTATEIR_H
#define BATON_TEST_FUZZ_MUTATEIR_H

#include <string>

namespace baton::fuzz {

/// Changes a number or a word, in one place or wherever it occurs: dimensions,
/// element types and operations that have to agree often still do, which
/// changes of bytes hardly ever achieve. The same seed, the same change.
std::string mutateIR(const std::string &text, unsigned seed);

} // namespace baton::fuzz

#endif // BATON_TEST_FUZZ_MUTATEIR_H
