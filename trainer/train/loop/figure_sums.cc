#include "trainer/train/loop/figure_sums.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "base/refuse.h"
#include "base/text.h"
#include "bp/collective.h"

namespace bp::trainer {
namespace {

void empty(std::vector<Figure>& figures) {
  for (Figure& figure : figures) figure = {figure.name};
}

}  // namespace

FigureSums::FigureSums(std::vector<std::string> names) {
  for (std::string& name : names) step_.push_back({std::move(name)});
  total_ = step_;
}

void FigureSums::add(const std::vector<Figure>& figures) {
  for (const Figure& figure : figures) {
    const auto found = std::ranges::find(step_, figure.name, &Figure::name);
    if (found == step_.end()) {
      refuse(concat("a step reports the figure '", figure.name,
                    "', which is not among the figures that its task declares"));
    }
    if (!(figure.weight >= 0)) {
      refuse(concat("the figure '", figure.name, "' has the weight ", figure.weight,
                    ", which is negative or NaN"));
    }
    found->sum += figure.sum;
    found->weight += figure.weight;
  }
}

void FigureSums::end_step(bool skipped) {
  if (step_.empty()) return;
  pending_ = true;
  for (std::size_t i = 0; i < step_.size(); ++i) {
    if (skipped && !std::isfinite(step_[i].sum)) continue;
    total_[i].sum += step_[i].sum;
    total_[i].weight += step_[i].weight;
  }
  empty(step_);
}

std::vector<Figure> FigureSums::exchange(Communicator& world) {
  std::vector<double> sums;
  for (const Figure& figure : total_) sums.insert(sums.end(), {figure.sum, figure.weight});
  if (!sums.empty()) {
    all_reduce(world, view(std::span(sums)), {.op = ReduceOp::sum, .name = "figures"});
  }
  std::vector<Figure> result = total_;
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].sum = sums[2 * i];
    result[i].weight = sums[2 * i + 1];
  }
  empty(total_);
  pending_ = false;
  return result;
}

}  // namespace bp::trainer
