//===- divisors.cpp - into how many equal parts a number can be cut -------===//

#include "tools/plan/divisors.h"

#include <algorithm>

using namespace baton;

std::vector<int64_t> plan::divisors(int64_t number) {
  std::vector<int64_t> found;
  for (int64_t part = 1; part * part <= number; ++part)
    if (number % part == 0) {
      found.push_back(part);
      if (part != number / part)
        found.push_back(number / part);
    }
  std::sort(found.begin(), found.end());
  return found;
}
