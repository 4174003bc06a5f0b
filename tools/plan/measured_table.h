//===- measured_table.h - training steps that somebody measured -----------===//

#ifndef BATON_TOOLS_PLAN_MEASURED_TABLE_H
#define BATON_TOOLS_PLAN_MEASURED_TABLE_H

#include "tools/plan/decoder.h"

#include <filesystem>
#include <vector>

namespace baton::plan {

/// GPT-2's words, filled up to a multiple of 1024, as Megatron-LM has them for
/// eight ranks: what vTrain's columns do not tell.
inline constexpr int64_t usual_vocabulary = 51200;

struct MeasuredStep {
  /// Of the file, counted from 1.
  int64_t line = 0;
  Decoder decoder;
  Split split;
  double seconds = 0;
  /// Bytes that were allocated; 0 where nobody says.
  double memory = 0;
};

struct MeasuredTable {
  std::vector<MeasuredStep> steps;
  /// Lines that are left out, and why.
  std::vector<std::string> skipped;
  /// What is said of all rows: the file's name, and lines that begin with #.
  std::string about;
  /// Whose columns it has: SimuMax's, or vTrain's.
  bool has_cases = false;
};

/// A CSV file with vTrain's columns, in any order: GPUs, global batch, micro
/// batch, hidden size, attention heads, layers, sequence length, tensor, data
/// and pipeline parallelism, and the iteration time (ms). Other columns are not
/// read; lines before the names, and empty ones, say nothing; nor do lines that
/// begin with #. Or one with SimuMax's: case, measured_ms, measured_alloc_gib;
/// a case is as llama3_70b_l12_tp1_pp2_dp4_mbc4, with microbatches of one
/// sequence of 4096 tokens, or as many as seq says; cases of mixtures and of
/// context parallel ranks are left out. `vocabulary` is for vTrain's. Throws
/// Error that names the file, the line and the column.
MeasuredTable read_measured_table(const std::filesystem::path &file,
                                  int64_t vocabulary);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_MEASURED_TABLE_H
