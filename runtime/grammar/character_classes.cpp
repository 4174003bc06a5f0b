//===- character_classes.cpp - named classes of patterns -----------------===//

#include "runtime/grammar/character_classes.h"

#include <utf8proc.h>

#include <algorithm>

namespace baton {

std::optional<CharacterSet> escaped_class(char letter) {
  switch (letter) {
  case 'd':
    return CharacterSet({{'0', '9'}});
  case 'w':
    return CharacterSet({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
  case 's':
    return CharacterSet({{9, 13},
                         {' ', ' '},
                         {0xA0, 0xA0},
                         {0x1680, 0x1680},
                         {0x2000, 0x200A},
                         {0x2028, 0x2029},
                         {0x202F, 0x202F},
                         {0x205F, 0x205F},
                         {0x3000, 0x3000},
                         {0xFEFF, 0xFEFF}});
  case 'D':
    return escaped_class('d')->complement();
  case 'W':
    return escaped_class('w')->complement();
  case 'S':
    return escaped_class('s')->complement();
  default:
    return std::nullopt;
  }
}

const CharacterSet &within_line() {
  static const CharacterSet set =
      CharacterSet({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}).complement();
  return set;
}

std::optional<CharacterSet> general_category(std::string_view name) {
  static constexpr std::string_view letters = "LMNPSZC";
  static constexpr std::string_view names[] = {
      "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl",
      "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc",
      "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cn", "Co"};
  if (name == "Any")
    return CharacterSet::all();
  const bool of_letter =
      name.size() == 1 && letters.find(name[0]) != letters.npos;
  if (!of_letter &&
      std::find(std::begin(names), std::end(names), name) == std::end(names))
    return std::nullopt;
  std::vector<CharacterRange> ranges;
  for (uint32_t character = 0; character <= last_character; ++character) {
    const std::string_view category =
        utf8proc_category_string(static_cast<utf8proc_int32_t>(character));
    if (!category.starts_with(name))
      continue;
    if (!ranges.empty() && ranges.back().last + 1 == character)
      ranges.back().last = character;
    else
      ranges.push_back({character, character});
  }
  return CharacterSet(std::move(ranges));
}

} // namespace baton
