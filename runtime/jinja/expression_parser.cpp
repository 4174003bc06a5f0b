//===- expression_parser.cpp - expressions as trees -----------------------===//

#include "runtime/jinja/parser.h"

#include "runtime/jinja/operations.h"

#include <algorithm>

namespace baton::jinja {

namespace {

bool can_be_assigned(const Expression &target) {
  switch (target.kind) {
  case Expression::Name:
  case Expression::NamespaceTarget:
    return true;
  case Expression::Tuple:
    return std::all_of(
        target.operands.begin(), target.operands.end(),
        [](const ExpressionPointer &item) { return can_be_assigned(*item); });
  default:
    return false;
  }
}

void mark_stored(Expression &target) {
  target.stored = true;
  for (const ExpressionPointer &item : target.operands)
    mark_stored(*item);
}

} // namespace

ExpressionParser::Nesting::Nesting(ExpressionParser &parser) : parser(parser) {
  if (++parser.nesting > deepest_syntax) {
    --parser.nesting;
    parser.fail("nested more than " + std::to_string(deepest_syntax) + " deep");
  }
}

void ExpressionParser::fail(const std::string &message,
                            std::optional<size_t> at) const {
  Failure failure(message);
  failure.at = at.value_or(current().at);
  throw failure;
}

const Token &ExpressionParser::advance() {
  const Token &token = tokens[position];
  if (position + 1 < tokens.size())
    ++position;
  return token;
}

bool ExpressionParser::skip_operator(std::string_view text) {
  if (!current().is(text))
    return false;
  advance();
  return true;
}

bool ExpressionParser::skip_name(std::string_view name) {
  if (!current().is_name(name))
    return false;
  advance();
  return true;
}

void ExpressionParser::expect_operator(std::string_view text) {
  if (!skip_operator(text))
    fail("expected token '" + std::string(text) + "', got '" +
         describe(current()) + "'");
}

void ExpressionParser::expect_name(std::string_view name) {
  if (!skip_name(name))
    fail("expected token '" + std::string(name) + "', got '" +
         describe(current()) + "'");
}

std::string ExpressionParser::expect_any_name(size_t *at) {
  if (current().kind != Token::Name)
    fail("expected token 'name', got '" + describe(current()) + "'");
  if (at)
    *at = current().at;
  return advance().text;
}

void ExpressionParser::expect_kind(Token::Kind kind, const char *name) {
  if (current().kind != kind)
    fail(std::string("expected token '") + name + "', got '" +
         describe(current()) + "'");
  advance();
}

ExpressionPointer ExpressionParser::make(Expression::Kind kind,
                                         size_t at) const {
  return std::make_unique<Expression>(kind, at);
}

void ExpressionParser::deepen(Expression &parent,
                              const Expression *child) const {
  if (!child)
    return;
  parent.depth = std::max(parent.depth, child->depth + 1);
  if (parent.depth > deepest_tree)
    fail("the expression has more than " + std::to_string(deepest_tree) +
             " levels",
         parent.at);
}

void ExpressionParser::adopt(Expression &parent,
                             ExpressionPointer operand) const {
  deepen(parent, operand.get());
  parent.operands.push_back(std::move(operand));
}

void ExpressionParser::adopt_arguments(Expression &parent,
                                       CallSyntax arguments) const {
  for (const ExpressionPointer &argument : arguments.positional)
    deepen(parent, argument.get());
  for (const auto &[name, argument] : arguments.keywords)
    deepen(parent, argument.get());
  deepen(parent, arguments.more_positional.get());
  deepen(parent, arguments.more_keywords.get());
  parent.arguments = std::move(arguments);
}

ExpressionPointer ExpressionParser::make_pair(Expression::Kind kind, size_t at,
                                              ExpressionPointer left,
                                              ExpressionPointer right) {
  ExpressionPointer pair = make(kind, at);
  adopt(*pair, std::move(left));
  adopt(*pair, std::move(right));
  return pair;
}

ExpressionPointer ExpressionParser::parse_expression(bool with_condition) {
  const Nesting level(*this);
  return with_condition ? parse_conditional() : parse_or();
}

ExpressionPointer ExpressionParser::parse_conditional() {
  const Nesting level(*this);
  ExpressionPointer result = parse_or();
  while (current().is_name("if")) {
    ExpressionPointer conditional = make(Expression::Conditional, advance().at);
    adopt(*conditional, parse_or());
    adopt(*conditional, std::move(result));
    adopt(*conditional, skip_name("else") ? parse_conditional() : nullptr);
    result = std::move(conditional);
  }
  return result;
}

ExpressionPointer ExpressionParser::parse_or() {
  ExpressionPointer left = parse_and();
  while (current().is_name("or")) {
    const size_t at = advance().at;
    left = make_pair(Expression::Or, at, std::move(left), parse_and());
  }
  return left;
}

ExpressionPointer ExpressionParser::parse_and() {
  ExpressionPointer left = parse_not();
  while (current().is_name("and")) {
    const size_t at = advance().at;
    left = make_pair(Expression::And, at, std::move(left), parse_not());
  }
  return left;
}

ExpressionPointer ExpressionParser::parse_not() {
  if (!current().is_name("not"))
    return parse_compare();
  const Nesting level(*this);
  ExpressionPointer result = make(Expression::Not, advance().at);
  adopt(*result, parse_not());
  return result;
}

std::optional<Comparison> ExpressionParser::take_comparison() {
  static constexpr std::pair<std::string_view, Comparison> operators[] = {
      {"==", Comparison::Equal},  {"!=", Comparison::NotEqual},
      {"<", Comparison::Less},    {"<=", Comparison::LessOrEqual},
      {">", Comparison::Greater}, {">=", Comparison::GreaterOrEqual},
  };
  for (const auto &[text, comparison] : operators)
    if (skip_operator(text))
      return comparison;
  if (skip_name("in"))
    return Comparison::In;
  if (current().is_name("not") && following().is_name("in")) {
    advance();
    advance();
    return Comparison::NotIn;
  }
  return std::nullopt;
}

ExpressionPointer ExpressionParser::parse_compare() {
  ExpressionPointer first = parse_sum();
  const size_t at = current().at;
  auto comparison = take_comparison();
  if (!comparison)
    return first;
  ExpressionPointer result = make(Expression::Compare, at);
  adopt(*result, std::move(first));
  for (; comparison; comparison = take_comparison()) {
    result->comparisons.push_back(*comparison);
    adopt(*result, parse_sum());
  }
  return result;
}

ExpressionPointer ExpressionParser::parse_sum() {
  ExpressionPointer left = parse_concatenation();
  while (current().is("+") || current().is("-")) {
    const Token &token = advance();
    left = make_pair(Expression::Binary, token.at, std::move(left),
                     parse_concatenation());
    left->operation =
        token.text == "+" ? BinaryOperator::Add : BinaryOperator::Subtract;
  }
  return left;
}

ExpressionPointer ExpressionParser::parse_concatenation() {
  ExpressionPointer first = parse_product();
  if (!current().is("~"))
    return first;
  ExpressionPointer result = make(Expression::Concatenate, current().at);
  adopt(*result, std::move(first));
  while (skip_operator("~"))
    adopt(*result, parse_product());
  return result;
}

ExpressionPointer ExpressionParser::parse_product() {
  static constexpr std::pair<std::string_view, BinaryOperator> operators[] = {
      {"*", BinaryOperator::Multiply},
      {"/", BinaryOperator::Divide},
      {"//", BinaryOperator::FloorDivide},
      {"%", BinaryOperator::Modulo},
  };
  ExpressionPointer left = parse_power();
  for (;;) {
    const auto *found = std::find_if(
        std::begin(operators), std::end(operators),
        [&](const auto &entry) { return current().is(entry.first); });
    if (found == std::end(operators))
      return left;
    const size_t at = advance().at;
    left = make_pair(Expression::Binary, at, std::move(left), parse_power());
    left->operation = found->second;
  }
}

ExpressionPointer ExpressionParser::parse_power() {
  ExpressionPointer left = parse_unary(true);
  while (current().is("**")) {
    const size_t at = advance().at;
    left =
        make_pair(Expression::Binary, at, std::move(left), parse_unary(true));
    left->operation = BinaryOperator::Power;
  }
  return left;
}

ExpressionPointer ExpressionParser::parse_unary(bool with_filters) {
  const Nesting level(*this);
  ExpressionPointer result;
  if (current().is("-") || current().is("+")) {
    const Token &token = advance();
    result =
        make(token.text == "-" ? Expression::Negative : Expression::Positive,
             token.at);
    adopt(*result, parse_unary(false));
  } else
    result = parse_primary();
  result = parse_postfix(std::move(result));
  return with_filters ? parse_filter_expression(std::move(result))
                      : std::move(result);
}

ExpressionPointer ExpressionParser::parse_primary() {
  const Token &token = current();
  ExpressionPointer result;
  switch (token.kind) {
  case Token::Name: {
    const std::string &name = advance().text;
    const bool is_true = name == "true" || name == "True";
    if (is_true || name == "false" || name == "False") {
      result = make(Expression::Constant, token.at);
      result->constant = Value(is_true);
    } else if (name == "none" || name == "None") {
      result = make(Expression::Constant, token.at);
      result->constant = Value::none();
    } else {
      result = make(Expression::Name, token.at);
      result->name = name;
    }
    return result;
  }
  case Token::Text: {
    std::string text = advance().text;
    while (current().kind == Token::Text)
      text += advance().text;
    result = make(Expression::Constant, token.at);
    result->constant = Value(std::move(text));
    return result;
  }
  case Token::Number:
    result = make(Expression::Constant, token.at);
    result->constant = advance().value;
    return result;
  case Token::Operator:
    if (skip_operator("(")) {
      result = parse_tuple(false, true, "", true);
      expect_operator(")");
      return result;
    }
    if (token.is("["))
      return parse_list();
    if (token.is("{"))
      return parse_dictionary();
    break;
  default:
    break;
  }
  fail("unexpected '" + describe(token) + "'");
}

ExpressionPointer ExpressionParser::parse_tuple(bool simplified,
                                                bool with_condition,
                                                std::string_view end_name,
                                                bool in_parentheses) {
  const Nesting level(*this);
  const auto at_end = [&] {
    return current().kind == Token::PrintEnd ||
           current().kind == Token::BlockEnd || current().is(")") ||
           (!end_name.empty() && current().is_name(end_name));
  };
  ExpressionPointer tuple = make(Expression::Tuple, current().at);
  bool is_tuple = false;
  for (;;) {
    if (!tuple->operands.empty())
      expect_operator(",");
    if (at_end())
      break;
    adopt(*tuple,
          simplified ? parse_primary() : parse_expression(with_condition));
    if (!current().is(","))
      break;
    is_tuple = true;
  }
  if (is_tuple)
    return tuple;
  if (!tuple->operands.empty())
    return std::move(tuple->operands.front());
  if (!in_parentheses)
    fail("Expected an expression, got '" + describe(current()) + "'");
  return tuple;
}

ExpressionPointer ExpressionParser::parse_list() {
  ExpressionPointer list = make(Expression::List, advance().at);
  while (!current().is("]")) {
    if (!list->operands.empty())
      expect_operator(",");
    if (current().is("]"))
      break;
    adopt(*list, parse_expression());
  }
  expect_operator("]");
  return list;
}

ExpressionPointer ExpressionParser::parse_dictionary() {
  ExpressionPointer dictionary = make(Expression::Dictionary, advance().at);
  while (!current().is("}")) {
    if (!dictionary->operands.empty())
      expect_operator(",");
    if (current().is("}"))
      break;
    adopt(*dictionary, parse_expression());
    expect_operator(":");
    adopt(*dictionary, parse_expression());
  }
  expect_operator("}");
  return dictionary;
}

ExpressionPointer ExpressionParser::parse_postfix(ExpressionPointer subject) {
  for (;;)
    if (current().is(".") || current().is("["))
      subject = parse_subscript(std::move(subject));
    else if (current().is("("))
      subject = parse_call(std::move(subject));
    else
      return subject;
}

ExpressionPointer
ExpressionParser::parse_filter_expression(ExpressionPointer subject) {
  for (;;)
    if (current().is("|"))
      subject = parse_filters(std::move(subject), false);
    else if (current().is_name("is"))
      subject = parse_test(std::move(subject));
    else if (current().is("("))
      subject = parse_call(std::move(subject));
    else
      return subject;
}

ExpressionPointer ExpressionParser::parse_subscript(ExpressionPointer subject) {
  const Token &token = advance();
  if (token.is("[")) {
    ExpressionPointer result = parse_index(std::move(subject));
    expect_operator("]");
    return result;
  }
  const Token &name = advance();
  if (name.kind == Token::Name) {
    ExpressionPointer result = make(Expression::Attribute, token.at);
    result->name = name.text;
    adopt(*result, std::move(subject));
    return result;
  }
  if (name.kind != Token::Number || name.text != "integer")
    fail("expected name or number", name.at);
  ExpressionPointer index = make(Expression::Constant, name.at);
  index->constant = name.value;
  return make_pair(Expression::Item, token.at, std::move(subject),
                   std::move(index));
}

ExpressionPointer ExpressionParser::parse_index(ExpressionPointer subject) {
  const size_t at = current().at;
  std::vector<ExpressionPointer> indices;
  bool has_slice = false;
  while (!current().is("]")) {
    if (!indices.empty())
      expect_operator(",");
    ExpressionPointer bounds[3];
    if (!current().is(":")) {
      bounds[0] = parse_expression();
      if (!current().is(":")) {
        indices.push_back(std::move(bounds[0]));
        continue;
      }
    }
    advance();
    const auto bound_ends = [&] {
      return current().is("]") || current().is(",");
    };
    if (!current().is(":") && !bound_ends())
      bounds[1] = parse_expression();
    if (skip_operator(":") && !bound_ends())
      bounds[2] = parse_expression();
    ExpressionPointer slice = make(Expression::Slice, at);
    has_slice = true;
    adopt(*slice, nullptr);
    for (ExpressionPointer &bound : bounds)
      adopt(*slice, std::move(bound));
    indices.push_back(std::move(slice));
  }
  if (indices.size() == 1 && has_slice) {
    deepen(*indices[0], subject.get());
    indices[0]->operands[0] = std::move(subject);
    return std::move(indices[0]);
  }
  if (has_slice)
    fail("slices cannot be part of a tuple", at);
  if (indices.size() == 1)
    return make_pair(Expression::Item, at, std::move(subject),
                     std::move(indices[0]));
  ExpressionPointer tuple = make(Expression::Tuple, at);
  for (ExpressionPointer &index : indices)
    adopt(*tuple, std::move(index));
  return make_pair(Expression::Item, at, std::move(subject), std::move(tuple));
}

CallSyntax ExpressionParser::parse_arguments() {
  const size_t at = current().at;
  expect_operator("(");
  CallSyntax arguments;
  const auto ensure = [&](bool valid) {
    if (!valid)
      fail("invalid syntax for function call expression", at);
  };
  for (bool first = true; !current().is(")"); first = false) {
    if (!first) {
      expect_operator(",");
      if (current().is(")"))
        break;
    }
    if (skip_operator("*")) {
      ensure(!arguments.more_positional && !arguments.more_keywords);
      arguments.more_positional = parse_expression();
    } else if (skip_operator("**")) {
      ensure(!arguments.more_keywords);
      arguments.more_keywords = parse_expression();
    } else if (current().kind == Token::Name && following().is("=")) {
      ensure(!arguments.more_keywords);
      std::string name = advance().text;
      advance();
      for (const auto &keyword : arguments.keywords)
        if (keyword.first == name)
          fail("keyword argument repeated: " + name);
      arguments.keywords.emplace_back(std::move(name), parse_expression());
    } else {
      ensure(!arguments.more_positional && !arguments.more_keywords &&
             arguments.keywords.empty());
      arguments.positional.push_back(parse_expression());
    }
  }
  expect_operator(")");
  return arguments;
}

ExpressionPointer ExpressionParser::parse_call(ExpressionPointer subject) {
  ExpressionPointer call = make(Expression::Call, current().at);
  adopt(*call, std::move(subject));
  adopt_arguments(*call, parse_arguments());
  return call;
}

std::string ExpressionParser::parse_dotted_name() {
  std::string name = expect_any_name();
  while (skip_operator("."))
    name += "." + expect_any_name();
  return name;
}

ExpressionPointer ExpressionParser::parse_filters(ExpressionPointer subject,
                                                  bool inside) {
  while (inside || skip_operator("|")) {
    inside = false;
    ExpressionPointer filter = make(Expression::Filter, current().at);
    filter->name = parse_dotted_name();
    adopt(*filter, std::move(subject));
    if (current().is("("))
      adopt_arguments(*filter, parse_arguments());
    subject = std::move(filter);
  }
  return subject;
}

ExpressionPointer ExpressionParser::parse_test(ExpressionPointer subject) {
  const Nesting level(*this);
  const size_t at = advance().at;
  const bool negated = skip_name("not");
  ExpressionPointer test = make(Expression::Test, at);
  test->name = parse_dotted_name();
  adopt(*test, std::move(subject));
  const Token &token = current();
  const bool has_argument =
      (token.kind == Token::Name && !token.is_name("else") &&
       !token.is_name("or") && !token.is_name("and")) ||
      token.kind == Token::Text || token.kind == Token::Number ||
      token.is("[") || token.is("{");
  if (token.is("("))
    adopt_arguments(*test, parse_arguments());
  else if (has_argument) {
    if (token.is_name("is"))
      fail("You cannot chain multiple tests with is");
    CallSyntax arguments;
    arguments.positional.push_back(parse_postfix(parse_primary()));
    adopt_arguments(*test, std::move(arguments));
  }
  if (!negated)
    return test;
  ExpressionPointer result = make(Expression::Not, at);
  adopt(*result, std::move(test));
  return result;
}

ExpressionPointer ExpressionParser::parse_target(std::string_view end_name,
                                                 bool with_namespace) {
  ExpressionPointer target;
  const size_t at = current().at;
  if (with_namespace && following().is(".")) {
    target = make(Expression::NamespaceTarget, at);
    target->name = expect_any_name();
    advance();
    target->attribute = expect_any_name();
  } else
    target = parse_tuple(true, true, end_name, false);
  if (!can_be_assigned(*target))
    fail("can't assign to this", at);
  mark_stored(*target);
  return target;
}

ExpressionPointer ExpressionParser::parse_macro_name() {
  ExpressionPointer target = make(Expression::Name, current().at);
  target->name = expect_any_name();
  target->stored = true;
  return target;
}

} // namespace baton::jinja
