#include "trainer/tasks/softmax.h"

#include <algorithm>
#include <cmath>

namespace bp::trainer {
namespace {

double sum_of_exponentials(std::span<const float> logits, float highest) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit} - highest);
  return sum;
}

}  // namespace

void append_probabilities(std::span<const float> logits, std::vector<float>& to) {
  const float highest = *std::ranges::max_element(logits);
  const double sum = sum_of_exponentials(logits, highest);
  for (const float logit : logits) {
    to.push_back(static_cast<float>(std::exp(double{logit} - highest) / sum));
  }
}

double cross_entropy(std::span<const float> logits, std::size_t answer) {
  const float highest = *std::ranges::max_element(logits);
  return std::log(sum_of_exponentials(logits, highest)) - (double{logits[answer]} - highest);
}

}  // namespace bp::trainer
