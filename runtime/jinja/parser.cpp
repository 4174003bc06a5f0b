//===- parser.cpp - statements as trees -----------------------------------===//

#include "runtime/jinja/parser.h"

#include <algorithm>

namespace baton::jinja {

namespace {

StatementPointer make_statement(Statement::Kind kind, size_t at) {
  return std::make_unique<Statement>(kind, at);
}

/// What needs other templates, or HTML.
bool is_refused(std::string_view tag) {
  static constexpr std::string_view tags[] = {
      "autoescape", "block", "extends", "from", "import", "include"};
  return std::find(std::begin(tags), std::end(tags), tag) != std::end(tags);
}

} // namespace

Body Parser::parse() { return parse_until(nullptr); }

Body Parser::parse_until(const Names *ends) {
  const Nesting level(*this);
  Body body;
  for (;;) {
    const Token &token = current();
    switch (token.kind) {
    case Token::Data: {
      StatementPointer data = make_statement(Statement::Data, token.at);
      data->text = advance().text;
      body.push_back(std::move(data));
      break;
    }
    case Token::PrintBegin: {
      StatementPointer print = make_statement(Statement::Print, advance().at);
      print->expression = parse_tuple(false, true, "", false);
      body.push_back(std::move(print));
      expect_kind(Token::PrintEnd, "end of print statement");
      break;
    }
    case Token::BlockBegin:
      advance();
      if (ends && current().kind == Token::Name &&
          std::find(ends->begin(), ends->end(), current().text) != ends->end())
        return body;
      if (current().is_name("print"))
        parse_print(body);
      else
        body.push_back(parse_statement());
      expect_kind(Token::BlockEnd, "end of statement block");
      break;
    default:
      if (ends)
        fail("Unexpected end of template: " + std::string(*ends->begin()) +
             " is missing");
      return body;
    }
  }
}

Body Parser::parse_body(Names ends, bool drop) {
  skip_operator(":");
  expect_kind(Token::BlockEnd, "end of statement block");
  Body body = parse_until(&ends);
  if (drop)
    advance();
  return body;
}

StatementPointer Parser::parse_statement() {
  const Token &token = current();
  if (token.kind != Token::Name)
    fail("tag name expected");
  const std::string &tag = advance().text;
  if (tag == "if")
    return parse_if(token.at);
  if (tag == "for")
    return parse_for(token.at);
  if (tag == "set")
    return parse_set(token.at);
  if (tag == "macro")
    return parse_macro(token.at);
  if (tag == "call")
    return parse_call_block(token.at);
  if (tag == "generation")
    return parse_generation(token.at);
  if (tag == "filter")
    return parse_filter_block(token.at);
  if (tag == "with")
    return parse_with(token.at);
  if (tag == "break")
    return make_statement(Statement::Break, token.at);
  if (tag == "continue")
    return make_statement(Statement::Continue, token.at);
  if (is_refused(tag))
    fail("{% " + tag + " %} is not supported: chat templates stand alone",
         token.at);
  fail("Encountered unknown tag '" + tag + "'.", token.at);
}

StatementPointer Parser::parse_if(size_t at) {
  StatementPointer statement = make_statement(Statement::If, at);
  for (;;) {
    Statement::Branch branch;
    branch.condition = parse_tuple(false, false, "", false);
    branch.body = parse_body({"elif", "else", "endif"}, false);
    statement->branches.push_back(std::move(branch));
    const std::string &tag = advance().text;
    if (tag == "elif")
      continue;
    if (tag == "else") {
      Statement::Branch otherwise;
      otherwise.body = parse_body({"endif"}, true);
      statement->branches.push_back(std::move(otherwise));
    }
    return statement;
  }
}

StatementPointer Parser::parse_for(size_t at) {
  StatementPointer statement = make_statement(Statement::For, at);
  statement->loop = std::make_unique<Statement::Loop>();
  Statement::Loop &loop = *statement->loop;
  statement->target = parse_target("in", false);
  expect_name("in");
  loop.items = parse_tuple(false, false, "recursive", false);
  if (skip_name("if"))
    loop.test = parse_expression();
  loop.recursive = skip_name("recursive");
  statement->body = parse_body({"endfor", "else"}, false);
  if (advance().text == "else")
    loop.otherwise = parse_body({"endfor"}, true);
  return statement;
}

StatementPointer Parser::parse_set(size_t at) {
  ExpressionPointer target = parse_target("", true);
  if (skip_operator("=")) {
    StatementPointer statement = make_statement(Statement::Set, at);
    statement->target = std::move(target);
    statement->expression = parse_tuple(false, true, "", false);
    return statement;
  }
  StatementPointer statement = make_statement(Statement::SetBlock, at);
  statement->target = std::move(target);
  statement->expression = parse_filters(nullptr, false);
  statement->body = parse_body({"endset"}, true);
  return statement;
}

void Parser::parse_signature(Function &function) {
  expect_operator("(");
  while (!current().is(")")) {
    if (!function.parameters.empty())
      expect_operator(",");
    size_t at = 0;
    std::string name = expect_any_name(&at);
    if (std::find(function.parameters.begin(), function.parameters.end(),
                  name) != function.parameters.end())
      fail("duplicate argument '" + name + "' in function definition", at);
    static constexpr std::string_view constants[] = {"true", "false", "none",
                                                     "True", "False", "None"};
    if (std::find(std::begin(constants), std::end(constants), name) !=
        std::end(constants))
      fail("can't assign to '" + name + "'", at);
    ExpressionPointer otherwise;
    if (skip_operator("="))
      otherwise = parse_expression();
    else if (!function.defaults.empty() && function.defaults.back())
      fail("non-default argument follows default argument");
    function.parameters.push_back(std::move(name));
    function.defaults.push_back(std::move(otherwise));
  }
  expect_operator(")");
}

StatementPointer Parser::parse_macro(size_t at) {
  StatementPointer statement = make_statement(Statement::Macro, at);
  statement->function = std::make_unique<Function>();
  Function &function = *statement->function;
  statement->target = parse_macro_name();
  function.name = statement->target->name;
  parse_signature(function);
  function.body = parse_body({"endmacro"}, true);
  return statement;
}

StatementPointer Parser::parse_call_block(size_t at) {
  StatementPointer statement = make_statement(Statement::CallBlock, at);
  statement->function = std::make_unique<Function>();
  if (current().is("("))
    parse_signature(*statement->function);
  statement->expression = parse_expression();
  if (statement->expression->kind != Expression::Call)
    fail("expected call", at);
  statement->function->body = parse_body({"endcall"}, true);
  return statement;
}

StatementPointer Parser::parse_generation(size_t at) {
  StatementPointer statement = make_statement(Statement::CallBlock, at);
  statement->function = std::make_unique<Function>();
  statement->function->body = parse_body({"endgeneration"}, true);
  return statement;
}

StatementPointer Parser::parse_filter_block(size_t at) {
  StatementPointer statement = make_statement(Statement::FilterBlock, at);
  statement->expression = parse_filters(nullptr, true);
  statement->body = parse_body({"endfilter"}, true);
  return statement;
}

StatementPointer Parser::parse_with(size_t at) {
  StatementPointer statement = make_statement(Statement::With, at);
  while (current().kind != Token::BlockEnd) {
    if (!statement->targets.empty())
      expect_operator(",");
    // An end of tokens is no target, and ends this.
    statement->targets.push_back(parse_target("", false));
    expect_operator("=");
    statement->values.push_back(parse_expression());
  }
  statement->body = parse_body({"endwith"}, true);
  return statement;
}

void Parser::parse_print(Body &body) {
  advance();
  for (bool first = true; current().kind != Token::BlockEnd; first = false) {
    if (!first)
      expect_operator(",");
    StatementPointer print = make_statement(Statement::Print, current().at);
    print->expression = parse_expression();
    body.push_back(std::move(print));
  }
}

} // namespace baton::jinja
