//===- filters.h - filters and tests by name ------------------------------===//
//
// Jinja's own (https://jinja.palletsprojects.com/en/stable/templates/), with
// the `tojson` of Transformers. Not there: random, urlize, and what needs a
// name that Transformers does not define, either.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_JINJA_FILTERS_H
#define BATON_RUNTIME_JINJA_FILTERS_H

#include "runtime/jinja/arguments.h"
#include "runtime/jinja/rendering.h"

#include <span>
#include <string_view>

namespace baton::jinja {

/// What is filtered or tested is the first parameter.
struct Filter {
  std::string_view name, signature;
  Value (*apply)(Rendering &rendering, const Bound &given);
};
struct Test {
  std::string_view name, signature;
  bool (*holds)(Rendering &rendering, const Bound &given);
};

/// Null where there is none.
const Filter *find_filter(std::string_view name);
const Test *find_test(std::string_view name);

/// `arguments` begin with the value.
Value apply(Rendering &rendering, const Filter &filter, Arguments arguments);
bool holds(Rendering &rendering, const Test &test, Arguments arguments);

std::span<const Filter> text_filters();
std::span<const Filter> sequence_filters();
std::span<const Filter> number_filters();
std::span<const Filter> html_filters();

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_FILTERS_H
