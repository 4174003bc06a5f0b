//===- hyper.h - plain FP64 hyper-connections to judge task bodies by -----===//
//
// As operators.h. A row of streams is one stream behind the other; a row of
// maps is what is read, what is written, and, row by row, how streams mix.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_ORACLE_HYPER_H
#define BATON_TEST_ORACLE_HYPER_H

#include "test/oracle/operators.h"

namespace baton::oracle {

enum class Mixing { none, identity, free, sinkhorn };

/// How many numbers the maps of a row are.
int64_t hyper_maps_count(int64_t streams, Mixing mixing);

/// (x phi^T) / sqrt(mean(x^2) + epsilon).
Matrix hyper_project(const Matrix &x, const Matrix &phi, double epsilon);

/// A square matrix with (nearly) the row and column sums of one.
Matrix sinkhorn(const Matrix &logits, int64_t iterations, double epsilon);

Matrix hyper_maps(const Matrix &logits, const std::vector<double> &scale,
                  const std::vector<double> &base, int64_t streams,
                  Mixing mixing, int64_t iterations, double epsilon);

/// What a sublayer reads: the streams weighed by the first of the weights.
Matrix hyper_pre(const Matrix &x, const Matrix &weights, int64_t streams);

/// The streams after a sublayer that made y. `weights` are what is written and,
/// if there are more than that, how streams mix.
Matrix hyper_post(const Matrix &x, const Matrix &y, const Matrix &weights,
                  int64_t streams);

} // namespace baton::oracle

#endif // BATON_TEST_ORACLE_HYPER_H
