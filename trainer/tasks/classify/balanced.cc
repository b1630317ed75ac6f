#include "trainer/tasks/classify/balanced.h"

#include <cstddef>
#include <cstdint>

#include "trainer/tasks/classify/class_input.h"

namespace bp::trainer {

std::vector<double> balanced_weights(const SampleStore& store, bool several) {
  std::vector<double> counts(store.names().size());
  double all = 0;
  const auto count = [&](std::int64_t label) {
    if (label >= 0) ++counts[static_cast<std::size_t>(label)];
  };
  if (several) {
    all = static_cast<double>(store.size(Split::train));
    for (std::int64_t i = 0; i < store.size(Split::train); ++i) {
      const Sample sample = store.load(Split::train, i);
      for (const std::int64_t label : sample.arrays[kLabelArray].integers) count(label);
    }
  } else {
    for (const std::int64_t label : store.integers(Split::train, kLabelArray)) count(label);
    for (const double of_label : counts) all += of_label;
  }
  std::vector<double> weights;
  for (const double own : counts) {
    const double others = all - own;
    const double weight = several ? others / own : all / (static_cast<double>(counts.size()) * own);
    weights.push_back(own == 0 || (several && others == 0) ? 1 : weight);
  }
  return weights;
}

}  // namespace bp::trainer
