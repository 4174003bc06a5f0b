//===- MutateIR.cpp - mutations that keep IR well-formed ------------------===//

#include "MutateIR.h"

#include <algorithm>
#include <random>
#include <vector>

namespace {

struct Token {
  size_t begin;
  size_t end;
};

// Each may stand where another of its list stands.
const std::vector<std::vector<std::string>> words = {
    {"f32", "bf16", "f16", "i32"},
    {"rows", "outputs", "kv", "past"},
    {"silu", "gelu", "gelu_tanh", "relu", "identity"},
    {"rms", "layer", "identity"},
    {"tanh", "softmax"},
    {"add", "mul"},
    {"rms_norm", "layer_norm"},
    {"read", "write"},
    {"transient", "state"},
    {"floordiv", "mod", "ceildiv"},
};

bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

/// Numbers and words between two places, but no names of values and symbols.
std::vector<Token> tokensOf(const std::string &text, size_t first,
                            size_t last) {
  std::vector<Token> tokens;
  for (size_t i = first; i < last;) {
    size_t begin = i;
    while (i < last && isWord(text[i]))
      ++i;
    if (i == begin) {
      ++i;
      continue;
    }
    if (begin > 0 && (text[begin - 1] == '%' || text[begin - 1] == '@'))
      continue;
    std::string word = text.substr(begin, i - begin);
    bool number = std::all_of(word.begin(), word.end(), ::isdigit);
    bool known = std::any_of(words.begin(), words.end(), [&](const auto &list) {
      return std::find(list.begin(), list.end(), word) != list.end();
    });
    if (number ? word.size() < 10 : known)
      tokens.push_back({begin, i});
  }
  return tokens;
}

/// What may stand in the place of a number or a word.
std::string replacement(const std::string &old, unsigned choice) {
  if (std::isdigit(static_cast<unsigned char>(old[0]))) {
    long value = std::stol(old);
    const long values[] = {value - 1, value + 1, value * 2, value / 2, 0,  1,
                           2,         3,         4,         5,         8,  15,
                           16,        17,        32,        33,        64, 65};
    return std::to_string(std::max(0L, values[choice % std::size(values)]));
  }
  std::vector<std::string> others;
  for (const auto &list : words)
    if (std::find(list.begin(), list.end(), old) != list.end())
      others.insert(others.end(), list.begin(), list.end());
  return others[choice % others.size()];
}

std::string replaceAll(std::string text, const std::string &old,
                       const std::string &next) {
  for (size_t at = 0; (at = text.find(old, at)) != std::string::npos;
       at += next.size())
    text.replace(at, old.size(), next);
  return text;
}

} // namespace

std::string baton::fuzz::mutateIR(const std::string &text, unsigned seed) {
  std::minstd_rand random(seed + 1);
  random.discard(4);
  auto below = [&](size_t count) { return random() / 7 % count; };
  std::vector<Token> tokens = tokensOf(text, 0, text.size());
  if (tokens.empty())
    return text;
  Token token = tokens[below(tokens.size())];
  std::string old = text.substr(token.begin, token.end - token.begin);
  std::string next = replacement(old, below(1000));
  switch (below(4)) {
  case 0: // here
    return text.substr(0, token.begin) + next + text.substr(token.end);
  case 1: { // in this type or attribute, wherever it stands
    size_t begin = text.rfind('<', token.begin);
    size_t end = text.find('>', token.end);
    if (begin == std::string::npos || end == std::string::npos)
      return text;
    std::string whole = text.substr(begin, end - begin);
    return replaceAll(text, whole,
                      whole.substr(0, token.begin - begin) + next +
                          whole.substr(token.end - begin));
  }
  default: { // everywhere
    std::string result;
    size_t done = 0;
    for (const Token &other : tokens)
      if (text.compare(other.begin, other.end - other.begin, old) == 0) {
        result += text.substr(done, other.begin - done) + next;
        done = other.end;
      }
    return result + text.substr(done);
  }
  }
}
