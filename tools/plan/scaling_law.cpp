//===- scaling_law.cpp - how large a model, and on how many tokens --------===//

#include "tools/plan/scaling_law.h"

#include "tools/plan/facts.h"
#include "tools/plan/minimum.h"

#include <algorithm>
#include <cmath>

using namespace baton;
using namespace baton::plan;

double ScalingLaw::loss(double parameters, double tokens) const {
  return E + A / std::pow(parameters, alpha) + B / std::pow(tokens, beta);
}

ScalingLaw plan::chinchilla_printed() {
  return {1.69, 406.4, 410.7, 0.34, 0.28};
}

ScalingLaw plan::chinchilla_refitted() {
  return {1.8172, 482.01, 2085.43, 0.3478, 0.3658};
}

ScalingLaw plan::data_constrained() { return {1.87, 521, 1488, .353, .353}; }

Allocation plan::optimum(const ScalingLaw &law, double operations) {
  const double both = law.alpha + law.beta;
  const double ratio =
      std::pow(law.alpha * law.A / (law.beta * law.B), 1 / both);
  Allocation best;
  best.parameters = ratio * std::pow(operations / 6, law.beta / both);
  best.tokens = operations / 6 / best.parameters;
  best.loss = law.loss(best.parameters, best.tokens);
  return best;
}

double plan::kaplan_loss(double parameters, double tokens) {
  constexpr double Nc = 8.8e13, Dc = 5.4e13, aN = .076, aD = .095;
  return std::pow(std::pow(Nc / parameters, aN / aD) + Dc / tokens, aD);
}

Allocation plan::kaplan_optimum(double operations) {
  auto loss = [&](double parameters) {
    return kaplan_loss(parameters, operations / 6 / parameters);
  };
  Allocation best;
  best.parameters =
      std::exp(minimum(0, std::log(operations / 6),
                       [&](double at) { return loss(std::exp(at)); }));
  best.tokens = operations / 6 / best.parameters;
  best.loss = loss(best.parameters);
  return best;
}

double plan::kaplan_critical_batch(double loss) {
  return 2e8 * std::pow(loss, -1 / .21);
}

static double worn(double amount, double fresh, double half_life) {
  const double repetitions = amount / fresh - 1;
  if (repetitions <= 0)
    return amount;
  return fresh + fresh * half_life * (1 - std::exp(-repetitions / half_life));
}

double plan::effective_tokens(double tokens, double unique) {
  return worn(tokens, unique, 15.39);
}

double plan::effective_parameters(double parameters, double best) {
  return worn(parameters, best, 5.31);
}

double plan::constrained_loss(double parameters, double tokens, double unique) {
  const ScalingLaw law = data_constrained();
  // The size that is best for the different tokens, seen once.
  const double both = law.alpha + law.beta;
  const double ratio =
      std::pow(law.alpha * law.A / (law.beta * law.B), 1 / both);
  const double best_size = std::pow(ratio, both / law.alpha) *
                           std::pow(unique, law.beta / law.alpha);
  return law.loss(effective_parameters(parameters, best_size),
                  effective_tokens(tokens, unique));
}

Allocation plan::constrained_optimum(double operations, double unique) {
  auto loss = [&](double parameters) {
    return constrained_loss(parameters, operations / 6 / parameters, unique);
  };
  Allocation best;
  best.parameters =
      std::exp(minimum(0, std::log(operations / 6),
                       [&](double at) { return loss(std::exp(at)); }));
  best.tokens = operations / 6 / best.parameters;
  best.loss = loss(best.parameters);
  return best;
}

AnswerLaw plan::read_answer_law(const std::string &file) {
  Facts facts(file);
  AnswerLaw law;
  law.law = {facts.not_negative("E"), facts.positive("A"), facts.positive("B"),
             facts.positive("alpha"), facts.positive("beta")};
  law.slope = facts.positive("slope");
  law.offset = facts.not_negative("offset");
  law.concentration = facts.positive("concentration");
  facts.finish();
  return law;
}

double plan::pass_at(double k, double a, double b) {
  // 1 - B(a, b + k) / B(a, b).
  return -std::expm1(std::lgamma(b + k) - std::lgamma(a + b + k) -
                     std::lgamma(b) + std::lgamma(a + b));
}

double plan::tokens_beside_answers(double operations, double parameters,
                                   double questions, double answer_tokens,
                                   double answers) {
  const double asked = 2 * questions * answer_tokens * answers;
  return (operations - asked * parameters) / (6 * parameters);
}

AnswerPlan plan::train_to_test(const AnswerLaw &law, double operations,
                               double questions, double answer_tokens,
                               double most) {
  AnswerPlan best;
  // Answers in steps of a tenth, so that few are tried of many.
  for (double k = 1; k <= most; k = std::max(k + 1, std::floor(k * 1.1))) {
    const double asked = 2 * questions * answer_tokens * k;
    // Below this there is nothing to answer with, above nothing to train with.
    auto tokens = [&](double parameters) {
      return tokens_beside_answers(operations, parameters, questions,
                                   answer_tokens, k);
    };
    const double largest =
        std::min(operations / 6, asked > 0 ? operations / asked : operations);
    if (largest <= 1)
      break;
    auto loss = [&](double at) {
      const double parameters = std::exp(at);
      const double left = tokens(parameters);
      return left > 1 ? law.law.loss(parameters, left) : 1e9 + at;
    };
    const double parameters = std::exp(minimum(0, std::log(largest), loss));
    const double reached = loss(std::log(parameters));
    const double mean = 1 / (1 + std::exp(law.slope * reached - law.offset));
    const double solved =
        pass_at(k, mean * law.concentration, (1 - mean) * law.concentration);
    if (solved > best.solved)
      best = {{parameters, tokens(parameters), reached}, k, solved};
  }
  return best;
}
