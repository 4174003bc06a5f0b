//===- parser.h - tokens as a tree ----------------------------------------===//

#ifndef BATON_RUNTIME_JINJA_PARSER_H
#define BATON_RUNTIME_JINJA_PARSER_H

#include "runtime/jinja/lexer.h"
#include "runtime/jinja/syntax.h"

#include <initializer_list>
#include <optional>

namespace baton::jinja {

/// How deep expressions and blocks may be nested; that recursion over trees
/// ends.
inline constexpr uint32_t deepest_syntax = 400;
/// The same for trees, which a long sum makes deep, too.
inline constexpr uint32_t deepest_tree = 400;

/// Expressions, by Jinja's grammar.
class ExpressionParser {
protected:
  explicit ExpressionParser(std::vector<Token> tokens)
      : tokens(std::move(tokens)) {}

  const Token &current() const { return tokens[position]; }
  const Token &following() const {
    return tokens[std::min(position + 1, tokens.size() - 1)];
  }
  const Token &advance();
  bool skip_operator(std::string_view text);
  bool skip_name(std::string_view name);
  void expect_operator(std::string_view text);
  void expect_name(std::string_view name);
  /// Any name; `at` is where it stands.
  std::string expect_any_name(size_t *at = nullptr);
  void expect_kind(Token::Kind kind, const char *name);
  [[noreturn]] void fail(const std::string &message,
                         std::optional<size_t> at = std::nullopt) const;

  ExpressionPointer parse_expression(bool with_condition = true);
  /// Several with commas between them are a tuple.
  ExpressionPointer parse_tuple(bool simplified, bool with_condition,
                                std::string_view end_name, bool in_parentheses);
  ExpressionPointer parse_primary();
  /// Filters of `subject`, which may be null; `inside` begins with a name.
  ExpressionPointer parse_filters(ExpressionPointer subject, bool inside);
  ExpressionPointer parse_target(std::string_view end_name,
                                 bool with_namespace);
  ExpressionPointer parse_macro_name();

  /// One level of nesting.
  class Nesting {
  public:
    explicit Nesting(ExpressionParser &parser);
    ~Nesting() { --parser.nesting; }
    Nesting(const Nesting &) = delete;
    Nesting &operator=(const Nesting &) = delete;

  private:
    ExpressionParser &parser;
  };

private:
  ExpressionPointer make(Expression::Kind kind, size_t at) const;
  /// Appends an operand, which may be null.
  void adopt(Expression &parent, ExpressionPointer operand) const;
  void adopt_arguments(Expression &parent, CallSyntax arguments) const;
  void deepen(Expression &parent, const Expression *child) const;
  ExpressionPointer make_pair(Expression::Kind kind, size_t at,
                              ExpressionPointer left, ExpressionPointer right);

  ExpressionPointer parse_conditional();
  ExpressionPointer parse_or();
  ExpressionPointer parse_and();
  ExpressionPointer parse_not();
  ExpressionPointer parse_compare();
  ExpressionPointer parse_sum();
  ExpressionPointer parse_concatenation();
  ExpressionPointer parse_product();
  ExpressionPointer parse_power();
  ExpressionPointer parse_unary(bool with_filters);
  ExpressionPointer parse_list();
  ExpressionPointer parse_dictionary();
  ExpressionPointer parse_postfix(ExpressionPointer subject);
  ExpressionPointer parse_filter_expression(ExpressionPointer subject);
  ExpressionPointer parse_subscript(ExpressionPointer subject);
  ExpressionPointer parse_index(ExpressionPointer subject);
  CallSyntax parse_arguments();
  ExpressionPointer parse_call(ExpressionPointer subject);
  ExpressionPointer parse_test(ExpressionPointer subject);
  std::string parse_dotted_name();
  std::optional<Comparison> take_comparison();

  const std::vector<Token> tokens;
  size_t position = 0;
  uint32_t nesting = 0;
};

/// Statements, too.
class Parser : ExpressionParser {
public:
  explicit Parser(std::vector<Token> tokens)
      : ExpressionParser(std::move(tokens)) {}

  /// Throws Failure with its place.
  Body parse();

private:
  using Names = std::initializer_list<std::string_view>;

  Body parse_until(const Names *ends);
  /// Behind a tag up to one of `ends`, whose name is then the current token or,
  /// dropped, behind.
  Body parse_body(Names ends, bool drop);
  StatementPointer parse_statement();
  StatementPointer parse_if(size_t at);
  StatementPointer parse_for(size_t at);
  StatementPointer parse_set(size_t at);
  StatementPointer parse_macro(size_t at);
  StatementPointer parse_call_block(size_t at);
  StatementPointer parse_generation(size_t at);
  StatementPointer parse_filter_block(size_t at);
  StatementPointer parse_with(size_t at);
  void parse_print(Body &body);
  void parse_signature(Function &function);
};

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_PARSER_H
