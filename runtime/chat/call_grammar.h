//===- call_grammar.h - a call of one function, as a grammar --------------===//

#ifndef BATON_RUNTIME_CHAT_CALL_GRAMMAR_H
#define BATON_RUNTIME_CHAT_CALL_GRAMMAR_H

#include "runtime/chat/tool_declaration.h"
#include "runtime/chat/tool_format.h"
#include "runtime/grammar/grammar.h"

#include <functional>
#include <string_view>
#include <utility>

namespace baton {

/// Writes marks with the special tokens that a vocabulary has for them.
class MarkGrammar {
public:
  /// None are special without a function.
  explicit MarkGrammar(std::function<bool(std::string_view)> is_special)
      : is_special(std::move(is_special)) {}
  Grammar of(std::string_view text) const;

private:
  std::function<bool(std::string_view)> is_special;
};

/// From the opening of a call to its close, in the way of the format. Throws
/// Error for a schema that is not supported.
Grammar call_grammar(const ToolFormat &format, const ToolDeclaration &tool,
                     const MarkGrammar &marks);

} // namespace baton

#endif // BATON_RUNTIME_CHAT_CALL_GRAMMAR_H
