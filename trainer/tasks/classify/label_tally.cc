#include "trainer/tasks/classify/label_tally.h"

namespace bp::trainer {
LabelTally::LabelTally(std::size_t labels) : labels_(labels), values_(place(labels)) {}

void LabelTally::add(const Result& result) {
  ClassCounts all;
  for (std::size_t label = 0; label < labels_; ++label) {
    const int is = result.answers[label] ? 1 : 0;
    const int seems = result.predictions[label] ? 1 : 0;
    std::int64_t* own = &values_[place(label)];
    all.support += is;
    all.predictions += seems;
    all.both += is & seems;
    own[0] += is;
    own[1] += seems;
    own[2] += is & seems;
  }
  ++values_[kSamples];
  if (all.support > 0) ++values_[kLabelled];
  if (all.both == all.support && all.both == all.predictions) ++values_[kExact];
  const ClassScores scores = class_scores(all);
  add(kLoss, result.loss);
  add(kPrecision, scores.precision);
  add(kRecall, scores.recall);
  add(kF1, scores.f1);
}

ClassCounts LabelTally::of_label(std::size_t label) const {
  const std::int64_t* own = &values_[place(label)];
  return {.support = own[0], .predictions = own[1], .both = own[2]};
}

void LabelTally::add(Sum sum, double number) {
  ExactSum(std::span<std::int64_t, ExactSum::kSize>(&values_[place(sum)], ExactSum::kSize))
      .add(number);
}

double LabelTally::mean(Sum sum) const {
  if (samples() == 0) return 0;
  const std::span<const std::int64_t, ExactSum::kSize> digits(&values_[place(sum)],
                                                              ExactSum::kSize);
  return ExactSum::value_of(digits) / static_cast<double>(samples());
}

}  // namespace bp::trainer
