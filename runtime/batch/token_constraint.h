//===- token_constraint.h - what a text may go on with --------------------===//

#ifndef BATON_RUNTIME_BATCH_TOKEN_CONSTRAINT_H
#define BATON_RUNTIME_BATCH_TOKEN_CONSTRAINT_H

#include <cstdint>
#include <memory>
#include <span>

namespace baton {

/// What one text may go on with. Used by one thread at a time.
class TokenMatcher {
public:
  virtual ~TokenMatcher() = default;
  /// Writes a bit for each token id: 1 where the text may go on with it.
  /// (vocabulary + 31) / 32 words. Allocates nothing once warm.
  virtual void allowed(std::span<uint32_t> mask) = 0;
  /// Takes a token of those allowed. False, and nothing changes, if it is not.
  virtual bool accept(int32_t token) = 0;
  /// Nothing can follow but the end.
  virtual bool is_finished() const = 0;
};

/// Compiled once, shared by texts and threads.
class TokenConstraint {
public:
  virtual ~TokenConstraint() = default;
  virtual std::unique_ptr<TokenMatcher> start() const = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_BATCH_TOKEN_CONSTRAINT_H
