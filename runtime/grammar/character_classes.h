//===- character_classes.h - named classes of patterns -------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_CHARACTER_CLASSES_H
#define BATON_RUNTIME_GRAMMAR_CHARACTER_CLASSES_H

#include "runtime/grammar/character_set.h"

#include <optional>
#include <string_view>

namespace baton {

/// \d, \w, \s, and \D, \W, \S; nothing for other letters.
std::optional<CharacterSet> escaped_class(char letter);

/// All but the ends of lines: \n, \r, U+2028, U+2029.
const CharacterSet &within_line();

/// Characters of a general category, by its short name: "L", "Lu", "Nd"; or
/// "Any". Nothing for other names.
std::optional<CharacterSet> general_category(std::string_view name);

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_CHARACTER_CLASSES_H
