//===- pre_tokenizer.cpp - cuts text into the words that are encoded -----===//

#include "runtime/tokenizer/pre_tokenizer.h"

#include "runtime/tokenizer/normalizer.h"

namespace baton {

namespace {

/// The split that ByteLevel does by itself, published with GPT-2: contractions,
/// then letters, numbers or other characters with at most one space before
/// them, then spaces, of which a run leaves its last one to what follows.
constexpr const char *byte_level_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

} // namespace

PreTokenizer::PreTokenizer(const JsonView &description) { read(description); }

void PreTokenizer::read(const JsonView &description) {
  if (has_byte_level)
    description.refuse("a pre-tokenizer behind ByteLevel");
  const std::string &type = description.at("type").string();
  if (type == "Sequence") {
    for (const JsonView &element : description.at("pretokenizers").elements())
      read(element);
  } else if (type == "Split") {
    read_split(description);
  } else if (type == "Digits") {
    const bool individual = description.boolean("individual_digits", false);
    Regex digits(individual ? R"(\p{N})" : R"(\p{N}+)");
    steps.push_back({{}, Split{digits, Split::Isolated}});
  } else if (type == "Metaspace") {
    read_metaspace(description);
  } else if (type == "ByteLevel") {
    read_byte_level(description);
  } else {
    description.refuse("type '" + type + "'");
  }
}

void PreTokenizer::read_split(const JsonView &description) {
  const std::string &behavior = description.at("behavior").string();
  const bool invert = description.boolean("invert", false);
  Split split{read_pattern(description.at("pattern")), Split::Isolated};
  if (behavior == "Removed")
    split.kind = invert ? Split::RestRemoved : Split::MatchesRemoved;
  else if (behavior == "MergedWithPrevious" && !invert)
    split.kind = Split::WithPrevious;
  else if (behavior == "MergedWithNext" && !invert)
    split.kind = Split::WithNext;
  else if (behavior != "Isolated")
    description.at("behavior")
        .refuse("'" + behavior + "'" + (invert ? ", inverted," : ""));
  steps.push_back({{}, std::move(split)});
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
  Step step;
  if (description.boolean("split", true))
    step.split = Split{Regex::literal(metaspace.replacement), Split::WithNext};
  step.metaspace = std::move(metaspace);
  steps.push_back(std::move(step));
}

void PreTokenizer::read_byte_level(const JsonView &description) {
  has_byte_level = true;
  Step step;
  step.prefix_space = description.boolean("add_prefix_space", true);
  if (description.boolean("use_regex", true))
    step.split = Split{Regex(byte_level_pattern), Split::Isolated};
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
    split_from(index + 1, piece, at_start && piece.data() == text.data(), sink);
  };
  if (!step.split)
    return pass_on(text);
  const Split &split = *step.split;
  // Pieces lie behind one another, so that several are one.
  const char *begin = text.data(), *held = begin;
  const auto up_to = [&](const char *end) {
    if (end != held)
      pass_on(std::string_view(held, static_cast<size_t>(end - held)));
    held = end;
  };
  split.regex.cut(text, [&](std::string_view piece, bool match) {
    switch (split.kind) {
    case Split::Isolated:
      return pass_on(piece);
    case Split::MatchesRemoved:
      return match ? void() : pass_on(piece);
    case Split::RestRemoved:
      return match ? pass_on(piece) : void();
    case Split::WithPrevious:
      return match ? up_to(piece.data() + piece.size()) : void();
    case Split::WithNext:
      return match ? up_to(piece.data()) : void();
    }
  });
  if (split.kind == Split::WithPrevious || split.kind == Split::WithNext)
    up_to(begin + text.size());
}

} // namespace baton
