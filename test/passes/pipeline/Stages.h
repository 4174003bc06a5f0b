//===- Stages.h - all stages of a pipeline, by their tables ---------------===//
//
// Interprets a partitioned program in F64. A stage executes its table, with a
// store of its own for each microbatch in flight, and waits for messages.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_PASSES_PIPELINE_STAGES_H
#define BATON_TEST_PASSES_PIPELINE_STAGES_H

#include "../sharding/Ranks.h"

#include <deque>
#include <memory>
#include <tuple>

namespace baton::pipeline::test {

using sharding::test::Ranks;
using sharding::test::Tensor;

/// One microbatch at one position.
class Microbatch : public Ranks {
public:
  using Parts = Ranks::Parts;

  /// `arguments` are those of all microbatches.
  Microbatch(model::ProgramOp program, int64_t sequences, int64_t length,
             const std::vector<Tensor> &arguments, int64_t index,
             int64_t position);

  /// A phase, from the messages that it receives to those that it sends.
  void run(Phase phase, std::deque<Parts> &received, std::vector<Parts> &sent);

  /// Gradients, and at the end of the model the losses.
  using Ranks::outcome;

private:
  dist::StageOp stage;
};

class Stages {
public:
  /// `sequences` of a microbatch.
  Stages(model::ProgramOp program, int64_t sequences, int64_t length)
      : program(program), sequences(sequences), length(length) {}

  /// Losses and gradients of a step.
  std::map<std::string, Tensor> run();

  /// What went wrong; see `Ranks::problem`.
  std::string problem;
  /// Of each stage, the most microbatches that it kept at a time.
  std::vector<int64_t> inFlight;
  /// An op that is forgotten: a sum of gradients.
  mlir::Operation *forgotten = nullptr;

private:
  /// From a stage to another, activations or gradients.
  using Channel = std::tuple<int, int, bool>;
  struct Message {
    int microbatch, position;
    std::deque<Microbatch::Parts> values;
  };
  using Gradients = std::map<std::string, Tensor>;

  bool execute(int stage, const Step &step);
  void sumGradients();

  model::ProgramOp program;
  int64_t sequences, length;
  Schedule schedule;
  std::vector<Tensor> arguments;
  std::map<Channel, std::deque<Message>> channels;
  std::map<std::tuple<int, int, int>, std::unique_ptr<Microbatch>> live;
  std::vector<Gradients> gradients;
  std::map<int, Tensor> losses;
};

} // namespace baton::pipeline::test

#endif // BATON_TEST_PASSES_PIPELINE_STAGES_H
