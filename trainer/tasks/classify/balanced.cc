#include "trainer/tasks/classify/balanced.h"

#include <cstddef>
#include <cstdint>

#include "trainer/tasks/classify/class_input.h"

namespace bp::trainer {

std::vector<double> balanced_classes(const SampleStore& store) {
  std::vector<double> counts(store.names().size());
  for (const std::int64_t label : store.integers(Split::train, kLabelArray)) {
    if (label >= 0) ++counts[static_cast<std::size_t>(label)];
  }
  double all = 0;
  for (const double count : counts) all += count;
  std::vector<double> weights;
  for (const double count : counts) {
    weights.push_back(count == 0 ? 1 : all / (static_cast<double>(counts.size()) * count));
  }
  return weights;
}

std::vector<double> balanced_answers(const SampleStore& store) {
  std::vector<double> counts(store.names().size());
  const std::int64_t samples = store.size(Split::train);
  for (std::int64_t i = 0; i < samples; ++i) {
    const Sample sample = store.load(Split::train, i);
    for (const std::int64_t label : sample.arrays[kLabelArray].integers) {
      ++counts[static_cast<std::size_t>(label)];
    }
  }
  std::vector<double> weights;
  for (const double count : counts) {
    const double others = static_cast<double>(samples) - count;
    weights.push_back(count == 0 || others == 0 ? 1 : others / count);
  }
  return weights;
}

}  // namespace bp::trainer
