//===- TrainingCosts.cpp - what bodies of training programs compute -------===//
//
// Sequences of a step are known when it runs. Attention is counted as if all
// rows were one: the most that it can be.
//
//===----------------------------------------------------------------------===//

#include "compiler/explain/BodyCosts.h"

#include "llvm/ADT/StringMap.h"

using namespace baton::explain;

static BodyCost flops(double count) { return {count, {}}; }

static BodyCost product(const CallOperands &call, unsigned rows) {
  return flops(2.0 * call.integer(rows) * call.integer(rows + 1) *
               call.integer(rows + 2));
}

static BodyCost ropeTable(const CallOperands &call) {
  int64_t half = call.integer(3);
  return {5.0 * call.integer(5) * half, {{2, half}}};
}

/// Two products of a query with a key or value in the forward step, three more
/// of each pair in either adjoint.
static BodyCost attention(const CallOperands &call) {
  return flops(2.0 *
               positionsSeen(call.integer(12), call.integer(11),
                             call.integer(18), 0,
                             call.integer(11) + call.integer(12)) *
               call.integer(13) * (call.integer(14) + call.integer(15)));
}

static BodyCost queryGradient(const CallOperands &call) {
  return flops(2.0 *
               positionsSeen(call.integer(16), call.integer(15),
                             call.integer(22), 0,
                             call.integer(15) + call.integer(16)) *
               call.integer(17) * (2 * call.integer(18) + call.integer(19)));
}

/// Pairs of a tile's keys with all later rows.
static BodyCost keyValueGradient(const CallOperands &call) {
  int64_t row = call.integer(17), rows = call.integer(18),
          allRows = call.integer(19), window = call.integer(25);
  double pairs = 0;
  for (int64_t key = row; key < row + rows; ++key)
    pairs += window > 0 ? std::min(window, allRows - key) : allRows - key;
  return flops(4.0 * pairs * call.integer(20) *
               (call.integer(21) + call.integer(22)));
}

/// The product with phi, and what the norm's scale takes of every element.
static BodyCost projectGradient(const CallOperands &call) {
  return flops(2.0 * call.integer(11) * call.integer(12) *
               (call.integer(13) + 2));
}

/// Maps are made again; their adjoint takes about twice as much.
static BodyCost mapsGradient(const CallOperands &call) {
  return flops(3.0 * call.integer(10) *
               mapsCost(call.integer(11),
                        static_cast<int32_t>(call.integer(12)),
                        call.integer(13)));
}

/// For y and its weights, and, where streams mix, for streams and theirs.
static BodyCost postGradient(const CallOperands &call) {
  int64_t streams = call.integer(15);
  return flops(4.0 * call.integer(14) * streams * call.integer(16) *
               (call.integer(17) ? streams + 1 : 1));
}

/// `operations` for each of rows x width, which stand at `rows` and behind it.
template <int operations, unsigned rows>
static BodyCost elements(const CallOperands &call) {
  return flops(1.0 * operations * call.integer(rows) * call.integer(rows + 1));
}

/// The same with a number of heads between them.
template <int operations, unsigned rows>
static BodyCost heads(const CallOperands &call) {
  return flops(1.0 * operations * call.integer(rows) * call.integer(rows + 1) *
               call.integer(rows + 2));
}

std::optional<BodyCost>
baton::explain::trainingBodyCost(llvm::StringRef callee,
                                 const CallOperands &operands) {
  static const llvm::StringMap<BodyFormula> table = {
      {"product",
       {[](const CallOperands &call) { return product(call, 11); }, 15}},
      {"product_gradient",
       {[](const CallOperands &call) { return product(call, 9); }, 14}},
      {"sum_rows", {elements<1, 3>, 6}},
      {"embedding_gradient", {elements<2, 5>, 10}},
      {"rope_table_at", {ropeTable, 7}},
      {"rope_back",
       {[](const CallOperands &call) {
          return flops(6.0 * call.integer(6) * call.integer(7) *
                       call.integer(9));
        },
        10}},
      {"norm_statistics", {elements<3, 4>, 8}},
      {"norm_gradient", {elements<8, 9>, 12}},
      {"norm_weight_gradient",
       {[](const CallOperands &call) {
          return flops(4.0 * call.integer(8) * call.integer(9) *
                       call.integer(11));
        },
        13}},
      {"sequence_attention", {attention, 20}},
      {"attention_delta", {heads<2, 6>, 9}},
      {"attention_query_gradient", {queryGradient, 24}},
      {"attention_key_value_gradient", {keyValueGradient, 27}},
      {"activate_gradient", {elements<8, 6>, 9}},
      {"tanh_gradient", {elements<3, 6>, 8}},
      {"softmax_gradient", {elements<4, 6>, 8}},
      {"mask_sequences", {elements<1, 4>, 10}},
      {"gate_gradient", {heads<5, 8>, 12}},
      // Maximum, exponential, share, and what is left of the gradient.
      {"cross_entropy", {elements<8, 6>, 10}},
      {"scale_rows", {elements<1, 6>, 8}},
      {"hyper_project_gradient", {projectGradient, 14}},
      {"hyper_maps_gradient", {mapsGradient, 15}},
      {"hyper_scale_gradient",
       {[](const CallOperands &call) {
          return flops(
              2.0 * call.integer(5) *
              mapsOf(call.integer(6), static_cast<int32_t>(call.integer(7))));
        },
        9}},
      {"hyper_pre_gradient", {heads<3, 10>, 13}},
      {"hyper_post_gradient", {postGradient, 18}},
      {"sum_squares",
       {[](const CallOperands &call) {
          return flops(2.0 * static_cast<double>(call.integer(2)));
        },
        4}},
      {"sum_ranks", {elements<1, 3>, 5}},
      {"add_ranks", {elements<1, 3>, 6}},
      {"take_part", {[](const CallOperands &) { return flops(0.0); }, 7}},
      {"sum_numbers",
       {[](const CallOperands &call) {
          return flops(static_cast<double>(call.integer(4)));
        },
        5}},
      {"step_summary",
       {[](const CallOperands &call) {
          return flops(call.integer(3) + call.integer(5));
        },
        7}},
  };
  return lookUpBody(table, callee, operands);
}
