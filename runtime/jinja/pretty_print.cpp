//===- pretty_print.cpp - values over several lines, by Python's pprint ---===//

#include "runtime/jinja/pretty_print.h"

#include "runtime/jinja/operations.h"
#include "runtime/jinja/printing.h"
#include "runtime/jinja/stable_order.h"
#include "runtime/jinja/unicode.h"

#include <algorithm>

namespace baton::jinja {

namespace {

constexpr ptrdiff_t columns = 80;

class PrettyPrinter {
public:
  explicit PrettyPrinter(Rendering &rendering) : rendering(rendering) {}

  /// `indent` columns are taken on the left, `allowance` on the right.
  void print(const Value &value, ptrdiff_t indent, ptrdiff_t allowance,
             bool outermost) {
    const std::string flat = shown(rendering, value);
    if (length(flat) <= columns - indent - allowance) {
      result += flat;
      return;
    }
    if (value.is(Object::Kind::Dictionary))
      print_dictionary(value.as<Dictionary>(), indent, allowance);
    else if (value.is(Object::Kind::List))
      print_items(value.as<List>(), "[", "]", indent, allowance);
    else if (value.is(Object::Kind::Tuple))
      print_items(value.as<List>(), "(",
                  value.as<List>().items.size() == 1 ? ",)" : ")", indent,
                  allowance);
    else if (value.is_text() && !value.text().safe)
      print_text(value.bytes(), indent, allowance, outermost);
    else
      result += flat;
  }

  std::string result;

private:
  static ptrdiff_t length(std::string_view text) {
    return static_cast<ptrdiff_t>(count_characters(text));
  }

  void new_line(ptrdiff_t indent) {
    rendering.make(static_cast<uint64_t>(indent) + 1);
    result += '\n' + std::string(static_cast<size_t>(indent), ' ');
  }

  void print_items(const List &list, const char *open, std::string_view close,
                   ptrdiff_t indent, ptrdiff_t allowance) {
    result += open;
    allowance += static_cast<ptrdiff_t>(close.size());
    for (size_t at = 0; at < list.items.size(); ++at) {
      if (at) {
        result += ',';
        new_line(indent + 1);
      }
      print(list.items[at], indent + 1,
            at + 1 == list.items.size() ? allowance : 1, false);
    }
    result += close;
  }

  void print_dictionary(const Dictionary &dictionary, ptrdiff_t indent,
                        ptrdiff_t allowance) {
    result += '{';
    const auto &entries = dictionary.entries();
    for (size_t at = 0; at < entries.size(); ++at) {
      if (at) {
        result += ',';
        new_line(indent + 1);
      }
      const std::string key = shown(rendering, entries[at].first);
      result += key + ": ";
      print(entries[at].second, indent + 1 + length(key) + 2,
            at + 1 == entries.size() ? allowance + 1 : 1, false);
    }
    result += '}';
  }

  /// Words, each with the white space behind it.
  static std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    bool blank = true;
    for (size_t at = 0; at < line.size();) {
      const size_t begin = at;
      const bool space = is_space(next_character(line, at));
      if (words.empty() || (blank && !space))
        words.emplace_back();
      words.back() += line.substr(begin, at - begin);
      blank = space;
    }
    return words;
  }

  void print_text(const std::string &text, ptrdiff_t indent,
                  ptrdiff_t allowance, bool outermost) {
    if (outermost) {
      ++indent;
      ++allowance;
    }
    const auto lines = split_lines(text, true);
    std::vector<std::string> chunks;
    for (size_t at = 0; at < lines.size(); ++at) {
      const bool last = at + 1 == lines.size();
      const std::string flat = shown(lines[at]);
      if (length(flat) <= columns - indent - (last ? allowance : 0))
        chunks.push_back(flat);
      else
        add_words(chunks, words_of(lines[at]), columns - indent,
                  last ? allowance : 0);
    }
    const bool parentheses = outermost && chunks.size() > 1;
    if (parentheses)
      result += '(';
    for (size_t at = 0; at < chunks.size(); ++at) {
      if (at)
        new_line(indent);
      result += chunks[at];
    }
    if (parentheses)
      result += ')';
  }

  void add_words(std::vector<std::string> &chunks,
                 const std::vector<std::string> &words, ptrdiff_t width,
                 ptrdiff_t last_allowance) {
    std::string line;
    for (size_t at = 0; at < words.size(); ++at) {
      rendering.make(line.size() + words[at].size(), 2);
      const bool last = at + 1 == words.size();
      if (length(shown(line + words[at])) >
          width - (last ? last_allowance : 0)) {
        if (!line.empty())
          chunks.push_back(shown(line));
        line = words[at];
      } else
        line += words[at];
    }
    if (!line.empty())
      chunks.push_back(shown(line));
  }

  Rendering &rendering;
};

/// The value with the keys of its dictionaries in order, which differs in
/// nothing but that.
Value with_sorted_keys(Rendering &rendering, const Value &value) {
  rendering.step();
  if (value.is(Object::Kind::List) || value.is(Object::Kind::Tuple)) {
    std::vector<Value> items;
    for (const Value &item : value.as<List>().items) {
      rendering.make(sizeof(Value));
      items.push_back(with_sorted_keys(rendering, item));
    }
    return Value(
        std::make_shared<List>(std::move(items), value.object()->kind));
  }
  if (!value.is(Object::Kind::Dictionary))
    return value;
  const auto &entries = value.as<Dictionary>().entries();
  const std::vector<size_t> order =
      stable_order(entries.size(), [&](size_t left, size_t right) {
        const Value &first = entries[left].first;
        const Value &second = entries[right].first;
        if ((first.is_number() && second.is_number()) ||
            (first.is_text() && second.is_text()))
          return compare(rendering, Comparison::Less, first, second);
        return type_name(first) < type_name(second);
      });
  auto sorted = std::make_shared<Dictionary>();
  for (const size_t at : order) {
    rendering.make(2 * sizeof(Value));
    sorted->set(entries[at].first,
                with_sorted_keys(rendering, entries[at].second));
  }
  return Value(std::move(sorted));
}

} // namespace

std::string pretty_print(Rendering &rendering, const Value &value) {
  PrettyPrinter printer(rendering);
  printer.print(with_sorted_keys(rendering, value), 0, 0, true);
  return std::move(printer.result);
}

} // namespace baton::jinja
