//===- interpreter.cpp - runs statements ----------------------------------===//

#include "runtime/jinja/interpreter.h"

#include "runtime/jinja/attributes.h"
#include "runtime/jinja/functions.h"
#include "runtime/jinja/loop.h"
#include "runtime/jinja/printing.h"

#include <algorithm>

namespace baton::jinja {

namespace {

class Macro : public Callable {
public:
  Macro(Interpreter &interpreter, const Function &function,
        Activation *enclosing)
      : Callable("Macro"), interpreter(interpreter), function(function),
        enclosing(enclosing) {}

  Value call(Rendering &, Arguments arguments) override {
    return interpreter.call_function(function, enclosing, std::move(arguments));
  }

  Value attribute(Rendering &, std::string_view name) override {
    if (name == "name")
      return function.name.empty() ? Value::none() : Value(function.name);
    if (name == "arguments") {
      std::vector<Value> names;
      for (const std::string &parameter : function.parameters)
        names.emplace_back(parameter);
      return make_tuple(std::move(names));
    }
    if (name == "catch_kwargs")
      return Value(function.keywords.has_value());
    if (name == "catch_varargs")
      return Value(function.positions.has_value());
    if (name == "caller")
      return Value(function.caller.has_value());
    return Value();
  }

  std::string shown() override {
    return "<Macro " +
           (function.name.empty()
                ? "anonymous"
                : jinja::shown(std::string_view(function.name))) +
           ">";
  }

private:
  Interpreter &interpreter;
  const Function &function;
  Activation *const enclosing;
};

/// The items for which a loop's condition holds.
class TestedItems : public Iterator {
public:
  TestedItems(Interpreter &interpreter, const Statement &statement,
              Activation &activation, const Value &items)
      : Iterator("generator"), interpreter(interpreter), statement(statement),
        activation(activation), inner(iterate(items)) {
    holds(items);
  }

  bool next(Value &item) override {
    while (inner->next(item))
      if (interpreter.test_item(statement, activation, item))
        return true;
    return false;
  }

private:
  Interpreter &interpreter;
  const Statement &statement;
  Activation &activation;
  const std::shared_ptr<Iterator> inner;
};

} // namespace

/// Sends what is written somewhere else, for as long as it lives.
class Interpreter::Output {
public:
  explicit Output(Interpreter &interpreter)
      : interpreter(interpreter), before(interpreter.output) {
    interpreter.output = &text;
  }
  ~Output() { interpreter.output = before; }
  Output(const Output &) = delete;
  Output &operator=(const Output &) = delete;

  std::string text;

private:
  Interpreter &interpreter;
  std::string *const before;
};

std::string Interpreter::run(const Program &program) {
  Output result(*this);
  rendered = &result.text;
  current = acquire(program.slots, nullptr);
  enter(program.scope);
  execute(program.body);
  return std::move(result.text);
}

Activation *Interpreter::acquire(uint32_t slots, Activation *enclosing) {
  rendering.make(sizeof(Activation) + slots * sizeof(Value));
  if (unused.empty())
    unused.push_back(
        activations.emplace_back(std::make_unique<Activation>()).get());
  Activation *activation = unused.back();
  unused.pop_back();
  activation->slots.resize(slots);
  activation->enclosing = enclosing;
  return activation;
}

void Interpreter::release(Activation *activation) {
  if (activation->captured)
    return;
  activation->slots.clear();
  unused.push_back(activation);
}

void Interpreter::capture(Activation *activation) {
  for (; activation && !activation->captured;
       activation = activation->enclosing)
    activation->captured = true;
}

Value Interpreter::lookup(const std::string &name) {
  if (const Value *found = context.find(std::string_view(name)))
    return *found;
  return find_global(name);
}

Value &Interpreter::variable(const Reference &reference) {
  Activation *activation = current;
  for (uint32_t step = 0; step < reference.outward; ++step)
    activation = activation->enclosing;
  return activation->slots[reference.slot];
}

void Interpreter::enter(const Scope &scope) {
  for (const Load &load : scope.loads)
    switch (load.kind) {
    case Load::Resolve:
      current->slots[load.slot] = lookup(load.name);
      break;
    case Load::Copy:
      current->slots[load.slot] = variable(load.source);
      break;
    case Load::Clear:
      current->slots[load.slot] = Value();
      break;
    }
}

void Interpreter::leave(const Scope &scope) {
  for (const uint32_t slot : scope.slots)
    current->slots[slot] = Value();
}

Namespace &Interpreter::namespace_of(const Expression &target) {
  const Value &space = variable(target.variable);
  if (!space.is(Object::Kind::Namespace))
    throw Failure("cannot assign attribute on non-namespace object");
  return space.as<Namespace>();
}

void Interpreter::assign(const Expression &target, const Value &value) {
  if (target.kind == Expression::Name) {
    variable(target.variable) = value;
    return;
  }
  if (target.kind == Expression::NamespaceTarget) {
    namespace_of(target).attributes->set(Value(target.attribute), value);
    return;
  }
  if (!can_iterate(value))
    throw Failure("cannot unpack non-iterable " +
                  std::string(type_name(value)) + " object");
  const std::shared_ptr<Iterator> iterator = iterate(value);
  const size_t count = target.operands.size();
  for (size_t at = 0; at < count; ++at) {
    Value item;
    if (!iterator->next(item))
      throw Failure("not enough values to unpack (expected " +
                    std::to_string(count) + ", got " + std::to_string(at) +
                    ")");
    assign(*target.operands[at], item);
  }
  if (Value item; iterator->next(item))
    throw Failure("too many values to unpack (expected " +
                  std::to_string(count) + ")");
}

Interpreter::Flow Interpreter::execute(const Body &body) {
  for (const StatementPointer &statement : body)
    if (const Flow flow = execute(*statement); flow != Flow::On)
      return flow;
  return Flow::On;
}

Interpreter::Flow Interpreter::execute(const Statement &statement) {
  const Rendering::Level level(rendering);
  rendering.step();
  try {
    return run_statement(statement);
  } catch (Failure &failure) {
    if (!failure.at)
      failure.at = statement.at;
    throw;
  }
}

Interpreter::Flow Interpreter::run_statement(const Statement &statement) {
  switch (statement.kind) {
  case Statement::Data:
    write(statement.text);
    return Flow::On;
  case Statement::Print:
    print(*statement.expression);
    return Flow::On;
  case Statement::If:
    return run_if(statement);
  case Statement::For:
    return run_for(statement);
  case Statement::Set:
    run_set(statement);
    return Flow::On;
  case Statement::SetBlock:
    return run_set_block(statement);
  case Statement::Macro:
    capture(current);
    assign(*statement.target,
           Value(std::make_shared<Macro>(*this, *statement.function, current)));
    return Flow::On;
  case Statement::CallBlock:
    run_call_block(statement);
    return Flow::On;
  case Statement::FilterBlock:
    return run_filter_block(statement);
  case Statement::With:
    return run_with(statement);
  case Statement::Break:
    return Flow::Break;
  case Statement::Continue:
    break;
  }
  return Flow::Continue;
}

void Interpreter::write(std::string_view text) {
  rendering.make(text.size());
  *output += text;
}

void Interpreter::print(const Expression &expression) {
  const Value value = evaluate(expression);
  if (value.is_text())
    write(value.bytes());
  else
    write(text_of(rendering, value));
}

Interpreter::Flow Interpreter::run_if(const Statement &statement) {
  for (const Statement::Branch &branch : statement.branches)
    if (!branch.condition || truth_of(evaluate(*branch.condition)))
      return execute(branch.body);
  return Flow::On;
}

Interpreter::Flow Interpreter::run_for(const Statement &statement) {
  const Value items = evaluate(*statement.loop->items);
  if (!statement.loop->recursive)
    return run_loop(statement, items, current, 0);
  capture(current);
  write(call_loop(statement, current, items, 0).bytes());
  return Flow::On;
}

Value Interpreter::call_loop(const Statement &statement, Activation *enclosing,
                             const Value &items, size_t depth) {
  const Rendering::Level level(rendering);
  Activation *const before = current;
  Output result(*this);
  current = acquire(statement.loop->slots, enclosing);
  run_loop(statement, items, enclosing, depth);
  release(current);
  current = before;
  return Value(std::move(result.text));
}

Interpreter::Flow Interpreter::run_loop(const Statement &statement,
                                        const Value &items,
                                        Activation *enclosing, size_t depth) {
  const Statement::Loop &syntax = *statement.loop;
  Value tested = items;
  if (syntax.test) {
    // The condition is a function of its own, which lazily runs.
    capture(enclosing);
    Activation *const activation = acquire(syntax.test_slots, enclosing);
    activation->captured = true;
    Activation *const before = std::exchange(current, activation);
    enter(syntax.test_scope);
    current = before;
    tested = Value(std::static_pointer_cast<Object>(
        std::make_shared<TestedItems>(*this, statement, *activation, items)));
  }
  std::function<Value(const Value &)> recurse;
  if (syntax.recursive)
    recurse = [this, &statement, enclosing, depth](const Value &inner) {
      return call_loop(statement, enclosing, inner, depth + 1);
    };
  const auto loop = std::make_shared<Loop>(tested, depth, std::move(recurse));
  bool ran_through = false;
  for (Value item; loop->advance(item);) {
    rendering.step();
    current->slots[syntax.loop_slot] =
        Value(std::static_pointer_cast<Object>(loop));
    assign(*statement.target, item);
    enter(statement.scope);
    const Flow flow = execute(statement.body);
    if (flow == Flow::Break)
      break;
    ran_through |= flow == Flow::On;
  }
  leave(statement.scope);
  // As Jinja has it, iterations that end early do not count.
  if (ran_through || syntax.otherwise.empty())
    return Flow::On;
  enter(syntax.otherwise_scope);
  const Flow flow = execute(syntax.otherwise);
  if (flow == Flow::On)
    leave(syntax.otherwise_scope);
  return flow;
}

bool Interpreter::test_item(const Statement &statement, Activation &activation,
                            Value &item) {
  Activation *const before = std::exchange(current, &activation);
  rendering.step();
  const Expression &target = *statement.loop->tested_target;
  assign(target, item);
  const bool holds = truth_of(evaluate(*statement.loop->test));
  if (holds && target.kind == Expression::Tuple)
    item = evaluate(target);
  current = before;
  return holds;
}

void Interpreter::run_set(const Statement &statement) {
  if (statement.target->kind == Expression::NamespaceTarget)
    namespace_of(*statement.target);
  assign(*statement.target, evaluate(*statement.expression));
}

Value Interpreter::filter_block(const Expression *filters, std::string text) {
  const Value rendered(std::move(text));
  if (!filters)
    return rendered;
  const Value *const before = std::exchange(block, &rendered);
  Value filtered = evaluate(*filters);
  block = before;
  return filtered;
}

Interpreter::Flow Interpreter::run_set_block(const Statement &statement) {
  enter(statement.scope);
  std::string text;
  {
    Output result(*this);
    if (const Flow flow = execute(statement.body); flow != Flow::On)
      return flow;
    text = std::move(result.text);
  }
  if (statement.target->kind == Expression::NamespaceTarget)
    namespace_of(*statement.target);
  assign(*statement.target,
         filter_block(statement.expression.get(), std::move(text)));
  leave(statement.scope);
  return Flow::On;
}

Interpreter::Flow Interpreter::run_filter_block(const Statement &statement) {
  enter(statement.scope);
  std::string text;
  {
    Output result(*this);
    if (const Flow flow = execute(statement.body); flow != Flow::On)
      return flow;
    text = std::move(result.text);
  }
  write(text_of(rendering,
                filter_block(statement.expression.get(), std::move(text))));
  leave(statement.scope);
  return Flow::On;
}

Interpreter::Flow Interpreter::run_with(const Statement &statement) {
  enter(statement.scope);
  for (size_t at = 0; at < statement.targets.size(); ++at)
    assign(*statement.targets[at], evaluate(*statement.values[at]));
  const Flow flow = execute(statement.body);
  if (flow == Flow::On)
    leave(statement.scope);
  return flow;
}

void Interpreter::run_call_block(const Statement &statement) {
  capture(current);
  if (!statement.expression)
    return run_generation(statement);
  const Value caller(
      std::make_shared<Macro>(*this, *statement.function, current));
  write(text_of(rendering, evaluate_call(*statement.expression, caller)));
}

void Interpreter::run_generation(const Statement &statement) {
  const Value text = call_function(*statement.function, current, {});
  if (generated) {
    if (output != rendered)
      throw Failure("what {% generation %} renders here has no place in the "
                    "text");
    generated->push_back(
        {output->size(), output->size() + text.bytes().size()});
  }
  write(text.bytes());
}

Value Interpreter::call_function(const Function &function,
                                 Activation *enclosing, Arguments arguments) {
  const Rendering::Level level(rendering);
  const auto fail = [&](const std::string &what) {
    throw Failure("macro " + shown(std::string_view(function.name)) + what);
  };
  const size_t count = function.parameters.size();
  Activation *const activation = acquire(function.slots, enclosing);
  const auto set = [&](uint32_t slot, Value value) {
    activation->slots[slot] = std::move(value);
  };
  std::vector<Value> more;
  for (size_t at = 0; at < arguments.positional.size(); ++at)
    if (at < count)
      set(function.parameter_slots[at], std::move(arguments.positional[at]));
    else
      more.push_back(std::move(arguments.positional[at]));
  for (size_t at = arguments.positional.size(); at < count; ++at)
    set(function.parameter_slots[at], arguments.take(function.parameters[at]));
  if (function.caller) {
    Value caller = arguments.take("caller");
    set(*function.caller, caller.missing() || caller.is_none()
                              ? Value::undefined("No caller defined")
                              : std::move(caller));
  }
  if (function.keywords) {
    auto keywords = std::make_shared<Dictionary>();
    for (auto &[keyword, value] : arguments.keywords)
      keywords->set(Value(keyword), std::move(value));
    set(*function.keywords, Value(std::move(keywords)));
  } else if (!arguments.keywords.empty())
    fail(" takes no keyword argument " +
         shown(std::string_view(arguments.keywords.front().first)));
  if (function.positions)
    set(*function.positions, make_tuple(std::move(more)));
  else if (!more.empty())
    fail(" takes not more than " + std::to_string(count) + " argument(s)");

  Activation *const before = std::exchange(current, activation);
  Output result(*this);
  enter(function.scope);
  for (size_t at = 0; at < count; ++at) {
    const uint32_t slot = function.parameter_slots[at];
    if (!activation->slots[slot].missing())
      continue;
    activation->slots[slot] =
        function.defaults[at]
            ? evaluate(*function.defaults[at])
            : Value::undefined(
                  "parameter " +
                  shown(std::string_view(function.parameters[at])) +
                  " was not provided");
  }
  execute(function.body);
  release(activation);
  current = before;
  return Value(std::move(result.text));
}

} // namespace baton::jinja
