//===- Stages.cpp - all stages of a pipeline, by their tables -------------===//

#include "Stages.h"

using namespace mlir;
using namespace baton;
using namespace baton::pipeline;
using namespace baton::pipeline::test;

//===----------------------------------------------------------------------===//
// One microbatch
//===----------------------------------------------------------------------===//

static dist::StageOp findStage(model::ProgramOp program, int64_t position) {
  return dist::findSchedule(program).findStage(position);
}

Microbatch::Microbatch(model::ProgramOp program, int64_t sequences,
                       int64_t length, const std::vector<Tensor> &arguments,
                       int64_t index, int64_t position)
    : Ranks(program, sequences, length), stage(findStage(program, position)) {
  size_t place =
      llvm::find(stage.getPositions(), position) - stage.getPositions().begin();
  layerOffset = stage.getOffsets()[place];
  int64_t rows = sequences * length;
  for (auto [argument, whole] :
       llvm::zip(program.getBody().getArguments(), arguments)) {
    Tensor part({rows});
    std::copy_n(whole.data.begin() + index * rows, rows, part.data.begin());
    set(argument, cut(argument, part));
  }
}

void Microbatch::run(Phase phase, std::deque<Parts> &received,
                     std::vector<Parts> &sent) {
  bool isHere = false;
  for (Operation &op : stage.getBody().front()) {
    if (auto begins = dyn_cast<dist::PhaseOp>(op)) {
      isHere = int(begins.getPhase()) == int(phase);
      continue;
    }
    if (!isHere || !problem.empty())
      continue;
    if (auto receive = dyn_cast<dist::ReceiveOp>(op)) {
      set(receive.getResult(), received.front());
      received.pop_front();
      check(receive.getResult());
    } else if (auto send = dyn_cast<dist::SendOp>(op)) {
      sent.push_back(values.find(send.getX())->second);
    } else if (isa<dist::StageEndOp>(op)) {
      // Losses are there since the forward phase.
      for (Value loss : op.getOperands())
        outcome["loss"] = mesh ? assemble(loss) : values[loss].front();
    } else {
      runOp(op, 0);
    }
  }
}

//===----------------------------------------------------------------------===//
// All stages
//===----------------------------------------------------------------------===//

/// Whether a step could be executed: its message is there.
bool Stages::execute(int stage, const Step &step) {
  int position = schedule.positionOf(stage, step.chunk);
  bool isForward = step.phase == Phase::forward;
  int before = position + (isForward ? -1 : 1);
  int after = position + (isForward ? 1 : -1);
  bool isGradient = !isForward;
  auto isThere = [&](int other) {
    return other >= 0 && other < schedule.countPositions();
  };
  std::deque<Microbatch::Parts> received;
  if (step.phase != Phase::weight && isThere(before)) {
    auto &channel = channels[{schedule.stageOf(before), stage, isGradient}];
    if (channel.empty() || channel.front().microbatch != step.microbatch ||
        channel.front().position != position)
      return false;
    received = channel.front().values;
    channel.pop_front();
  }
  auto &microbatch = live[{stage, step.microbatch, step.chunk}];
  if (isForward)
    microbatch = std::make_unique<Microbatch>(
        program, sequences, length, arguments, step.microbatch, position);
  int64_t count = llvm::count_if(
      live, [&](auto &entry) { return std::get<0>(entry.first) == stage; });
  inFlight[stage] = std::max(inFlight[stage], count);
  std::vector<Microbatch::Parts> sent;
  microbatch->run(step.phase, received, sent);
  if (!microbatch->problem.empty())
    problem = microbatch->problem;
  if (!received.empty())
    problem = "a message has more values than are received";
  Phase sends = schedule.fused ? Phase::weight : Phase::input;
  if (isThere(after) && (isForward || step.phase == sends))
    channels[{stage, schedule.stageOf(after), isGradient}].push_back(
        {step.microbatch, after, {sent.begin(), sent.end()}});
  else if (!sent.empty())
    problem = "a phase sends that has nobody to send to";
  for (auto &[name, tensor] : microbatch->outcome) {
    if (name == "loss") {
      losses.insert_or_assign(step.microbatch, tensor);
      continue;
    }
    Tensor &sum =
        gradients[stage].try_emplace(name, tensor.shape).first->second;
    for (auto [total, part] : llvm::zip(sum.data, tensor.data))
      total += part;
  }
  microbatch->outcome.clear();
  if (step.phase == Phase::weight)
    live.erase({stage, step.microbatch, step.chunk});
  return true;
}

void Stages::sumGradients() {
  for (auto op : program.getOps<dist::SumGradientsOp>()) {
    if (op == forgotten)
      continue;
    auto parameter = op.getParameter().getDefiningOp<model::ParameterOp>();
    std::string name = cast<StringAttr>(parameter.getSources()[0]).str();
    Tensor sum = gradients[op.getStages().front()].at(name);
    for (int64_t stage : op.getStages().drop_front())
      for (auto [total, part] :
           llvm::zip(sum.data, gradients[stage].at(name).data))
        total += part;
    for (int64_t stage : op.getStages())
      gradients[stage].at(name) = sum;
  }
}

std::map<std::string, Tensor> Stages::run() {
  schedule = dist::findSchedule(program).getSchedule();
  arguments =
      sharding::test::makeArguments(sequences * schedule.microbatches, length);
  inFlight.assign(schedule.stages, 0);
  gradients.resize(schedule.stages);
  std::vector<size_t> places(schedule.stages);
  for (bool any = true; any && problem.empty();) {
    any = false;
    // The last stage first: none may run ahead of what it is allowed.
    for (int stage = schedule.stages - 1; stage >= 0; --stage) {
      const Table &table = schedule.tables[stage];
      if (places[stage] < table.size() &&
          execute(stage, table[places[stage]])) {
        ++places[stage];
        any = true;
      }
    }
  }
  for (int stage = 0; stage < schedule.stages; ++stage)
    if (places[stage] < schedule.tables[stage].size() && problem.empty())
      problem = "stage " + std::to_string(stage) + " waits for ever";
  for (auto &[channel, messages] : channels)
    if (!messages.empty() && problem.empty())
      problem = "a message that nobody receives";
  sumGradients();
  Gradients all;
  for (Gradients &stage : gradients)
    for (auto &[name, tensor] : stage) {
      auto [found, isNew] = all.try_emplace(name, tensor);
      if (!isNew && found->second.data != tensor.data)
        problem = "stages disagree on the gradient of " + name;
    }
  Tensor &loss = all["loss"];
  for (auto &[microbatch, tensor] : losses)
    llvm::append_range(loss.data, tensor.data);
  loss.data.erase(loss.data.begin());
  loss.shape = {int64_t(loss.data.size())};
  return all;
}
