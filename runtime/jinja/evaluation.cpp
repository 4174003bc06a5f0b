//===- evaluation.cpp - evaluates expressions -----------------------------===//

#include "runtime/jinja/attributes.h"
#include "runtime/jinja/filters.h"
#include "runtime/jinja/interpreter.h"
#include "runtime/jinja/operations.h"
#include "runtime/jinja/printing.h"
#include "runtime/jinja/slicing.h"

namespace baton::jinja {

Value Interpreter::evaluate(const Expression &expression) {
  const Rendering::Level level(rendering);
  rendering.step();
  try {
    return evaluate_kind(expression);
  } catch (Failure &failure) {
    if (!failure.at)
      failure.at = expression.at;
    throw;
  }
}

Value Interpreter::evaluate_kind(const Expression &expression) {
  const auto operand = [&](size_t which) {
    return evaluate(*expression.operands[which]);
  };
  switch (expression.kind) {
  case Expression::Constant:
    return expression.constant;
  case Expression::Name:
  case Expression::NamespaceTarget: {
    const Value &value = variable(expression.variable);
    return value.missing()
               ? Value::undefined(shown(std::string_view(expression.name)) +
                                  " is undefined")
               : value;
  }
  case Expression::Tuple:
  case Expression::List:
    return evaluate_list(expression);
  case Expression::Dictionary:
    return evaluate_dictionary(expression);
  case Expression::Binary: {
    const Value left = operand(0);
    return operate(rendering, expression.operation, left, operand(1));
  }
  case Expression::Concatenate:
    return evaluate_concatenation(expression);
  case Expression::And: {
    Value left = operand(0);
    return truth_of(left) ? operand(1) : left;
  }
  case Expression::Or: {
    Value left = operand(0);
    return truth_of(left) ? left : operand(1);
  }
  case Expression::Not:
    return Value(!truth_of(operand(0)));
  case Expression::Negative:
    return negative(operand(0));
  case Expression::Positive:
    return positive(operand(0));
  case Expression::Compare:
    return evaluate_compare(expression);
  case Expression::Conditional:
    return evaluate_conditional(expression);
  case Expression::Attribute:
    return get_attribute(rendering, operand(0), expression.name);
  case Expression::Item: {
    const Value subject = operand(0);
    return get_item(rendering, subject, operand(1));
  }
  case Expression::Slice:
    return evaluate_slice(expression);
  case Expression::Call:
    return evaluate_call(expression, Value());
  case Expression::Filter:
    return evaluate_filter(expression);
  case Expression::Test:
    break;
  }
  return evaluate_test(expression);
}

Value Interpreter::evaluate_list(const Expression &expression) {
  rendering.make(expression.operands.size(), sizeof(Value));
  std::vector<Value> items;
  items.reserve(expression.operands.size());
  for (const ExpressionPointer &operand : expression.operands)
    items.push_back(evaluate(*operand));
  return expression.kind == Expression::Tuple ? make_tuple(std::move(items))
                                              : make_list(std::move(items));
}

Value Interpreter::evaluate_dictionary(const Expression &expression) {
  rendering.make(expression.operands.size(), 2 * sizeof(Value));
  auto dictionary = std::make_shared<Dictionary>();
  for (size_t at = 0; at < expression.operands.size(); at += 2) {
    Value key = evaluate(*expression.operands[at]);
    Value value = evaluate(*expression.operands[at + 1]);
    dictionary->set(std::move(key), std::move(value));
  }
  return Value(std::move(dictionary));
}

Value Interpreter::evaluate_concatenation(const Expression &expression) {
  std::string result;
  for (const ExpressionPointer &operand : expression.operands)
    result += text_of(rendering, evaluate(*operand));
  rendering.make(result.size());
  return Value(std::move(result));
}

Value Interpreter::evaluate_compare(const Expression &expression) {
  Value left = evaluate(*expression.operands[0]);
  for (size_t at = 0; at < expression.comparisons.size(); ++at) {
    Value right = evaluate(*expression.operands[at + 1]);
    if (!compare(rendering, expression.comparisons[at], left, right))
      return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Interpreter::evaluate_conditional(const Expression &expression) {
  if (truth_of(evaluate(*expression.operands[0])))
    return evaluate(*expression.operands[1]);
  if (expression.operands[2])
    return evaluate(*expression.operands[2]);
  return Value::undefined("the inline if-expression evaluated to false and no "
                          "else section was defined.");
}

Value Interpreter::evaluate_slice(const Expression &expression) {
  const Value subject = evaluate(*expression.operands[0]);
  Value bounds[3];
  for (size_t at = 0; at < 3; ++at)
    if (expression.operands[at + 1])
      bounds[at] = evaluate(*expression.operands[at + 1]);
  return slice(rendering, subject, bounds[0], bounds[1], bounds[2]);
}

Value Interpreter::evaluate_filter(const Expression &expression) {
  Arguments arguments;
  arguments.positional.push_back(
      expression.operands[0] ? evaluate(*expression.operands[0]) : *block);
  if (!expression.filter)
    throw Failure("No filter named '" + expression.name + "' found.");
  evaluate_arguments(expression.arguments, arguments);
  return apply(rendering, *expression.filter, std::move(arguments));
}

Value Interpreter::evaluate_test(const Expression &expression) {
  Arguments arguments;
  arguments.positional.push_back(evaluate(*expression.operands[0]));
  if (!expression.test)
    throw Failure("No test named '" + expression.name + "' found.");
  evaluate_arguments(expression.arguments, arguments);
  return Value(holds(rendering, *expression.test, std::move(arguments)));
}

Value Interpreter::evaluate_call(const Expression &expression,
                                 const Value &caller) {
  const Value callee = evaluate(*expression.operands[0]);
  Arguments arguments;
  evaluate_arguments(expression.arguments, arguments);
  if (!caller.missing())
    arguments.keywords.emplace_back("caller", caller);
  return call(rendering, callee, std::move(arguments));
}

void Interpreter::evaluate_arguments(const CallSyntax &syntax,
                                     Arguments &arguments) {
  for (const ExpressionPointer &argument : syntax.positional)
    arguments.positional.push_back(evaluate(*argument));
  for (const auto &[name, argument] : syntax.keywords)
    arguments.keywords.emplace_back(name, evaluate(*argument));
  if (syntax.more_positional)
    for (Value &item : items_of(rendering, evaluate(*syntax.more_positional)))
      arguments.positional.push_back(std::move(item));
  if (!syntax.more_keywords)
    return;
  const Value more = evaluate(*syntax.more_keywords);
  if (!more.is(Object::Kind::Dictionary))
    throw Failure("argument after ** must be a mapping, not " +
                  std::string(type_name(more)));
  for (const auto &[key, value] : more.as<Dictionary>().entries()) {
    if (!key.is_text())
      throw Failure("keywords must be strings");
    for (const auto &keyword : arguments.keywords)
      if (keyword.first == key.bytes())
        throw Failure("got multiple values for keyword argument " +
                      shown(std::string_view(key.bytes())));
    arguments.keywords.emplace_back(key.bytes(), value);
  }
}

} // namespace baton::jinja
