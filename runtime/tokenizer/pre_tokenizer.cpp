//===- pre_tokenizer.cpp - cuts text into the words that are encoded -----===//

#include "runtime/tokenizer/pre_tokenizer.h"

#include "runtime/tokenizer/byte_alphabet.h"
#include "runtime/tokenizer/normalizer.h"

#include <algorithm>

namespace baton {

namespace {

/// The split that ByteLevel does by itself, published with GPT-2: contractions,
/// then letters, numbers or other characters with at most one space before
/// them, then spaces, of which a run leaves its last one to what follows.
constexpr const char *byte_level_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// All of ASCII's that is neither a letter, a digit nor a space, and Unicode's.
constexpr const char *punctuation_pattern = R"([!-/:-@\[-`{-~\p{P}])";

/// Words, of which joiners are part (UTS 18, annex C), and runs of all else but
/// white space.
constexpr const char *word_pattern =
    R"([\w\x{200C}\x{200D}]+|[^\w\x{200C}\x{200D}\s]+)";

} // namespace

PreTokenizer::PreTokenizer(const JsonView &description) { read(description); }

void PreTokenizer::read(const JsonView &description) {
  const std::string &type = description.at("type").string();
  if (type == "Sequence") {
    for (const JsonView &element : description.at("pretokenizers").elements())
      read(element);
  } else if (type == "Split") {
    add_split(read_pattern(description.at("pattern")),
              read_behavior(description.at("behavior")),
              description.boolean("invert", false));
  } else if (type == "CharDelimiterSplit") {
    add_split(Regex::literal(description.at("delimiter").string()),
              Behavior::Removed);
  } else if (type == "Digits") {
    const bool individual = description.boolean("individual_digits", false);
    add_split(Regex(individual ? R"(\p{N})" : R"(\p{N}+)"), Behavior::Isolated);
  } else if (type == "Punctuation") {
    const auto behavior = description.find("behavior");
    add_split(Regex(punctuation_pattern),
              behavior ? read_behavior(*behavior) : Behavior::Isolated);
  } else if (type == "Whitespace") {
    add_split(Regex(word_pattern), Behavior::Removed, /*inverted=*/true);
  } else if (type == "WhitespaceSplit") {
    add_split(Regex(R"(\s)"), Behavior::Removed);
  } else if (type == "BertPreTokenizer") {
    add_split(Regex(R"(\s)"), Behavior::Removed);
    add_split(Regex(punctuation_pattern), Behavior::Isolated);
  } else if (type == "Metaspace") {
    read_metaspace(description);
  } else if (type == "ByteLevel") {
    read_byte_level(description);
  } else {
    description.refuse("type '" + type + "'");
  }
}

PreTokenizer::Behavior
PreTokenizer::read_behavior(const JsonView &description) {
  const std::string &name = description.string();
  if (name == "Isolated")
    return Behavior::Isolated;
  if (name == "Removed")
    return Behavior::Removed;
  if (name == "MergedWithPrevious")
    return Behavior::WithPrevious;
  if (name == "MergedWithNext")
    return Behavior::WithNext;
  if (name == "Contiguous")
    return Behavior::Contiguous;
  description.refuse("'" + name + "'");
}

void PreTokenizer::add_split(Regex regex, Behavior behavior, bool inverted) {
  Step step;
  step.split = Split{std::move(regex), behavior, inverted};
  steps.push_back(std::move(step));
}

void PreTokenizer::read_metaspace(const JsonView &description) {
  Metaspace metaspace{description.at("replacement").string(),
                      Metaspace::Always};
  if (const auto scheme = description.find("prepend_scheme")) {
    if (scheme->string() == "first")
      metaspace.prepend = Metaspace::First;
    else if (scheme->string() == "never")
      metaspace.prepend = Metaspace::Never;
    else if (scheme->string() != "always")
      scheme->refuse("'" + scheme->string() + "'");
  } else if (!description.boolean("add_prefix_space", true)) {
    // The spelling of older versions.
    metaspace.prepend = Metaspace::Never;
  }
  // The reference then takes several words for the first one.
  if (metaspace.prepend == Metaspace::First &&
      std::ranges::any_of(steps, &Step::bytes))
    description.refuse("prepend_scheme 'first' behind ByteLevel");
  Step step;
  if (description.boolean("split", true))
    step.split =
        Split{Regex::literal(metaspace.replacement), Behavior::WithNext};
  step.metaspace = std::move(metaspace);
  steps.push_back(std::move(step));
}

void PreTokenizer::read_byte_level(const JsonView &description) {
  Step step;
  step.bytes = true;
  step.prefix_space = description.boolean("add_prefix_space", true);
  if (description.boolean("use_regex", true))
    step.split = Split{Regex(byte_level_pattern), Behavior::Isolated};
  steps.push_back(std::move(step));
}

void PreTokenizer::split(std::string_view text, bool at_start,
                         const Sink &sink) const {
  split_from(0, text, at_start, sink);
}

void PreTokenizer::split_from(size_t index, std::string_view text,
                              bool at_start, const Sink &sink) const {
  if (text.empty())
    return;
  if (index == steps.size())
    return sink(text);
  const Step &step = steps[index];
  std::string changed;
  if (step.metaspace) {
    static const Regex space = Regex::literal(" ");
    const auto &[replacement, prepend] = *step.metaspace;
    changed = replace_all(text, space, replacement);
    const bool prepends = prepend == Metaspace::Always ||
                          (prepend == Metaspace::First && at_start);
    if (prepends && !changed.starts_with(replacement))
      changed.insert(0, replacement);
    text = changed;
  } else if (step.prefix_space && text.front() != ' ') {
    changed.append(" ").append(text);
    text = changed;
  }
  const auto pass_on = [&](std::string_view piece) {
    const bool first = at_start && piece.data() == text.data();
    if (!step.bytes || index + 1 == steps.size())
      return split_from(index + 1, piece, first, sink);
    std::string spelled;
    for (const char byte : piece)
      spelled += spell_byte(static_cast<uint8_t>(byte));
    split_from(index + 1, spelled, first, sink);
  };
  if (!step.split)
    return pass_on(text);
  const auto &[regex, behavior, inverted] = *step.split;
  // Pieces lie behind one another, so that several are one word.
  const char *begin = text.data(), *held = begin;
  const auto up_to = [&](const char *end) {
    if (end != held)
      pass_on(std::string_view(held, static_cast<size_t>(end - held)));
    held = end;
  };
  bool is_first = true, was_match = false;
  regex.cut(text, [&](std::string_view piece, bool match) {
    const bool is_match = match != inverted;
    const bool joins =
        !is_first &&
        (behavior == Behavior::WithPrevious ? is_match && !was_match
         : behavior == Behavior::WithNext
             ? was_match && !is_match
             : behavior == Behavior::Contiguous && is_match == was_match);
    if (!joins)
      up_to(piece.data());
    if (behavior == Behavior::Removed && is_match)
      held = piece.data() + piece.size();
    is_first = false;
    was_match = is_match;
  });
  up_to(begin + text.size());
}

} // namespace baton
