//===- resolver.h - which variable a name means ---------------------------===//
//
// Jinja compiles templates to Python, and its scopes are what comes of that:
// a name means one variable in all of a scope, wherever it is assigned; loops,
// {% with %} and blocks that capture begin a scope, {% if %} does not; what is
// assigned inside is not seen outside. Macros see the variables around them as
// they are when the macro is called.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_JINJA_RESOLVER_H
#define BATON_RUNTIME_JINJA_RESOLVER_H

#include "runtime/jinja/syntax.h"

namespace baton::jinja {

/// Also finds filters and tests by name. Throws Failure with its place for what
/// Jinja's compiler refuses: unknown filters (but behind an if), breaks outside
/// of loops, assignments to `loop`.
Program resolve(Body body);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_RESOLVER_H
