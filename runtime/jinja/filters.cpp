//===- filters.cpp - filters by name --------------------------------------===//

#include "runtime/jinja/filters.h"

#include <algorithm>

namespace baton::jinja {

const Filter *find_filter(std::string_view name) {
  for (const std::span<const Filter> filters :
       {text_filters(), sequence_filters(), number_filters(), html_filters()})
    for (const Filter &filter : filters)
      if (filter.name == name)
        return &filter;
  return nullptr;
}

Value apply(Rendering &rendering, const Filter &filter, Arguments arguments) {
  return filter.apply(rendering, bind_arguments(filter.name, filter.signature,
                                                std::move(arguments)));
}

bool holds(Rendering &rendering, const Test &test, Arguments arguments) {
  return test.holds(rendering, bind_arguments(test.name, test.signature,
                                              std::move(arguments)));
}

} // namespace baton::jinja
