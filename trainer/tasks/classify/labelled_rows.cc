#include "trainer/tasks/classify/labelled_rows.h"

#include <algorithm>
#include <cmath>

#include "trainer/common/text_list.h"

namespace bp::trainer {

double LabelledRows::loss_of(std::size_t row, double least) const {
  const std::span<const float> own = shares_of(row);
  const std::span<const int> answer = answers.of(row);
  if (!several) {
    return -std::log(std::max(double{own[static_cast<std::size_t>(answer.front())]}, least));
  }
  double loss = 0;
  for (std::size_t k = 0; k < own.size(); ++k) {
    const bool yes = std::ranges::binary_search(answer, static_cast<int>(k));
    loss -= std::log(std::max(yes ? double{own[k]} : 1 - double{own[k]}, least));
  }
  return loss / static_cast<double>(own.size());
}

std::string LabelledRows::names(std::span<const int> of_row) const {
  return list_of(of_row, {&separator, 1},
                 [&](int label) { return labels[static_cast<std::size_t>(label)]; });
}

ClassProbabilities LabelledRows::probabilities() const {
  ClassProbabilities given{.shares = shares, .classes = labels.size()};
  for (std::size_t row = 0; row < answers.size(); ++row) {
    given.labels.push_back(answers.of(row).empty() ? -1 : answers.of(row).front());
  }
  return given;
}

}  // namespace bp::trainer
