//===- character_set.h - sets of Unicode characters ----------------------===//
//
// Characters are Unicode scalar values: code points without surrogates.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_CHARACTER_SET_H
#define BATON_RUNTIME_GRAMMAR_CHARACTER_SET_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

inline constexpr uint32_t last_character = 0x10FFFF;

/// Characters from `first` to `last`, both included.
struct CharacterRange {
  uint32_t first, last;
  bool operator==(const CharacterRange &) const = default;
};

/// Immutable once built; ranges are sorted and do not touch.
class CharacterSet {
public:
  CharacterSet() = default;
  /// Any ranges; surrogates in them are left out.
  explicit CharacterSet(std::vector<CharacterRange> any);

  static CharacterSet all();
  static CharacterSet of(uint32_t character);

  const std::vector<CharacterRange> &ranges() const { return sorted; }
  bool empty() const { return sorted.empty(); }
  bool contains(uint32_t character) const;

  CharacterSet complement() const;
  CharacterSet united(const CharacterSet &other) const;

  bool operator==(const CharacterSet &) const = default;

private:
  std::vector<CharacterRange> sorted;
};

/// The characters of well-formed UTF-8. Throws Error that begins with `name`
/// where it is not.
std::vector<uint32_t> characters_of(std::string_view utf8,
                                    const std::string &name);

/// Appends a character's UTF-8.
void append_utf8(std::string &text, uint32_t character);

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_CHARACTER_SET_H
