//===- neuron_choice.cpp - which neurons of an MLP stay -------------------===//

#include "tools/prune/neuron_choice.h"

#include "runtime/error.h"
#include "tools/prune/neuron_exchange.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace baton {

namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
/// As checkpoints have matrices.
template <typename Number>
using RowMajor =
    Eigen::Matrix<Number, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Changes of matrices are made by products of so many columns at once, which
/// takes a fraction of the time of one by one.
constexpr Eigen::Index block = 64;

/// A column of a symmetric matrix of which only the lower triangle is there.
Vector column_of(const Matrix &lower, Eigen::Index j) {
  Vector column(lower.rows());
  column.head(j) = lower.row(j).head(j).transpose();
  column.tail(lower.rows() - j) = lower.col(j).tail(lower.rows() - j);
  return column;
}

/// Backward elimination. With H = G^-1 and M = W^T W, of the weights as they
/// are by then, removing neuron p loses M_pp / H_pp. Afterwards, with
/// u = H_p / sqrt(H_pp),
///
///   H becomes H - u u^T, and M becomes M - v u^T - u v^T,
///
/// v = M_p / sqrt(H_pp) - (M_pp / H_pp / 2) u. Both matrices lag behind by the
/// columns u and v of a block; their diagonals do not.
class Elimination {
public:
  Elimination(Matrix inverse, Matrix products)
      : h(std::move(inverse)), m(std::move(products)), h_diagonal(h.diagonal()),
        m_diagonal(m.diagonal()), u(h.rows(), block), v(h.rows(), block),
        is_gone(h.rows(), false) {}

  void remove_one();
  bool has_gone(Eigen::Index neuron) const { return is_gone[neuron]; }

private:
  Eigen::Index cheapest() const;
  void catch_up();

  Matrix h, m;
  Vector h_diagonal, m_diagonal;
  Matrix u, v;
  Eigen::Index pending = 0;
  std::vector<bool> is_gone;
};

Eigen::Index Elimination::cheapest() const {
  Eigen::Index best = -1;
  double least = std::numeric_limits<double>::infinity();
  for (Eigen::Index j = 0; j < h.rows(); ++j) {
    if (is_gone[j])
      continue;
    // Rounding may have made what is 0 negative.
    const double loss = std::max(0.0, m_diagonal[j]) / h_diagonal[j];
    if (best < 0 || loss < least) {
      best = j;
      least = loss;
    }
  }
  return best;
}

void Elimination::remove_one() {
  const Eigen::Index p = cheapest();
  const auto us = u.leftCols(pending), vs = v.leftCols(pending);
  const double root = std::sqrt(h_diagonal[p]);
  Vector next = column_of(h, p);
  next.noalias() -= us * us.row(p).transpose();
  next /= root;
  Vector other = column_of(m, p);
  other.noalias() -= vs * us.row(p).transpose();
  other.noalias() -= us * vs.row(p).transpose();
  other /= root;
  other -= (m_diagonal[p] / h_diagonal[p] / 2) * next;
  // Of what is gone nothing is left.
  for (Eigen::Index j = 0; j < h.rows(); ++j)
    if (is_gone[j])
      next[j] = other[j] = 0;
  h_diagonal.array() -= next.array().square();
  m_diagonal.array() -= 2 * next.array() * other.array();
  u.col(pending) = next;
  v.col(pending) = other;
  is_gone[p] = true;
  if (++pending == block)
    catch_up();
}

void Elimination::catch_up() {
  const auto us = u.leftCols(pending), vs = v.leftCols(pending);
  h.selfadjointView<Eigen::Lower>().rankUpdate(us, -1.0);
  // By products of matrices, which Eigen's update of rank two is not.
  for (Eigen::Index first = 0; first < m.rows(); first += 512) {
    const Eigen::Index rows = std::min<Eigen::Index>(512, m.rows() - first);
    auto part = m.block(first, 0, rows, first + rows);
    part.noalias() -=
        vs.middleRows(first, rows) * us.topRows(first + rows).transpose();
    part.noalias() -=
        us.middleRows(first, rows) * vs.topRows(first + rows).transpose();
  }
  pending = 0;
}

} // namespace

std::vector<uint32_t> largest(std::span<const double> sizes, uint64_t keep) {
  std::vector<uint32_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return sizes[a] > sizes[b]; });
  order.resize(std::min<size_t>(keep, order.size()));
  std::sort(order.begin(), order.end());
  return order;
}

/// The least squares of those that stay, from all the data; `g` has `added` on
/// its diagonal, which does not count as lost, and `all` is tr(W G W^T).
static LeastSquaresChoice solve(const Matrix &w, const Matrix &g,
                                const std::vector<bool> &is_gone, double added,
                                double all) {
  LeastSquaresChoice choice;
  std::vector<Eigen::Index> kept, gone;
  for (size_t j = 0; j < is_gone.size(); ++j)
    if (is_gone[j]) {
      gone.push_back(static_cast<Eigen::Index>(j));
    } else {
      kept.push_back(static_cast<Eigen::Index>(j));
      choice.kept.push_back(static_cast<uint32_t>(j));
    }
  Matrix solution = w(Eigen::all, kept);
  if (!gone.empty()) {
    const Matrix within = g(kept, kept), across = g(kept, gone);
    const Matrix shares = within.llt().solve(across);
    solution.noalias() += w(Eigen::all, gone) * shares.transpose();
    Matrix change = -w;
    change(Eigen::all, kept) = solution - w(Eigen::all, kept);
    const double lost =
        (change * g).cwiseProduct(change).sum() - added * change.squaredNorm();
    choice.loss = all > 0 ? std::max(0.0, lost) / all : 0;
  }
  const RowMajor<float> rounded = solution.cast<float>();
  choice.weights.assign(rounded.data(), rounded.data() + rounded.size());
  return choice;
}

LeastSquaresChoice choose_by_least_squares(std::span<const float> weights,
                                           std::span<const double> moments,
                                           uint64_t neurons, uint64_t keep,
                                           double damping, uint64_t exchanges) {
  const auto n = static_cast<Eigen::Index>(neurons);
  const auto outputs = static_cast<Eigen::Index>(weights.size() / neurons);
  const Matrix w = Eigen::Map<const RowMajor<float>>(weights.data(), outputs, n)
                       .cast<double>();
  Matrix g = Eigen::Map<const Matrix>(moments.data(), n, n);
  const double all = (w * g).cwiseProduct(w).sum();
  // A layer that no text has reached has zeros only.
  const double mean = g.diagonal().mean();
  const double added = mean > 0 ? damping * mean : 1.0;
  g.diagonal().array() += added;
  std::vector<bool> is_gone(neurons, false);
  {
    const Eigen::LLT<Matrix> factors(g);
    if (factors.info() != Eigen::Success)
      throw Error("the second moments of the neurons are not positive "
                  "definite; use more text (--windows) or a larger --damping");
    Elimination elimination(factors.solve(Matrix::Identity(n, n)),
                            w.transpose() * w);
    for (uint64_t i = keep; i < neurons; ++i)
      elimination.remove_one();
    for (uint64_t j = 0; j < neurons; ++j)
      is_gone[j] = elimination.has_gone(static_cast<Eigen::Index>(j));
  }
  // Elimination has come to the same with more rounding.
  LeastSquaresChoice choice = solve(w, g, is_gone, added, all);
  if (const uint64_t made = exchange_neurons(g, w, exchanges, is_gone)) {
    LeastSquaresChoice other = solve(w, g, is_gone, added, all);
    other.exchanges = made;
    if (other.loss < choice.loss)
      return other;
  }
  return choice;
}

} // namespace baton
