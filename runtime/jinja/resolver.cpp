//===- resolver.cpp - which variable a name means -------------------------===//

#include "runtime/jinja/resolver.h"

#include "runtime/jinja/filters.h"
#include "runtime/jinja/symbols.h"

#include <algorithm>
#include <functional>
#include <set>

namespace baton::jinja {

namespace {

[[noreturn]] void fail_resolving(size_t at, std::string message) {
  Failure failure(std::move(message));
  failure.at = at;
  throw failure;
}

/// Where code stands.
struct Frame {
  Symbols *symbols;
  /// Unknown filters fail only when they are used.
  bool soft = false;
  bool in_loop = false;

  Frame softened() const { return {symbols, true, in_loop}; }
};

Scope scope_of(const Symbols &symbols) {
  Scope scope;
  for (const auto &[slot, load] : symbols.all_loads()) {
    scope.slots.push_back(slot);
    if (load)
      scope.loads.push_back(*load);
  }
  return scope;
}

void visit_operands(const Expression &expression,
                    const std::function<void(const Expression &)> &visit) {
  const auto visit_some = [&](const ExpressionPointer &child) {
    if (child)
      visit(*child);
  };
  for (const ExpressionPointer &operand : expression.operands)
    visit_some(operand);
  for (const ExpressionPointer &argument : expression.arguments.positional)
    visit_some(argument);
  for (const auto &[name, argument] : expression.arguments.keywords)
    visit_some(argument);
  visit_some(expression.arguments.more_positional);
  visit_some(expression.arguments.more_keywords);
}

/// Names in the order in which Jinja's visitors meet them.
class NameWalk {
public:
  enum Use { Loaded, Stored, Parameter };
  using Visit = std::function<void(const std::string &, Use, size_t at)>;

  explicit NameWalk(Visit visit) : visit(std::move(visit)) {}

  void walk(const Body &body) {
    for (const StatementPointer &statement : body)
      walk(*statement);
  }

  void walk(const Statement &statement) {
    switch (statement.kind) {
    case Statement::If:
      for (const Statement::Branch &branch : statement.branches) {
        walk(branch.condition);
        walk(branch.body);
      }
      return;
    case Statement::For:
      walk(statement.target);
      walk(statement.loop->items);
      walk(statement.body);
      walk(statement.loop->otherwise);
      walk(statement.loop->test);
      return;
    case Statement::Macro:
      walk(*statement.function);
      return;
    case Statement::CallBlock:
      walk(statement.expression);
      walk(*statement.function);
      return;
    case Statement::FilterBlock:
      walk(statement.body);
      walk(statement.expression);
      return;
    case Statement::With:
      for (const ExpressionPointer &target : statement.targets)
        walk(target, Parameter);
      for (const ExpressionPointer &value : statement.values)
        walk(value);
      break;
    default:
      walk(statement.target);
      walk(statement.expression);
      break;
    }
    walk(statement.body);
  }

private:
  void walk(const Function &function) {
    for (const std::string &parameter : function.parameters)
      visit(parameter, Parameter, 0);
    for (const ExpressionPointer &otherwise : function.defaults)
      walk(otherwise);
    walk(function.body);
  }

  void walk(const ExpressionPointer &expression, Use stored_as = Stored) {
    if (!expression)
      return;
    if (expression->kind == Expression::Name)
      visit(expression->name, expression->stored ? stored_as : Loaded,
            expression->at);
    visit_operands(*expression, [&](const Expression &operand) {
      walk_operand(operand, stored_as);
    });
  }

  void walk_operand(const Expression &expression, Use stored_as) {
    if (expression.kind == Expression::Name)
      visit(expression.name, expression.stored ? stored_as : Loaded,
            expression.at);
    visit_operands(expression, [&](const Expression &operand) {
      walk_operand(operand, stored_as);
    });
  }

  Visit visit;
};

/// Which of these names a body takes from outside.
std::set<std::string> undeclared(const Body &body,
                                 std::set<std::string> names) {
  std::set<std::string> found;
  NameWalk([&](const std::string &name, NameWalk::Use use, size_t) {
    if (!names.contains(name))
      return;
    if (use == NameWalk::Loaded)
      found.insert(name);
    else
      names.erase(name);
  }).walk(body);
  return found;
}

/// Enters names into the symbols of a scope, and stops at inner scopes.
class Analysis {
public:
  explicit Analysis(Symbols &symbols) : symbols(&symbols) {}

  void visit(const Body &body) {
    for (const StatementPointer &statement : body)
      visit(*statement);
  }

  void visit(const ExpressionPointer &expression) {
    if (expression)
      visit(*expression);
  }

  void declare(const ExpressionPointer &target) {
    if (target->kind == Expression::Name)
      symbols->declare_parameter(target->name);
    for (const ExpressionPointer &item : target->operands)
      declare(item);
  }

private:
  void visit(const Expression &expression) {
    if (expression.kind == Expression::Name && expression.stored)
      symbols->store(expression.name);
    else if (expression.kind == Expression::Name ||
             expression.kind == Expression::NamespaceTarget)
      symbols->load(expression.name);
    visit_operands(expression,
                   [&](const Expression &operand) { visit(operand); });
  }

  void visit(const Statement &statement) {
    switch (statement.kind) {
    case Statement::Print:
    case Statement::CallBlock:
    case Statement::FilterBlock:
      visit(statement.expression);
      break;
    case Statement::If:
      visit_if(statement);
      break;
    case Statement::For:
      visit(statement.loop->items);
      break;
    case Statement::Set:
      visit(statement.expression);
      visit(statement.target);
      break;
    case Statement::SetBlock:
    case Statement::Macro:
      visit(statement.target);
      break;
    case Statement::With:
      for (const ExpressionPointer &value : statement.values)
        visit(value);
      break;
    case Statement::Data:
    case Statement::Break:
    case Statement::Continue:
      break;
    }
  }

  /// A branch's own symbols over those before it.
  Symbols branch_of(const std::function<void()> &content) {
    Symbols *before = symbols;
    Symbols branch(Symbols::Over{*before});
    symbols = &branch;
    content();
    symbols = before;
    return branch;
  }

  void visit_if(const Statement &statement) {
    const auto &branches = statement.branches;
    visit(branches[0].condition);
    const bool has_else = !branches.back().condition;
    const size_t elifs_end = branches.size() - (has_else ? 1 : 0);
    const Symbols first = branch_of([&] { visit(branches[0].body); });
    const Symbols middle = branch_of([&] {
      for (size_t at = 1; at < elifs_end; ++at) {
        visit(branches[at].condition);
        const Symbols body = branch_of([&] { visit(branches[at].body); });
        symbols->merge({&body}, 3);
      }
    });
    const Symbols last = branch_of([&] {
      if (has_else)
        visit(branches.back().body);
    });
    symbols->merge({&first, &middle, &last}, 3);
  }

  Symbols *symbols;
};

class Resolver {
public:
  Program run(Body body) {
    Program program;
    program.body = std::move(body);
    FunctionSlots function;
    Symbols symbols(function);
    Analysis(symbols).visit(program.body);
    visit(program.body, {&symbols});
    program.scope = scope_of(symbols);
    program.slots = function.count();
    return program;
  }

private:
  void visit(const Body &body, const Frame &frame) {
    for (const StatementPointer &statement : body)
      visit(*statement, frame);
  }

  void visit(const ExpressionPointer &expression, const Frame &frame) {
    if (expression)
      visit(*expression, frame);
  }

  void visit(Expression &expression, const Frame &frame) {
    const bool soft = frame.soft || expression.kind == Expression::Conditional;
    const Frame inner{frame.symbols, soft, frame.in_loop};
    if (expression.kind == Expression::Name ||
        expression.kind == Expression::NamespaceTarget)
      expression.variable = frame.symbols->reference(expression.name);
    if (expression.kind == Expression::Filter) {
      expression.filter = find_filter(expression.name);
      if (!expression.filter && !soft)
        fail_resolving(expression.at,
                       "No filter named '" + expression.name + "'.");
    }
    if (expression.kind == Expression::Test) {
      expression.test = find_test(expression.name);
      if (!expression.test && !soft)
        fail_resolving(expression.at,
                       "No test named '" + expression.name + "'.");
    }
    for (const ExpressionPointer &operand : expression.operands)
      visit(operand, inner);
    for (const ExpressionPointer &argument : expression.arguments.positional)
      visit(argument, inner);
    for (const auto &[name, argument] : expression.arguments.keywords)
      visit(argument, inner);
    visit(expression.arguments.more_positional, inner);
    visit(expression.arguments.more_keywords, inner);
  }

  void visit(Statement &statement, const Frame &frame) {
    switch (statement.kind) {
    case Statement::Data:
      break;
    case Statement::Print:
      visit(statement.expression, frame);
      break;
    case Statement::Set:
      visit(statement.expression, frame);
      visit(statement.target, frame);
      break;
    case Statement::If:
      for (const Statement::Branch &branch : statement.branches) {
        visit(branch.condition, frame.softened());
        visit(branch.body, frame.softened());
      }
      break;
    case Statement::For:
      visit_for(statement, frame);
      break;
    case Statement::SetBlock:
    case Statement::FilterBlock:
      visit_capture(statement, frame);
      break;
    case Statement::Macro:
    case Statement::CallBlock:
      visit_function(*statement.function, statement.at, frame);
      visit(statement.target, frame);
      visit(statement.expression, frame);
      break;
    case Statement::With:
      visit_with(statement, frame);
      break;
    case Statement::Break:
    case Statement::Continue:
      if (!frame.in_loop)
        fail_resolving(statement.at, statement.kind == Statement::Break
                                         ? "'break' outside loop"
                                         : "'continue' not properly in loop");
      break;
    }
  }

  void visit_for(Statement &statement, const Frame &frame) {
    Statement::Loop &loop = *statement.loop;
    NameWalk([&](const std::string &name, NameWalk::Use use, size_t at) {
      if (name == "loop" && use == NameWalk::Stored)
        fail_resolving(
            at, "Can't assign to special loop variable in for-loop target");
    }).walk(statement);
    visit(loop.items, frame);
    if (loop.test)
      visit_loop_test(statement, frame);

    FunctionSlots own(&frame.symbols->function());
    FunctionSlots &function = loop.recursive ? own : frame.symbols->function();
    Symbols symbols(function, frame.symbols);
    loop.loop_slot = symbols.declare_parameter("loop");
    Analysis analysis(symbols);
    analysis.declare(statement.target);
    analysis.visit(statement.body);
    const Frame inside{&symbols, false, true};
    visit(statement.target, inside);
    visit(statement.body, inside);
    statement.scope = scope_of(symbols);

    Symbols otherwise(function, frame.symbols);
    Analysis(otherwise).visit(loop.otherwise);
    visit(loop.otherwise,
          {&otherwise, false, frame.in_loop && !loop.recursive});
    loop.otherwise_scope = scope_of(otherwise);
    loop.slots = own.count();
  }

  void visit_loop_test(Statement &statement, const Frame &frame) {
    Statement::Loop &loop = *statement.loop;
    FunctionSlots function(&frame.symbols->function());
    Symbols symbols(function, frame.symbols);
    Analysis analysis(symbols);
    analysis.declare(statement.target);
    analysis.visit(loop.test);
    const Frame inside{&symbols};
    loop.tested_target = clone_target(*statement.target);
    visit(loop.tested_target, inside);
    visit(loop.test, inside);
    loop.test_scope = scope_of(symbols);
    loop.test_slots = function.count();
  }

  static ExpressionPointer clone_target(const Expression &target) {
    auto copy = std::make_unique<Expression>(target.kind, target.at);
    copy->name = target.name;
    copy->stored = true;
    for (const ExpressionPointer &item : target.operands)
      copy->operands.push_back(clone_target(*item));
    return copy;
  }

  void visit_capture(Statement &statement, const Frame &frame) {
    Symbols symbols(frame.symbols->function(), frame.symbols);
    Analysis analysis(symbols);
    analysis.visit(statement.body);
    analysis.visit(statement.expression);
    const Frame inside{&symbols, false, frame.in_loop};
    visit(statement.body, inside);
    visit(statement.expression, inside);
    visit(statement.target, frame);
    statement.scope = scope_of(symbols);
  }

  void visit_with(Statement &statement, const Frame &frame) {
    Symbols symbols(frame.symbols->function(), frame.symbols);
    Analysis analysis(symbols);
    for (const ExpressionPointer &target : statement.targets)
      analysis.declare(target);
    analysis.visit(statement.body);
    const Frame inside{&symbols, false, frame.in_loop};
    for (const ExpressionPointer &value : statement.values)
      visit(value, frame);
    for (const ExpressionPointer &target : statement.targets)
      visit(target, inside);
    visit(statement.body, inside);
    statement.scope = scope_of(symbols);
  }

  void visit_function(Function &function, size_t at, const Frame &frame) {
    FunctionSlots slots(&frame.symbols->function());
    Symbols symbols(slots, frame.symbols);
    Analysis analysis(symbols);
    for (const std::string &parameter : function.parameters)
      function.parameter_slots.push_back(symbols.declare_parameter(parameter));
    for (const ExpressionPointer &otherwise : function.defaults)
      analysis.visit(otherwise);
    analysis.visit(function.body);
    declare_special(function, at, symbols);

    const Frame inside{&symbols};
    for (const ExpressionPointer &otherwise : function.defaults)
      visit(otherwise, inside);
    visit(function.body, inside);
    function.scope = scope_of(symbols);
    function.slots = slots.count();
  }

  static void declare_special(Function &function, size_t at, Symbols &symbols) {
    const std::set<std::string> used =
        undeclared(function.body, {"caller", "kwargs", "varargs"});
    const auto parameter = [&](const char *name) {
      return std::find(function.parameters.begin(), function.parameters.end(),
                       name);
    };
    const auto explicit_caller = parameter("caller");
    if (used.contains("caller") && explicit_caller == function.parameters.end())
      function.caller = symbols.declare_parameter("caller");
    else if (used.contains("caller") &&
             !function.defaults[static_cast<size_t>(
                 explicit_caller - function.parameters.begin())])
      fail_resolving(at, "When defining macros or call blocks the special "
                         "\"caller\" argument must be omitted or be given a "
                         "default.");
    if (used.contains("kwargs") &&
        parameter("kwargs") == function.parameters.end())
      function.keywords = symbols.declare_parameter("kwargs");
    if (used.contains("varargs") &&
        parameter("varargs") == function.parameters.end())
      function.positions = symbols.declare_parameter("varargs");
  }
};

} // namespace

Program resolve(Body body) { return Resolver().run(std::move(body)); }

} // namespace baton::jinja
