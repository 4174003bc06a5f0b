//===- Alternatives.cpp - a schedule of which decisions are open ----------===//

#include "compiler/schedule/Alternatives.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace baton;
using namespace baton::schedule;
using llvm::createStringError;
using llvm::Expected;
using llvm::StringRef;

bool schedule::hasAlternatives(mlir::Operation *op) {
  return op->getName().getStringRef().starts_with("transform.baton.") &&
         (op->getAttr("alternatives") || op->getAttr("orNot"));
}

namespace {
/// Words of a schedule's text: a string, a list in brackets, a name, or another
/// character. Comments and blanks lie between them.
class Words {
public:
  Words(StringRef text, size_t at) : text(text), at(at) { skip(); }

  bool done() const { return at >= text.size(); }
  size_t begin() const { return at; }
  /// The word at `begin`, which ends there.
  StringRef word() const { return text.slice(at, endOf(at)); }
  size_t end() const { return endOf(at); }
  void next() {
    at = endOf(at);
    skip();
  }

private:
  static bool isName(char c) {
    return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$' || c == '%' ||
           c == '@' || c == '-';
  }

  void skip() {
    while (at < text.size()) {
      if (text.substr(at).starts_with("//"))
        at = std::min(text.find('\n', at), text.size());
      else if (llvm::isSpace(text[at]))
        ++at;
      else
        return;
    }
  }

  size_t endOf(size_t from) const {
    if (from >= text.size())
      return from;
    size_t end = from + 1;
    if (text[from] == '"') {
      for (; end < text.size() && text[end] != '"'; ++end)
        if (text[end] == '\\')
          ++end;
      return std::min(end + 1, text.size());
    }
    if (text[from] == '[')
      return std::min(text.find(']', from), text.size() - 1) + 1;
    if (isName(text[from]))
      while (end < text.size() && isName(text[end]))
        ++end;
    return end;
  }

  StringRef text;
  size_t at;
};
} // namespace

/// Where a line and column, both from 1 on, lie in a text.
static size_t offsetOf(StringRef text, unsigned line, unsigned column) {
  size_t at = 0;
  for (unsigned i = 1; i < line && at != StringRef::npos; ++i)
    at = text.find('\n', at) + 1;
  return at + column - 1;
}

/// Reads what follows an op's name at `from`. False where it is not written
/// with `or`.
static bool readDecision(StringRef text, size_t from, OpenDecision &decision) {
  Words words(text, from);
  StringRef op = words.word();
  op.consume_front("transform.baton.");
  words.next();
  decision.operand = words.word().str();
  decision.what = (op + " " + decision.operand).str();
  size_t begin = words.begin(), end = words.end();
  while (!words.done() && words.word() != "or" && words.word() != "}") {
    begin = words.begin();
    end = words.end();
    words.next();
  }
  if (words.done() || words.word() == "}")
    return false;
  decision.begin = begin;
  decision.alternatives.push_back(text.slice(begin, end).str());
  while (!words.done() && words.word() == "or") {
    words.next();
    decision.alternatives.push_back(words.word().str());
    decision.end = words.end();
    words.next();
  }
  return true;
}

/// Finds the result of a decision that may be left out, and where its statement
/// begins.
static void readResult(StringRef text, size_t from, OpenDecision &decision) {
  // The statement stays as it is, but for "or not".
  decision.begin += decision.alternatives.front().size();
  decision.alternatives.front() = "yes";
  StringRef before = text.take_front(from).rtrim();
  decision.statement = from;
  if (!before.consume_back("="))
    return;
  before = before.rtrim();
  size_t result = before.rfind('%');
  decision.statement = result;
  decision.result = before.drop_front(result).str();
}

Expected<Alternatives> Alternatives::of(mlir::ModuleOp module, std::string text,
                                        const std::string &name) {
  Alternatives result;
  result.source = std::move(text);
  std::string problem;
  module.walk([&](mlir::Operation *op) {
    if (!hasAlternatives(op))
      return mlir::WalkResult::advance();
    auto location = llvm::dyn_cast<mlir::FileLineColLoc>(op->getLoc());
    OpenDecision decision;
    size_t from = location ? offsetOf(result.source, location.getLine(),
                                      location.getColumn())
                           : 0;
    if (!location || !readDecision(result.source, from, decision)) {
      problem =
          name + ": " + op->getName().getStringRef().str() +
          " has alternatives that are not written with 'or', as in tile %x "
          "[16] or [32], or a location of its own";
      return mlir::WalkResult::interrupt();
    }
    decision.line = location.getLine();
    if (op->getAttr("orNot"))
      readResult(result.source, from, decision);
    result.open.push_back(decision);
    return mlir::WalkResult::advance();
  });
  if (!problem.empty())
    return createStringError(problem);
  llvm::sort(result.open, [](const OpenDecision &a, const OpenDecision &b) {
    return a.begin < b.begin;
  });
  return result;
}

/// Puts `operand` in the place of `result`, from `from` to the sequence's end.
static void rename(std::string &text, size_t from, const std::string &result,
                   const std::string &operand) {
  Words words(text, from);
  std::string renamed = text.substr(0, from);
  size_t copied = from;
  for (; !words.done() && words.word() != "transform.named_sequence";
       words.next())
    if (words.word() == result) {
      renamed += text.substr(copied, words.begin() - copied) + operand;
      copied = words.end();
    }
  text = renamed + text.substr(copied);
}

Chosen Alternatives::start() const {
  Chosen chosen;
  for (const OpenDecision &decision : open) {
    StringRef op = StringRef(decision.what).split(' ').first;
    chosen.push_back(op == "merge" || op == "replace" ? 1 : 0);
  }
  return chosen;
}

std::string Alternatives::choose(const Chosen &chosen) const {
  std::string text = source;
  // From the end, so that what comes before stays where it is.
  for (size_t i = open.size(); i-- > 0;) {
    const OpenDecision &decision = open[i];
    const std::string &alternative = decision.alternatives[chosen[i]];
    const bool mayBeLeft = decision.alternatives.back() == "not";
    if (mayBeLeft && alternative == "not") {
      // Commented out: the reader sees what was not worth it.
      std::string statement =
          text.substr(decision.statement, decision.begin - decision.statement);
      if (!decision.result.empty())
        rename(text, decision.end, decision.result, decision.operand);
      size_t rest = std::min(text.find('\n', decision.end), text.size());
      text.replace(decision.statement, rest - decision.statement,
                   "// Not: " + statement);
      continue;
    }
    text.replace(decision.begin, decision.end - decision.begin,
                 mayBeLeft ? "" : alternative);
  }
  return text;
}
