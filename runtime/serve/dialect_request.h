//===- dialect_request.h - requests of other APIs, key by key -------------===//

#ifndef BATON_RUNTIME_SERVE_DIALECT_REQUEST_H
#define BATON_RUNTIME_SERVE_DIALECT_REQUEST_H

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <string>

namespace baton {

/// A value, or nothing: null is as if it was not there.
const nlohmann::ordered_json *find_value(const nlohmann::ordered_json &object,
                                         const char *key);

/// Of an object that the errors call `place`. Throws Error that begins with it
/// and the key, as in "tools[0].name: expected a text".
std::string read_text(const nlohmann::ordered_json &object, const char *key,
                      const std::string &place);
const nlohmann::ordered_json &read_object(const nlohmann::ordered_json &object,
                                          const char *key,
                                          const std::string &place);
/// "list[index]"
std::string element_place(const std::string &list, size_t index);

/// A text, or a list of objects that have a type and a text. `types` are those
/// that are texts; Throws Error that names other ones. Texts of a list are
/// lines.
std::string read_texts(const nlohmann::ordered_json &content,
                       const std::string &place,
                       std::initializer_list<const char *> types);

/// {"type": "function", "function": {"name": ...}}, of a tool or a choice.
nlohmann::ordered_json chat_function(const std::string &name);

/// The keys of a request that mean the same in chat completions: all but the
/// API's `own`. Throws Error for those that its answers have no place for, and
/// for what is nearly a key.
nlohmann::ordered_json shared_keys(const nlohmann::ordered_json &body,
                                   std::initializer_list<const char *> own);

/// Sets a variable of the chat template, unless the request does.
void set_template_variable(nlohmann::ordered_json &chat, const char *name,
                           const nlohmann::ordered_json &value);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_DIALECT_REQUEST_H
