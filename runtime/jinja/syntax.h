//===- syntax.h - templates as trees --------------------------------------===//
//
// The parser makes them and the resolver says where each name's value is. Then
// they no longer change, and any number of threads render them.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_JINJA_SYNTAX_H
#define BATON_RUNTIME_JINJA_SYNTAX_H

#include "runtime/jinja/operations.h"
#include "runtime/jinja/value.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace baton::jinja {

struct Filter;
struct Test;

/// A variable's place: in the function that encloses this one so many times.
struct Reference {
  uint32_t outward = 0, slot = 0;
};

struct Expression;
using ExpressionPointer = std::unique_ptr<Expression>;

/// What stands in the parentheses of a call.
struct CallSyntax {
  std::vector<ExpressionPointer> positional;
  std::vector<std::pair<std::string, ExpressionPointer>> keywords;
  /// *list and **dictionary.
  ExpressionPointer more_positional, more_keywords;
};

struct Expression {
  enum Kind : uint8_t {
    /// `constant`: a number, a text, true, false or none.
    Constant,
    /// `name` and, resolved, `variable`.
    Name,
    /// name.attribute as the target of {% set %}; the attribute's name is in
    /// `attribute`.
    NamespaceTarget,
    Tuple,
    List,
    /// Keys and values in turn.
    Dictionary,
    /// Of two operands, by `operation`.
    Binary,
    /// Of any number of operands: ~.
    Concatenate,
    And,
    Or,
    Not,
    Negative,
    Positive,
    /// Between each two operands one of `comparisons`.
    Compare,
    /// Condition, then, else (null where there is none).
    Conditional,
    /// `name` of the operand.
    Attribute,
    /// The second operand of the first.
    Item,
    /// Of the first operand, from, to and by (null where they are left out).
    Slice,
    /// Of the first operand with `arguments`.
    Call,
    /// By `name` of the first operand, null for what a block renders.
    Filter,
    Test,
  };

  Expression(Kind kind, size_t at) : kind(kind), at(at) {}

  Kind kind;
  BinaryOperator operation = BinaryOperator::Add;
  /// A name or a tuple that is assigned to.
  bool stored = false;
  /// How deep the tree is below here.
  uint32_t depth = 1;
  /// A byte of the template's text.
  size_t at;
  std::string name, attribute;
  Value constant;
  std::vector<ExpressionPointer> operands;
  std::vector<Comparison> comparisons;
  CallSyntax arguments;
  Reference variable;
  /// Of kind Filter or Test; null where there is none of that name, which is an
  /// error once it is evaluated.
  const struct Filter *filter = nullptr;
  const struct Test *test = nullptr;
};

/// What happens to one variable when a scope is entered.
struct Load {
  enum Kind : uint8_t {
    /// It gets what the context calls `name`.
    Resolve,
    /// It gets the value of `source`.
    Copy,
    /// It has no value.
    Clear,
  } kind;
  uint32_t slot;
  std::string name;
  Reference source;
};
struct Scope {
  std::vector<Load> loads;
  /// All variables of the scope, which lose their values at its end.
  std::vector<uint32_t> slots;
};

struct Statement;
using StatementPointer = std::unique_ptr<Statement>;
using Body = std::vector<StatementPointer>;

/// What a call runs: a macro, the body of {% call %}, a recursive loop.
struct Function {
  uint32_t slots = 0;
  std::string name;
  /// Parameters, each with its default or null.
  std::vector<std::string> parameters;
  std::vector<uint32_t> parameter_slots;
  std::vector<ExpressionPointer> defaults;
  /// The variables `caller`, `kwargs` and `varargs`, where the body names them.
  std::optional<uint32_t> caller, keywords, positions;
  Scope scope;
  Body body;
};

struct Statement {
  enum Kind : uint8_t {
    /// `text`.
    Data,
    /// `expression`, printed.
    Print,
    /// `branches`; one without a condition is the last.
    If,
    For,
    /// `target` becomes `expression`.
    Set,
    /// `target` becomes what `body` renders, through the filters of
    /// `expression` (or null).
    SetBlock,
    /// `target` becomes a macro of `function`.
    Macro,
    /// `expression` is called with a `caller` that runs `function`; without an
    /// expression, that is printed itself ({% generation %}).
    CallBlock,
    /// What `body` renders, through the filters of `expression`.
    FilterBlock,
    /// `targets` become `values`, in `body`.
    With,
    Break,
    Continue,
  };

  struct Branch {
    ExpressionPointer condition;
    Body body;
  };

  /// What only loops have.
  struct Loop {
    ExpressionPointer items, test;
    /// The target again, for `test`, which is a function.
    ExpressionPointer tested_target;
    Body otherwise;
    bool recursive = false;
    /// The variables of `test`; of all the loop, where it is recursive.
    uint32_t test_slots = 0, slots = 0;
    uint32_t loop_slot = 0;
    Scope test_scope, otherwise_scope;
  };

  Statement(Kind kind, size_t at) : kind(kind), at(at) {}

  Kind kind;
  size_t at;
  std::string text;
  ExpressionPointer expression, target;
  std::vector<ExpressionPointer> targets, values;
  std::vector<Branch> branches;
  Body body;
  Scope scope;
  std::unique_ptr<Loop> loop;
  std::unique_ptr<Function> function;
};

struct Program {
  uint32_t slots = 0;
  Scope scope;
  Body body;
};

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_SYNTAX_H
