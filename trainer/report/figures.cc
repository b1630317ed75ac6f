#include "trainer/report/figures.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "trainer/common/text_list.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {

void add(std::vector<Figure>& sums, const std::vector<Figure>& more) {
  for (const Figure& figure : more) {
    const auto found = std::ranges::find(sums, figure.name, &Figure::name);
    if (found == sums.end()) {
      sums.push_back(figure);
      continue;
    }
    found->sum += figure.sum;
    found->weight += figure.weight;
  }
}

void add(std::vector<EpochFigures>& epochs, const std::vector<Figure>& more, double epoch) {
  const bool complete = epochs.empty() || epochs.back().epoch == std::floor(epochs.back().epoch);
  if (complete) epochs.emplace_back();
  epochs.back().epoch = epoch;
  add(epochs.back().sums, more);
}

FigureMeans means_of(const std::vector<Figure>& sums) {
  FigureMeans means;
  for (const Figure& figure : sums) {
    if (figure.weight != 0) means.emplace_back(figure.name, figure.sum / figure.weight);
  }
  return means;
}

std::string text_of(const FigureMeans& means) {
  return list_of(means, ", ", [](const auto& mean) {
    constexpr int kDigits = 4;
    return concat(mean.first, ' ', fixed(mean.second, kDigits));
  });
}

}  // namespace bp::trainer
