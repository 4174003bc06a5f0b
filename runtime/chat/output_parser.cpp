//===- output_parser.cpp - a model's text to content, reasoning and calls -===//
//
// The machine takes one byte at a time, so its deltas cannot depend on how the
// text is cut. `pending` are bytes of which it does not know yet what they are.
//
//===----------------------------------------------------------------------===//

#include "runtime/chat/output_parser.h"

#include "runtime/chat/json_call_reader.h"
#include "runtime/chat/json_strings.h"
#include "runtime/chat/language_call.h"
#include "runtime/chat/output_marks.h"
#include "runtime/chat/parameter_value.h"
#include "runtime/chat/text_pattern.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace baton {
namespace {

/// A header that is longer is content.
constexpr size_t most_header = 512;

} // namespace

class OutputParser::Machine {
public:
  Machine(ToolFormat output_format, OutputParserOptions output_options)
      : format(std::move(output_format)), options(std::move(output_options)),
        marks(output_marks(format, !options.tools.empty())),
        call_close(format.call_close), section_close(format.section_close),
        reasoning_open(format.reasoning_open),
        reasoning_close(format.reasoning_close),
        header_open(format.header_open), parameter_open(format.parameter_open),
        object(false) {
    if (options.start == OutputStart::Header)
      mode = Mode::Header;
    if (options.start == OutputStart::Reasoning) {
      mode = Mode::Reasoning;
      after_mark = true;
    }
  }

  void push(char byte) {
    pending += byte;
    while (step()) {
    }
  }

  void finish() {
    ended = true;
    while (step()) {
    }
    switch (mode) {
    case Mode::Content:
      if (!after_mark && !in_section)
        emit(ChatDelta::Content, space);
      break;
    case Mode::Reasoning:
      break;
    case Mode::Header:
    case Mode::Object:
    case Mode::Arguments:
    case Mode::Parameters:
    case Mode::Value:
    case Mode::Language:
      if (mode == Mode::Value)
        emit_arguments(value.cut());
      give_up();
      break;
    }
    mode = Mode::Content;
    while (step()) {
    }
  }

  std::vector<ChatDelta> take() { return std::exchange(deltas, {}); }

private:
  enum class Mode : uint8_t {
    Content,
    Reasoning,
    /// Of a message, from its opening to the message itself.
    Header,
    /// A call as a JSON object.
    Object,
    /// JSON after an opening that names the function.
    Arguments,
    /// Between the parameters of a call.
    Parameters,
    /// In one of them.
    Value,
    /// A call as a programming language writes it.
    Language
  };

  bool step() {
    switch (mode) {
    case Mode::Content:
      return step_content();
    case Mode::Reasoning:
      return step_reasoning();
    case Mode::Parameters:
      return step_parameters();
    default:
      break;
    }
    if (pending.empty())
      return false;
    const char byte = pending.front();
    switch (mode) {
    case Mode::Header:
      return step_header(byte);
    case Mode::Object:
      return step_object(byte);
    case Mode::Arguments:
      return step_arguments(byte);
    case Mode::Value:
      return step_value(byte);
    default:
      return step_language(byte);
    }
  }

  void emit(ChatDelta::Kind kind, std::string_view text) {
    if (text.empty())
      return;
    if (deltas.empty() || deltas.back().kind != kind)
      deltas.push_back(
          {.kind = kind,
           .text = {},
           .call = kind == ChatDelta::CallArguments ? calls - 1 : 0,
           .id = {}});
    deltas.back().text += text;
  }
  void emit_arguments(std::string_view text) {
    emit(ChatDelta::CallArguments, text);
  }

  void emit_content(std::string_view text) {
    if (text.empty())
      return;
    emit(ChatDelta::Content, text);
    after_mark = at_start = in_section = false;
  }

  char take_byte() {
    const char byte = pending.front();
    pending.erase(0, 1);
    return byte;
  }

  /// White space that a mark would swallow, if one follows.
  bool hold_space() {
    if (pending.empty() || !is_pattern_space(pending.front()))
      return false;
    const char byte = take_byte();
    if (!after_mark)
      space += byte;
    return true;
  }

  bool applies(const OutputMark &mark) const {
    if (mark.where == OutputMark::AtStart)
      return at_start;
    return mark.where == OutputMark::Anywhere || in_section;
  }

  bool step_content() {
    if (hold_space())
      return true;
    if (pending.empty())
      return false;
    bool may_be_mark = false;
    for (const OutputMark &mark : marks) {
      if (!applies(mark))
        continue;
      PatternMatch match = mark.pattern.match(pending);
      if (match.kind == PatternMatch::Yes) {
        take_mark(mark, match);
        return true;
      }
      may_be_mark |= match.kind == PatternMatch::Partial;
    }
    if (may_be_mark && !ended)
      return false;
    // A mark that the output's end has cut off, after a call, says nothing.
    if (may_be_mark && in_section) {
      pending.clear();
      return false;
    }
    if (begin_next_call())
      return true;
    const char byte = take_byte();
    emit_content(std::exchange(space, {}) + byte);
    return true;
  }

  void take_mark(const OutputMark &mark, PatternMatch &match) {
    const std::string text =
        std::exchange(space, {}) + pending.substr(0, match.bytes);
    pending.erase(0, match.bytes);
    after_mark = true;
    switch (mark.action) {
    case OutputMark::OpenReasoning:
      mode = Mode::Reasoning;
      break;
    case OutputMark::OpenHeader:
      trial = text;
      mode = Mode::Header;
      break;
    case OutputMark::OpenCall:
      open_call(text, std::move(match.captures));
      break;
    case OutputMark::CloseSection:
      in_section = false;
      break;
    case OutputMark::Drop:
      break;
    }
  }

  /// Calls that need no mark: those after a first one in a list, and where the
  /// format opens none.
  bool begin_next_call() {
    if (options.tools.empty())
      return false;
    const char byte = pending.front();
    const bool object_shape = format.shape == CallShape::JsonObject ||
                              format.shape == CallShape::JsonPair;
    if (in_section && (byte == ',' || byte == ';') &&
        (object_shape || format.shape == CallShape::Python)) {
      space += take_byte();
      return true;
    }
    if (in_section && byte == ']' &&
        without_space_around(format.section_open).ends_with('[')) {
      take_byte();
      return true;
    }
    if (object_shape && byte == '{' &&
        (in_section || (format.bare && at_start))) {
      open_call(std::exchange(space, {}), {});
      return true;
    }
    if (format.shape == CallShape::Python && in_section &&
        (std::isalpha(static_cast<unsigned char>(byte)) || byte == '_')) {
      open_call(std::exchange(space, {}), {});
      return true;
    }
    return false;
  }

  void open_call(const std::string &opening, PatternCaptures captures) {
    trial = opening;
    committed = false;
    function = captures.name.empty() ? function_of_id(captures.id)
                                     : std::move(captures.name);
    id = std::move(captures.id);
    switch (format.shape) {
    case CallShape::JsonObject:
    case CallShape::JsonPair:
      object = JsonCallReader(format.shape == CallShape::JsonPair);
      object_begun = false;
      mode = Mode::Object;
      break;
    case CallShape::JsonArguments:
      arguments = {};
      mode = Mode::Arguments;
      break;
    case CallShape::Parameters:
      parameters = 0;
      mode = Mode::Parameters;
      break;
    case CallShape::Python:
    case CallShape::Braces:
      scanner = LanguageCallScanner();
      call_text.clear();
      mode = Mode::Language;
      break;
    }
  }

  /// It is a call: what was held back is none of the content.
  void commit(std::string_view name) {
    committed = true;
    trial.clear();
    space.clear();
    const size_t call = calls++;
    if (id.empty())
      id = options.make_id ? options.make_id(call)
                           : "call_" + std::to_string(call);
    deltas.push_back({.kind = ChatDelta::CallBegin,
                      .text = std::string(name),
                      .call = call,
                      .id = std::exchange(id, {})});
  }

  void end_call(bool complete) {
    deltas.push_back({.kind = ChatDelta::CallEnd,
                      .text = {},
                      .call = calls - 1,
                      .id = {},
                      .complete = complete});
    mode = Mode::Content;
    after_mark = in_section = true;
    at_start = committed = false;
  }

  /// What follows is no part of a call: if it has begun it ends, else all of it
  /// is content.
  void give_up() {
    if (committed)
      return end_call(false);
    mode = Mode::Content;
    emit_content(std::exchange(space, {}) + std::exchange(trial, {}));
  }

  bool step_reasoning() {
    if (hold_space())
      return true;
    if (pending.empty())
      return false;
    const PatternMatch close = reasoning_close.match(pending);
    // Some models open what the prompt has opened.
    const PatternMatch open = has_reasoned || reasoning_open.empty()
                                  ? PatternMatch{}
                                  : reasoning_open.match(pending);
    const PatternMatch header =
        header_open.empty() ? PatternMatch{} : header_open.match(pending);
    if (header.kind == PatternMatch::Yes) {
      trial = std::exchange(space, {}) + pending.substr(0, header.bytes);
      mode = Mode::Header;
    } else if (close.kind == PatternMatch::Yes) {
      mode = Mode::Content;
    }
    const size_t bytes = std::max({close.bytes, open.bytes, header.bytes});
    if (bytes > 0) {
      pending.erase(0, bytes);
      space.clear();
      after_mark = true;
      return true;
    }
    if (!ended && (close.kind == PatternMatch::Partial ||
                   open.kind == PatternMatch::Partial ||
                   header.kind == PatternMatch::Partial))
      return false;
    const char byte = take_byte();
    emit(ChatDelta::Reasoning, std::exchange(space, {}) + byte);
    after_mark = false;
    has_reasoned = true;
    return true;
  }

  bool step_header(char byte) {
    trial += byte;
    pending.erase(0, 1);
    const std::string_view close = format.header_close;
    if (!trial.ends_with(close)) {
      const bool on_one_line = close != "\n";
      if (trial.size() > most_header || (byte == '\n' && on_one_line) ||
          (format.header == MessageHeader::Line &&
           std::string_view(" \t({\"'").find(byte) != std::string_view::npos))
        give_up();
      return true;
    }
    const MessageKind kind = read_message_header(format.header, trial);
    const bool known = format.header != MessageHeader::Line ||
                       find_tool(options.tools, kind.function);
    after_mark = true;
    if (kind.of == MessageKind::Call && known && !options.tools.empty()) {
      // Muse names the function in the header, and again in the call.
      if (format.shape == CallShape::Parameters) {
        trial.clear();
        mode = Mode::Content;
        return true;
      }
      PatternCaptures captures;
      captures.name = kind.function;
      open_call(std::exchange(trial, {}), std::move(captures));
    } else if (kind.of == MessageKind::Call &&
               format.header == MessageHeader::Line) {
      give_up();
    } else {
      trial.clear();
      mode =
          kind.of == MessageKind::Reasoning ? Mode::Reasoning : Mode::Content;
    }
    return true;
  }

  bool step_object(char byte) {
    if (!object_begun && (is_pattern_space(byte) || byte == '[')) {
      trial += take_byte();
      return true;
    }
    object_begun = true;
    const ReadStep read = object.push(byte);
    if (read == ReadStep::Bad) {
      give_up();
      return true;
    }
    pending.erase(0, 1);
    if (!committed)
      trial += byte;
    if (!object.has_begun())
      return true;
    if (!committed) {
      // Where no mark says so, an object is a call only of what there is.
      if (trial.starts_with('{') && !find_tool(options.tools, object.name())) {
        give_up();
        return true;
      }
      commit(object.name());
    }
    emit_arguments(object.take_arguments());
    if (read == ReadStep::Done)
      end_call(true);
    return true;
  }

  bool step_arguments(char byte) {
    const ReadStep read = arguments.push(byte);
    if (read == ReadStep::Bad) {
      give_up();
      return true;
    }
    pending.erase(0, 1);
    if (!committed)
      trial += byte;
    if (!committed && arguments.has_text())
      commit(function);
    emit_arguments(arguments.take());
    if (read == ReadStep::Done)
      end_call(true);
    return true;
  }

  bool step_parameters() {
    if (!pending.empty() && is_pattern_space(pending.front())) {
      const char byte = take_byte();
      if (!committed)
        trial += byte;
      return true;
    }
    if (pending.empty())
      return false;
    const PatternMatch close = call_close.match(pending);
    const PatternMatch section =
        section_close.empty() ? PatternMatch{} : section_close.match(pending);
    PatternMatch open = parameter_open.match(pending);
    if (close.kind == PatternMatch::Yes || section.kind == PatternMatch::Yes) {
      if (!committed)
        commit(function);
      emit_arguments(parameters == 0 ? "{}" : "}");
      pending.erase(0, close.bytes);
      end_call(true);
      return true;
    }
    if (!ended && (close.kind == PatternMatch::Partial ||
                   section.kind == PatternMatch::Partial ||
                   open.kind == PatternMatch::Partial))
      return false;
    if (open.kind != PatternMatch::Yes) {
      if (committed && parameters > 0)
        emit_arguments("}");
      give_up();
      return true;
    }
    if (!committed)
      commit(function);
    pending.erase(0, open.bytes);
    emit_arguments((parameters++ == 0 ? "{" : ", ") +
                   json_quoted(open.captures.key) + ": ");
    value = ParameterValue(format, open.captures,
                           find_tool(options.tools, function));
    mode = Mode::Value;
    return true;
  }

  bool step_value(char byte) {
    pending.erase(0, 1);
    const bool ended_value = value.push(byte);
    emit_arguments(value.take());
    if (ended_value)
      mode = Mode::Parameters;
    return true;
  }

  bool step_language(char byte) {
    if (call_text.empty()) {
      if (is_pattern_space(byte) || byte == '[') {
        trial += take_byte();
        return true;
      }
      if (!std::isalpha(static_cast<unsigned char>(byte)) && byte != '_') {
        give_up();
        return true;
      }
    }
    pending.erase(0, 1);
    call_text += byte;
    trial += byte;
    if (!scanner.push(byte))
      return true;
    const std::optional<LanguageCall> call = format.shape == CallShape::Python
                                                 ? read_python_call(call_text)
                                                 : read_braces_call(call_text);
    if (!call) {
      give_up();
      return true;
    }
    commit(call->name);
    emit_arguments(call->arguments);
    end_call(true);
    return true;
  }

  ToolFormat format;
  OutputParserOptions options;
  std::vector<OutputMark> marks;
  TextPattern call_close, section_close, reasoning_open, reasoning_close,
      header_open, parameter_open;

  Mode mode = Mode::Content;
  std::string pending;
  /// White space before what follows, and separators of calls.
  std::string space;
  /// What is content if it turns out that no call begins.
  std::string trial;
  bool ended = false;
  bool after_mark = false;
  /// No content yet, and no call.
  bool at_start = true;
  /// Nothing but marks since a call.
  bool in_section = false;
  bool has_reasoned = false;

  size_t calls = 0;
  bool committed = false;
  std::string function, id;
  JsonCallReader object;
  bool object_begun = false;
  ArgumentsReader arguments;
  size_t parameters = 0;
  ParameterValue value;
  LanguageCallScanner scanner;
  std::string call_text;

  std::vector<ChatDelta> deltas;
};

OutputParser::OutputParser(ToolFormat format, OutputParserOptions options)
    : machine(
          std::make_unique<Machine>(std::move(format), std::move(options))) {}
OutputParser::~OutputParser() = default;
OutputParser::OutputParser(OutputParser &&) noexcept = default;
OutputParser &OutputParser::operator=(OutputParser &&) noexcept = default;

std::vector<ChatDelta> OutputParser::push(std::string_view text) {
  for (const char byte : text)
    machine->push(byte);
  return machine->take();
}

std::vector<ChatDelta> OutputParser::finish() {
  machine->finish();
  return machine->take();
}

std::string random_call_id(const std::function<unsigned()> &random,
                           size_t length) {
  constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::string id;
  while (id.size() < length)
    id += alphabet[random() % alphabet.size()];
  return id;
}

} // namespace baton
