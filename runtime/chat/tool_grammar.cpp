//===- tool_grammar.cpp - what an answer may be, as a grammar -------------===//

#include "runtime/chat/tool_grammar.h"

#include "runtime/chat/call_grammar.h"
#include "runtime/chat/json_strings.h"
#include "runtime/error.h"

#include <algorithm>
#include <string>

namespace baton {
namespace {

/// The parts of an answer in one format.
class AnswerBuilder {
public:
  AnswerBuilder(const ToolFormat &format, const AnswerGrammarOptions &options)
      : format(format), options(options), marks(options.is_special_token) {}

  Grammar required(const std::vector<ToolDeclaration> &tools) const {
    return after_reasoning(calls(tools));
  }

  Grammar optional(const std::vector<ToolDeclaration> &tools) const {
    if (format.header != MessageHeader::None)
      return after_reasoning(Grammar::sequence(
          {preamble(), Grammar::any_of({calls(tools), message(free_text())})}));
    if (format.bare)
      // Where nothing opens calls, what begins like one is one.
      return after_reasoning(Grammar::any_of(
          {calls(tools), Grammar::literal(""),
           Grammar::sequence({Grammar::regex("[ \\n]{0,4}[^ \\n\\{]"),
                              Grammar::text_without(call_mark())})}));
    const Grammar text = Grammar::text_without(call_mark());
    return after_reasoning(Grammar::sequence(
        {content(text),
         optional_part(Grammar::sequence({calls(tools), text}))}));
  }

  Grammar answer(const Grammar &text) const {
    return after_reasoning(
        format.header != MessageHeader::None ? message(text) : content(text));
  }

private:
  static Grammar optional_part(const Grammar &part) {
    return Grammar::repeat(part, 0, 1);
  }
  static Grammar space() { return Grammar::regex("[ \\n]{0,4}"); }
  Grammar mark(std::string_view text) const { return marks.of(text); }
  Grammar optional_mark(std::string_view text) const {
    return text.empty() ? Grammar::literal("") : optional_part(mark(text));
  }

  /// Any text: of a mark that no text needs.
  static Grammar free_text() { return Grammar::text_without("<|message|>"); }

  /// What text must not contain, since it opens calls: the first word of the
  /// mark if it looks like a tag, else all of it.
  std::string call_mark() const {
    const std::string opening =
        format.section_open +
        (format.call_openings.empty() ? "" : format.call_openings.front());
    std::string_view text = without_space_around(
        std::string_view(opening).substr(0, opening.find('$')));
    if (text.starts_with('<') || text.starts_with('['))
      text = text.substr(0, text.find_first_of(" \n"));
    if (text.empty())
      text = format.call_openings.back();
    return std::string(text);
  }

  Grammar content(const Grammar &text) const {
    return Grammar::sequence({optional_mark(format.content_open), text,
                              optional_mark(format.content_close)});
  }

  /// Text up to the end of reasoning, and what follows.
  Grammar reasoning_to_end() const {
    const std::string_view close = without_space_around(format.reasoning_close);
    return Grammar::sequence(
        {Grammar::text_without(close), mark(close), space(), next_header()});
  }

  /// Reasoning is a message of its own where messages have headers.
  Grammar next_header() const {
    return format.header == MessageHeader::None ||
                   format.header == MessageHeader::Line
               ? Grammar::literal("")
               : mark(format.header_open);
  }

  Grammar reasoning_open() const {
    if (format.header == MessageHeader::Harmony)
      return mark("<|channel|>analysis<|message|>");
    if (format.header == MessageHeader::Recipient)
      return mark(" to=self<|message|>");
    return mark(format.reasoning_open);
  }

  Grammar after_reasoning(const Grammar &rest) const {
    if (options.start == OutputStart::Reasoning)
      return Grammar::sequence({reasoning_to_end(), rest});
    const bool has_reasoning =
        options.reasoning && format.header != MessageHeader::Line;
    if (!has_reasoning)
      return rest;
    const Grammar reasoning =
        Grammar::sequence({reasoning_open(), reasoning_to_end()});
    return Grammar::sequence({optional_part(reasoning), rest});
  }

  /// What gpt-oss says to the user before it calls.
  Grammar preamble() const {
    if (format.header != MessageHeader::Harmony)
      return Grammar::literal("");
    return optional_part(
        Grammar::sequence({mark("<|channel|>commentary<|message|>"),
                           Grammar::text_without("<|end|>"),
                           mark("<|end|>" + format.header_open)}));
  }

  /// The header of a message for the user, from where its opening ends.
  Grammar message(const Grammar &text) const {
    switch (format.header) {
    case MessageHeader::Harmony:
      return Grammar::sequence({mark("<|channel|>final<|message|>"), text});
    case MessageHeader::Recipient:
      return Grammar::sequence({mark(" to=user<|message|>"), text});
    case MessageHeader::Line:
      return Grammar::sequence({Grammar::literal("all\n"), text});
    default:
      return text;
    }
  }

  /// One call or, if the options allow, more of them in a row.
  Grammar some_of(const Grammar &call, const Grammar &separator) const {
    if (!options.parallel_calls)
      return call;
    return Grammar::sequence(
        {call, Grammar::repeat(Grammar::sequence({separator, call}), 0)});
  }

  Grammar calls(const std::vector<ToolDeclaration> &tools) const {
    if (tools.empty())
      throw Error("there are no tools to call");
    std::vector<Grammar> alternatives;
    for (const ToolDeclaration &tool : tools) {
      try {
        alternatives.push_back(call_of(tool));
      } catch (const Error &error) {
        throw Error("tool '" + tool.name + "': " + error.what());
      }
    }
    const Grammar call = Grammar::any_of(alternatives);
    switch (format.header) {
    case MessageHeader::Harmony:
      // A call ends the turn: there is never a second.
      return call;
    case MessageHeader::Recipient:
      return some_of(call, mark("<|eom|>" + format.header_open));
    case MessageHeader::Line:
      return some_of(call, mark("\n" + format.header_open));
    default:
      break;
    }
    // Models have their own ways with line breaks.
    const Grammar separator =
        without_space_around(format.call_separator).empty()
            ? space()
            : mark(format.call_separator);
    // Marks that end the turn are the sampler's to choose.
    const bool closes =
        std::ranges::find(format.stop_tokens, format.section_close) ==
        format.stop_tokens.end();
    const auto section = [&](const Grammar &inner) {
      return Grammar::sequence(
          {mark(format.section_open), inner,
           closes ? mark(format.section_close) : Grammar::literal("")});
    };
    return format.section_per_call ? some_of(section(call), separator)
                                   : section(some_of(call, separator));
  }

  /// A call of one function, with its header where messages have some.
  Grammar call_of(const ToolDeclaration &tool) const {
    const Grammar call = call_grammar(format, tool, marks);
    const std::string &name = tool.name;
    switch (format.header) {
    case MessageHeader::Harmony:
      // The model puts the recipient into either part of a header.
      return Grammar::sequence(
          {Grammar::any_of(
               {mark("<|channel|>commentary to=functions." + name +
                     " <|constrain|>json<|message|>"),
                mark(" to=functions." + name +
                     "<|channel|>commentary <|constrain|>json<|message|>"),
                mark(" to=functions." + name +
                     "<|channel|>commentary json<|message|>")}),
           call});
    case MessageHeader::Recipient:
      return Grammar::sequence({mark(" to=" + name + "<|message|>"),
                                mark(format.section_open), call,
                                mark(format.section_close)});
    case MessageHeader::Line:
      return Grammar::sequence({Grammar::literal(name + "\n"), call});
    default:
      return call;
    }
  }

  const ToolFormat &format;
  const AnswerGrammarOptions &options;
  MarkGrammar marks;
};

} // namespace

Grammar optional_calls_grammar(const ToolFormat &format,
                               const std::vector<ToolDeclaration> &tools,
                               const AnswerGrammarOptions &options) {
  return AnswerBuilder(format, options).optional(tools);
}

Grammar required_calls_grammar(const ToolFormat &format,
                               const std::vector<ToolDeclaration> &tools,
                               const AnswerGrammarOptions &options) {
  return AnswerBuilder(format, options).required(tools);
}

Grammar answer_grammar(const ToolFormat &format, const Grammar &answer,
                       const AnswerGrammarOptions &options) {
  return AnswerBuilder(format, options).answer(answer);
}

} // namespace baton
