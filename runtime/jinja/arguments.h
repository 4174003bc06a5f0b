//===- arguments.h - arguments of a call beside a signature ---------------===//

#ifndef BATON_RUNTIME_JINJA_ARGUMENTS_H
#define BATON_RUNTIME_JINJA_ARGUMENTS_H

#include "runtime/jinja/value.h"

#include <string_view>
#include <vector>

namespace baton::jinja {

/// The arguments by position of their parameters; those that were not given are
/// Missing. What `*` and `**` of the signature take is in `rest`.
struct Bound {
  std::vector<Value> values;
  Arguments rest;

  const Value &operator[](size_t parameter) const { return values[parameter]; }
  bool given(size_t parameter) const { return !values[parameter].missing(); }
  /// By truth.
  bool flag(size_t parameter, bool otherwise) const;
  /// Nothing where it is not given or None. Throws Failure where it is no
  /// integer.
  std::optional<Integer> integer(size_t parameter) const;
  /// The same, but None is none either.
  Integer integer_or(size_t parameter, Integer otherwise) const;
};

/// A signature names parameters with spaces between them: `name` has to be
/// given, `name=` need not be; those before `/` cannot be given by name; a last
/// `*` takes more arguments by position, `**` by name. Throws Failure where the
/// arguments do not fit.
Bound bind_arguments(std::string_view function, std::string_view signature,
                     Arguments arguments);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_ARGUMENTS_H
