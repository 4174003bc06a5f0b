//===- arguments.cpp - arguments of a call beside a signature -------------===//

#include "runtime/jinja/arguments.h"

#include <algorithm>

namespace baton::jinja {

namespace {

struct Parameter {
  std::string_view name;
  bool optional, by_name;
};

struct Signature {
  std::vector<Parameter> parameters;
  bool more_positions = false, more_names = false;
};

Signature read_signature(std::string_view text) {
  Signature signature;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word == "*")
      signature.more_positions = true;
    else if (word == "**")
      signature.more_names = true;
    else if (word == "/")
      for (Parameter &parameter : signature.parameters)
        parameter.by_name = false;
    else {
      const bool optional = word.back() == '=';
      if (optional)
        word.remove_suffix(1);
      signature.parameters.push_back({word, optional, true});
    }
  }
  return signature;
}

} // namespace

bool Bound::flag(size_t parameter, bool otherwise) const {
  return given(parameter) ? truth_of(values[parameter]) : otherwise;
}

std::optional<Integer> Bound::integer(size_t parameter) const {
  const Value &value = values[parameter];
  if (value.missing() || value.is_none())
    return std::nullopt;
  return integer_or(parameter, 0);
}

Integer Bound::integer_or(size_t parameter, Integer otherwise) const {
  const Value &value = values[parameter];
  if (value.missing())
    return otherwise;
  demand_defined(value);
  if (!value.is_integer())
    throw Failure("'" + std::string(type_name(value)) +
                  "' object cannot be interpreted as an integer");
  return value.integer();
}

Bound bind_arguments(std::string_view function, std::string_view signature_text,
                     Arguments arguments) {
  const Signature signature = read_signature(signature_text);
  const std::string name = std::string(function) + "()";
  Bound bound;
  bound.values.resize(signature.parameters.size());
  const size_t by_position =
      std::min(signature.parameters.size(), arguments.positional.size());
  std::move(arguments.positional.begin(),
            arguments.positional.begin() + static_cast<ptrdiff_t>(by_position),
            bound.values.begin());
  arguments.positional.erase(arguments.positional.begin(),
                             arguments.positional.begin() +
                                 static_cast<ptrdiff_t>(by_position));
  if (!arguments.positional.empty() && !signature.more_positions)
    throw Failure(name + " takes at most " +
                  std::to_string(signature.parameters.size()) + " arguments, " +
                  std::to_string(by_position + arguments.positional.size()) +
                  " are given");

  for (size_t at = 0; at < signature.parameters.size(); ++at) {
    const Parameter &parameter = signature.parameters[at];
    if (parameter.by_name) {
      Value named = arguments.take(parameter.name);
      if (!named.missing() && bound.given(at))
        throw Failure(name + " got multiple values for argument '" +
                      std::string(parameter.name) + "'");
      if (!named.missing())
        bound.values[at] = std::move(named);
    }
    if (!parameter.optional && !bound.given(at))
      throw Failure(name + " missing 1 required positional argument: '" +
                    std::string(parameter.name) + "'");
  }
  if (!arguments.keywords.empty() && !signature.more_names)
    throw Failure(name + " got an unexpected keyword argument '" +
                  arguments.keywords.front().first + "'");
  bound.rest = std::move(arguments);
  return bound;
}

} // namespace baton::jinja
