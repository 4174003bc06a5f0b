//===- interpreter.h - runs templates -------------------------------------===//

#ifndef BATON_RUNTIME_JINJA_INTERPRETER_H
#define BATON_RUNTIME_JINJA_INTERPRETER_H

#include "runtime/jinja/rendering.h"
#include "runtime/jinja/syntax.h"
#include "runtime/jinja/text_span.h"

#include <memory>
#include <string>
#include <vector>

namespace baton::jinja {

/// The variables of a function while it runs; longer, where macros see them.
struct Activation {
  std::vector<Value> slots;
  Activation *enclosing = nullptr;
  bool captured = false;
};

class Interpreter {
public:
  /// Of the context, a dictionary, come the names that the template does not
  /// define. `generated`: see Template::render().
  Interpreter(Rendering &rendering, const Dictionary &context,
              std::vector<TextSpan> *generated = nullptr)
      : rendering(rendering), context(context), generated(generated) {}

  std::string run(const Program &program);

  /// For macros: of arguments, as jinja2.runtime.Macro takes them.
  Value call_function(const Function &function, Activation *enclosing,
                      Arguments arguments);
  /// For loops that are called.
  Value call_loop(const Statement &statement, Activation *enclosing,
                  const Value &items, size_t depth);
  /// For loops with a condition: whether it holds for the item, which becomes
  /// what the loop's target makes of it.
  bool test_item(const Statement &statement, Activation &activation,
                 Value &item);

private:
  enum class Flow { On, Break, Continue };
  class Output;

  Activation *acquire(uint32_t slots, Activation *enclosing);
  void release(Activation *activation);
  /// It will be seen by something that may live longer than the call.
  void capture(Activation *activation);

  Value lookup(const std::string &name);
  Value &variable(const Reference &reference);
  void enter(const Scope &scope);
  void leave(const Scope &scope);
  void assign(const Expression &target, const Value &value);
  Namespace &namespace_of(const Expression &target);

  Flow execute(const Body &body);
  Flow execute(const Statement &statement);
  Flow run_statement(const Statement &statement);
  void print(const Expression &expression);
  void write(std::string_view text);
  Flow run_if(const Statement &statement);
  Flow run_for(const Statement &statement);
  Flow run_loop(const Statement &statement, const Value &items,
                Activation *enclosing, size_t depth);
  Flow run_set_block(const Statement &statement);
  Flow run_filter_block(const Statement &statement);
  Flow run_with(const Statement &statement);
  void run_set(const Statement &statement);
  void run_call_block(const Statement &statement);
  void run_generation(const Statement &statement);
  Value filter_block(const Expression *filters, std::string text);

  Value evaluate(const Expression &expression);
  Value evaluate_kind(const Expression &expression);
  Value evaluate_list(const Expression &expression);
  Value evaluate_dictionary(const Expression &expression);
  Value evaluate_concatenation(const Expression &expression);
  Value evaluate_compare(const Expression &expression);
  Value evaluate_conditional(const Expression &expression);
  Value evaluate_slice(const Expression &expression);
  Value evaluate_filter(const Expression &expression);
  Value evaluate_test(const Expression &expression);
  Value evaluate_call(const Expression &expression, const Value &caller);
  void evaluate_arguments(const CallSyntax &syntax, Arguments &arguments);

  Rendering &rendering;
  const Dictionary &context;
  Activation *current = nullptr;
  std::string *output = nullptr;
  std::vector<TextSpan> *const generated;
  /// What the whole template renders.
  const std::string *rendered = nullptr;
  /// What a block that is filtered has rendered.
  const Value *block = nullptr;
  std::vector<std::unique_ptr<Activation>> activations;
  std::vector<Activation *> unused;
};

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_INTERPRETER_H
