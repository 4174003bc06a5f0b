//===- json_values.h - values of JSON documents ---------------------------===//

#ifndef BATON_RUNTIME_JINJA_JSON_VALUES_H
#define BATON_RUNTIME_JINJA_JSON_VALUES_H

#include "runtime/jinja/rendering.h"

#include <nlohmann/json.hpp>

namespace baton::jinja {

/// Throws Failure where the document is nested too deep, or has a text that is
/// not UTF-8.
Value value_of_json(Rendering &rendering,
                    const nlohmann::ordered_json &document);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_JSON_VALUES_H
