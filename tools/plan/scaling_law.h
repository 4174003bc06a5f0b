//===- scaling_law.h - how large a model, and on how many tokens ----------===//

#ifndef BATON_TOOLS_PLAN_SCALING_LAW_H
#define BATON_TOOLS_PLAN_SCALING_LAW_H

#include <string>

namespace baton::plan {

/// Loss of a model of N parameters on D tokens: E + A / N^alpha + B / D^beta.
/// Training takes 6 N D operations.
struct ScalingLaw {
  double E = 0, A = 0, B = 0, alpha = 0, beta = 0;

  double loss(double parameters, double tokens) const;
};

/// Hoffmann et al. (2022), approach 3, as printed; its constants are rounded so
/// that the optimum is off (93 tokens a parameter at 5.76e23 operations).
ScalingLaw chinchilla_printed();
/// The same data, fitted anew by Besiroglu et al. (2024).
ScalingLaw chinchilla_refitted();
/// Muennighoff et al. (2023), for data that repeats.
ScalingLaw data_constrained();

struct Allocation {
  double parameters = 0, tokens = 0, loss = 0;
};

/// The least loss for so many operations, in closed form.
Allocation optimum(const ScalingLaw &law, double operations);

/// Kaplan et al. (2020): (Nc / N)^(aN / aD) + Dc / D, to the power of aD.
double kaplan_loss(double parameters, double tokens);
Allocation kaplan_optimum(double operations);
/// Tokens of a batch above which more of them save few steps.
double kaplan_critical_batch(double loss);

/// What tokens are worth where only so many are different: U + U R* (1 - exp(-R
/// / R*)) of R repetitions.
double effective_tokens(double tokens, double unique);
/// Likewise parameters beyond those that are best for the different tokens.
double effective_parameters(double parameters, double best);
/// The loss where only so many tokens are different.
double constrained_loss(double parameters, double tokens, double unique);
Allocation constrained_optimum(double operations, double unique);

/// Answers to questions, several for each of which one has to be right. The
/// chance that an answer to a question is right is Beta distributed, with a
/// mean that falls with the loss: 1 / (1 + exp(slope loss - offset)), and a
/// concentration. The form is ours; the coefficients are the user's.
struct AnswerLaw {
  ScalingLaw law;
  double slope = 0, offset = 0, concentration = 0;
};

/// Of a JSON file with E, A, B, alpha, beta, slope, offset and concentration.
/// Throws Error.
AnswerLaw read_answer_law(const std::string &file);

/// The chance that one of k answers is right, of Beta(a, b).
double pass_at(double k, double a, double b);

/// Tokens to train on, of all operations but those of `answers` answers to each
/// question; below 0 where these alone take more.
double tokens_beside_answers(double operations, double parameters,
                             double questions, double answer_tokens,
                             double answers);

struct AnswerPlan {
  Allocation allocation;
  double answers = 1, solved = 0;
};

/// The most questions solved for so many operations, 6 N D of training and 2 N
/// for each token of an answer to `questions` questions; up to `most` answers
/// each.
AnswerPlan train_to_test(const AnswerLaw &law, double operations,
                         double questions, double answer_tokens, double most);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_SCALING_LAW_H
