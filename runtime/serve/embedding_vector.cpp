//===- embedding_vector.cpp - what becomes of hidden states ---------------===//

#include "runtime/serve/embedding_vector.h"

#include <boost/archive/iterators/base64_from_binary.hpp>
#include <boost/archive/iterators/transform_width.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

namespace baton {

static_assert(std::endian::native == std::endian::little);

static double length_of(std::span<const float> vector, int32_t length) {
  double most = 0, sum = 0;
  for (float element : vector)
    most = std::max(most, std::abs(double(element)));
  if (length == VectorLength::largest)
    return most / 32760;
  if (length < 0 || most == 0)
    return length < 0 ? 1 : 0;
  // Powers of large elements would leave the range.
  for (float element : vector)
    sum += std::pow(std::abs(double(element)) / most, length);
  return most * std::pow(sum, 1.0 / length);
}

std::vector<float> normalized(std::span<const float> vector, int32_t length) {
  std::vector<float> result(vector.begin(), vector.end());
  const double whole = length_of(vector, length);
  if (whole > 0)
    for (float &element : result)
      element = static_cast<float>(double(element) / whole);
  return result;
}

double cosine(std::span<const float> left, std::span<const float> right) {
  double product = 0, lefts = 0, rights = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    product += double(left[i]) * double(right[i]);
    lefts += double(left[i]) * double(left[i]);
    rights += double(right[i]) * double(right[i]);
  }
  if (lefts == 0 || rights == 0)
    return 0;
  return std::clamp(product / std::sqrt(lefts) / std::sqrt(rights), -1.0, 1.0);
}

std::string base64_of(std::span<const float> vector) {
  using namespace boost::archive::iterators;
  const std::span bytes = std::as_bytes(vector);
  const char *begin = reinterpret_cast<const char *>(bytes.data());
  using Letters = base64_from_binary<transform_width<const char *, 6, 8>>;
  std::string text(Letters(begin), Letters(begin + bytes.size()));
  text.append((3 - bytes.size() % 3) % 3, '=');
  return text;
}

} // namespace baton
