//===- scale_command.cpp - batonc plan scale ------------------------------===//

#include "tools/plan/commands.h"

#include "runtime/error.h"
#include "runtime/main/output.h"
#include "tools/plan/page.h"
#include "tools/plan/scaling_law.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>

using namespace baton;
using namespace baton::plan;
using Json = nlohmann::ordered_json;

namespace {
struct Options {
  double operations = 0, unique = 0, rate = 0;
  std::string law = "chinchilla-refit", answers, html;
  double questions = 0, answer_tokens = 1000, most_answers = 1000;
  bool json = false;
};

struct Answer {
  Json json;
  Allocation best;
  /// With as many parameters, and the tokens that are left of all operations.
  std::function<double(double)> loss;
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

static std::function<double(double)> loss_of(const Options &options,
                                             const ScalingLaw &law) {
  return [&options, law](double parameters) {
    return law.loss(parameters, options.operations / 6 / parameters);
  };
}

static Answer answer(const Options &options) {
  Answer result;
  Json &json = result.json;
  Allocation &allocation = result.best;
  json["operations"] = options.operations;
  if (!options.answers.empty()) {
    const AnswerLaw law = read_answer_law(options.answers);
    const AnswerPlan plan =
        train_to_test(law, options.operations, options.questions,
                      options.answer_tokens, options.most_answers);
    if (plan.solved == 0)
      throw Error(options.answers + ": no question is solved: answering takes "
                                    "all operations, or the law has no hope");
    json["law"] = options.answers;
    allocation = plan.allocation;
    json.update(to_json(allocation));
    json["answers"] = plan.answers;
    json["solved"] = plan.solved;
    result.loss = [&options, law, plan](double parameters) {
      const double tokens = tokens_beside_answers(
          options.operations, parameters, options.questions,
          options.answer_tokens, plan.answers);
      return tokens > 1 ? law.law.loss(parameters, tokens) : INFINITY;
    };
  } else if (options.unique > 0) {
    allocation = constrained_optimum(options.operations, options.unique);
    json["law"] = "data-constrained";
    json.update(to_json(allocation));
    json["unique_tokens"] = options.unique;
    json["epochs"] = std::max(1.0, allocation.tokens / options.unique);
    json["worth_tokens"] = effective_tokens(allocation.tokens, options.unique);
    result.loss = [&options](double parameters) {
      return constrained_loss(parameters, options.operations / 6 / parameters,
                              options.unique);
    };
  } else {
    json["law"] = options.law;
    const bool kaplan = options.law == "kaplan";
    const ScalingLaw law = options.law == "chinchilla" ? chinchilla_printed()
                                                       : chinchilla_refitted();
    allocation = kaplan ? kaplan_optimum(options.operations)
                        : optimum(law, options.operations);
    json.update(to_json(allocation));
    if (kaplan)
      json["critical_batch_tokens"] = kaplan_critical_batch(allocation.loss);
    result.loss = loss_of(options, law);
    if (kaplan)
      result.loss = [&options](double parameters) {
        return kaplan_loss(parameters, options.operations / 6 / parameters);
      };
  }
  if (options.rate > 0)
    json["days"] = options.operations / options.rate / 86400;
  return result;
}

static std::string short_text(const Json &value) {
  if (!value.is_number())
    return value.get<std::string>();
  char number[32];
  std::snprintf(number, sizeof number, "%.4g", value.get<double>());
  return number;
}

/// What is best, and what other sizes lose for as many operations.
static void write_html(const Options &options, const Answer &answer) {
  std::vector<std::vector<std::string>> rows = {{"", ""}};
  for (const auto &[key, value] : answer.json.items())
    rows.push_back({key, short_text(value)});
  std::vector<Point> points;
  for (int step = -16; step <= 16; ++step) {
    const double parameters =
        answer.best.parameters * std::exp2(double(step) / 4);
    const double loss = step ? answer.loss(parameters) : answer.best.loss;
    if (std::isfinite(loss))
      points.push_back(
          {std::log10(parameters), loss,
           short_text(parameters) + " parameters: loss " + short_text(loss),
           step == 0});
  }
  write_page(
      options.html,
      "batonc plan scale --flops " + short_text(options.operations),
      {{"The best size", "", html_table(rows)},
       {"Other sizes, for as many operations",
        "Smaller models see more tokens, larger ones fewer. Point at one "
        "for its numbers.",
        scatter(points, "decimal logarithm of parameters", "loss",
                Axes::linear)}});
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
  command
      ->add_option("--html", options->html,
                   "a page with the losses of other sizes, too")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options] {
    const Answer result = answer(*options);
    if (!options->html.empty())
      write_html(*options, result);
    if (options->json) {
      print(text_of(result.json));
      return;
    }
    std::string text;
    for (const auto &[key, value] : result.json.items())
      text +=
          key + std::string(23 - key.size(), ' ') + short_text(value) + "\n";
    print(text);
  });
}
