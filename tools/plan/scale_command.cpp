//===- scale_command.cpp - batonc plan scale ------------------------------===//

#include "tools/plan/commands.h"

#include "runtime/error.h"
#include "runtime/main/output.h"
#include "tools/plan/scaling_law.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

using namespace baton;
using namespace baton::plan;
using Json = nlohmann::ordered_json;

namespace {
struct Options {
  double operations = 0, unique = 0, rate = 0;
  std::string law = "chinchilla-refit", answers;
  double questions = 0, answer_tokens = 1000, most_answers = 1000;
  bool json = false;
};
} // namespace

/// CLI::Range lets pass what is no number.
static CLI::Validator numbers(double least, double most) {
  return CLI::Validator(
      [least, most](const std::string &text) {
        double value = 0;
        char range[64];
        std::snprintf(range, sizeof range, "a number from %g to %g", least,
                      most);
        if (!CLI::detail::lexical_cast(text, value) ||
            !(value >= least && value <= most))
          return text + " is not " + range;
        return std::string();
      },
      "");
}

static Json to_json(const Allocation &allocation) {
  return {{"parameters", allocation.parameters},
          {"tokens", allocation.tokens},
          {"tokens_per_parameter", allocation.tokens / allocation.parameters},
          {"loss", allocation.loss}};
}

static Json answer(const Options &options) {
  Json json;
  json["operations"] = options.operations;
  if (!options.answers.empty()) {
    const AnswerPlan plan = train_to_test(
        read_answer_law(options.answers), options.operations, options.questions,
        options.answer_tokens, options.most_answers);
    if (plan.solved == 0)
      throw Error(options.answers + ": no question is solved: answering takes "
                                    "all operations, or the law has no hope");
    json["law"] = options.answers;
    json.update(to_json(plan.allocation));
    json["answers"] = plan.answers;
    json["solved"] = plan.solved;
  } else if (options.unique > 0) {
    const Allocation allocation =
        constrained_optimum(options.operations, options.unique);
    json["law"] = "data-constrained";
    json.update(to_json(allocation));
    json["unique_tokens"] = options.unique;
    json["epochs"] = std::max(1.0, allocation.tokens / options.unique);
    json["worth_tokens"] = effective_tokens(allocation.tokens, options.unique);
  } else {
    json["law"] = options.law;
    const Allocation allocation =
        options.law == "kaplan" ? kaplan_optimum(options.operations)
        : options.law == "chinchilla"
            ? optimum(chinchilla_printed(), options.operations)
            : optimum(chinchilla_refitted(), options.operations);
    json.update(to_json(allocation));
    if (options.law == "kaplan")
      json["critical_batch_tokens"] = kaplan_critical_batch(allocation.loss);
  }
  if (options.rate > 0)
    json["days"] = options.operations / options.rate / 86400;
  return json;
}

void plan::add_scale_command(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand(
      "scale", "says how large a model is best for so many operations, and on "
               "how many tokens");
  command->footer(
      "Laws: chinchilla-refit (Besiroglu et al. 2024), chinchilla (approach 3 "
      "as printed in 2022, whose\nrounded constants want five times as many "
      "tokens a parameter), kaplan (2020). With --unique-tokens:\nMuennighoff "
      "et al. (2023).\n\nExamples:\n"
      "  batonc plan scale --flops 5.76e23\n"
      "  batonc plan scale --flops 1e22 --unique-tokens 2e10\n"
      "  batonc plan scale --flops 1e22 --train-to-test law.json --questions "
      "1e9");
  command
      ->add_option("--flops", options->operations,
                   "operations of training (and of answers), a multiply-add as "
                   "two")
      ->type_name("N")
      ->required()
      ->check(numbers(1e6, 1e40));
  CLI::Option *law =
      command
          ->add_option("--law", options->law,
                       "chinchilla-refit, chinchilla or kaplan")
          ->type_name("LAW")
          ->check(CLI::IsMember({"chinchilla-refit", "chinchilla", "kaplan"}))
          ->capture_default_str();
  CLI::Option *unique =
      command
          ->add_option("--unique-tokens", options->unique,
                       "different tokens that there are; more are these again")
          ->type_name("N")
          ->check(numbers(1, 1e30))
          ->excludes(law);
  CLI::Option *answers =
      command
          ->add_option("--train-to-test", options->answers,
                       "a JSON file with E, A, B, alpha, beta, slope, offset "
                       "and concentration: operations are for training and for "
                       "answers, of which one of several has to be right")
          ->type_name("FILE")
          ->excludes(law)
          ->excludes(unique);
  answers->needs(command
                     ->add_option("--questions", options->questions,
                                  "questions that will be answered")
                     ->type_name("N")
                     ->check(numbers(0, 1e30))
                     ->needs(answers));
  command
      ->add_option("--answer-tokens", options->answer_tokens,
                   "tokens of an answer")
      ->type_name("N")
      ->check(numbers(1, 1e12))
      ->capture_default_str()
      ->needs(answers);
  command
      ->add_option("--most-answers", options->most_answers,
                   "the most answers to a question")
      ->type_name("N")
      ->check(numbers(1, 1e6))
      ->capture_default_str()
      ->needs(answers);
  command
      ->add_option("--rate", options->rate,
                   "operations that the devices do in a second, all together, "
                   "to say how many days; a plan of batonc plan train --json "
                   "has them as operations_per_second")
      ->type_name("N")
      ->check(numbers(1, 1e30));
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options] {
    const Json json = answer(*options);
    if (options->json) {
      print(text_of(json));
      return;
    }
    std::string text;
    for (const auto &[key, value] : json.items()) {
      char number[32];
      if (value.is_number())
        std::snprintf(number, sizeof number, "%.4g", value.get<double>());
      text += key + std::string(23 - key.size(), ' ') +
              (value.is_number() ? number : value.get<std::string>()) + "\n";
    }
    print(text);
  });
}
