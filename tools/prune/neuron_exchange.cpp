//===- neuron_exchange.cpp - neurons that change places -------------------===//

#include "tools/prune/neuron_exchange.h"

#include <Eigen/Cholesky>

#include <algorithm>

namespace baton {

namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

/// The moments G of all neurons, swept (Goodnight, "A Tutorial on the SWEEP
/// Operator", 1979) on those that stay, S; R are the others:
///
///   A_SS = -G_SS^-1,  A_SR = G_SS^-1 G_SR,  A_RR = G_RR - G_RS A_SR.
///
/// Of the rows E, which are the weights of S by least squares, and what outputs
/// that are left have in common with each neuron of R, there are the products
/// P = E E^T alone. To remove i loses P_ii / -A_ii, to add j wins P_jj / A_jj.
class Exchanges {
public:
  Exchanges(const Matrix &moments, const Matrix &weights,
            const std::vector<bool> &is_gone);

  /// Makes the best one, if it is worth it.
  bool exchange_one();
  const std::vector<bool> &gone() const { return is_gone; }

private:
  struct Pair {
    Eigen::Index removed = -1, added = -1;
    double change = 0;
  };
  Pair best() const;
  void sweep(Eigen::Index p);

  Matrix a, p;
  std::vector<bool> is_gone;
  /// What is lost now, and what it would be without any neuron.
  double lost, all;
};

Exchanges::Exchanges(const Matrix &moments, const Matrix &weights,
                     const std::vector<bool> &is_gone)
    : a(moments), is_gone(is_gone) {
  std::vector<Eigen::Index> kept, rest;
  for (Eigen::Index j = 0; j < moments.rows(); ++j)
    (is_gone[static_cast<size_t>(j)] ? rest : kept).push_back(j);
  const Matrix targets = moments * weights.transpose();
  all = targets.cwiseProduct(weights.transpose()).sum();
  const Eigen::LLT<Matrix> factors(moments(kept, kept));
  const auto size = static_cast<Eigen::Index>(kept.size());
  a(kept, kept) = -factors.solve(Matrix::Identity(size, size));
  const Matrix shares = factors.solve(moments(kept, rest));
  a(kept, rest) = shares;
  a(rest, kept) = shares.transpose();
  a(rest, rest) -= moments(rest, kept) * shares;
  Matrix rows = targets;
  const Matrix solved = factors.solve(targets(kept, Eigen::all));
  rows(kept, Eigen::all) = solved;
  rows(rest, Eigen::all) -= moments(rest, kept) * solved;
  lost = all - targets(kept, Eigen::all).cwiseProduct(solved).sum();
  p = rows * rows.transpose();
}

/// Of each pair it is known what an exchange would change.
Exchanges::Pair Exchanges::best() const {
  Pair best;
  for (Eigen::Index j = 0; j < a.rows(); ++j) {
    if (!is_gone[static_cast<size_t>(j)])
      continue;
    const double won = p(j, j) / a(j, j);
    for (Eigen::Index i = 0; i < a.rows(); ++i) {
      if (is_gone[static_cast<size_t>(i)])
        continue;
      // Once j is there, i has other weights, and is less missed.
      const double share = a(i, j) / a(j, j);
      const double squares =
          p(i, i) - 2 * share * p(i, j) + share * share * p(j, j);
      const double change =
          std::max(0.0, squares) / (a(i, j) * share - a(i, i)) - won;
      if (change < best.change)
        best = {i, j, change};
    }
  }
  return best;
}

/// Adds a neuron that is gone, or removes one that is there.
void Exchanges::sweep(Eigen::Index pivot) {
  const double diagonal = a(pivot, pivot), square = p(pivot, pivot);
  const double sign = is_gone[static_cast<size_t>(pivot)] ? 1 : -1;
  const Vector column = a.col(pivot);
  Vector shares = column / diagonal;
  shares[pivot] = 0;
  const Vector own = p.col(pivot) - square * shares;
  const Vector half = p.col(pivot) - square / 2 * shares;
  p.noalias() -= shares * half.transpose();
  p.noalias() -= half * shares.transpose();
  p.col(pivot) = sign / diagonal * own;
  p.row(pivot) = p.col(pivot).transpose();
  p(pivot, pivot) = square / (diagonal * diagonal);
  a.noalias() -= shares * column.transpose();
  a.col(pivot) = sign * shares;
  a.row(pivot) = a.col(pivot).transpose();
  a(pivot, pivot) = -1 / diagonal;
  is_gone[static_cast<size_t>(pivot)] = !is_gone[static_cast<size_t>(pivot)];
}

bool Exchanges::exchange_one() {
  // What is less than this is rounding.
  constexpr double nothing = 1e-12, worth = 1e-4;
  if (lost <= nothing * all)
    return false;
  const Pair pair = best();
  if (pair.change > -worth * lost || pair.added < 0)
    return false;
  sweep(pair.added);
  sweep(pair.removed);
  lost += pair.change;
  return true;
}

} // namespace

uint64_t exchange_neurons(const Matrix &moments, const Matrix &weights,
                          uint64_t most, std::vector<bool> &is_gone) {
  const auto count = std::count(is_gone.begin(), is_gone.end(), true);
  if (most == 0 || count == 0 || count == moments.rows())
    return 0;
  Exchanges exchanges(moments, weights, is_gone);
  uint64_t made = 0;
  while (made < most && exchanges.exchange_one())
    ++made;
  is_gone = exchanges.gone();
  return made;
}

} // namespace baton
