// The scores of an evaluation.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bp::trainer {

// The scores by the keys that they have in metrics.jsonl, summary.json and a checkpoint's state, in
// the order in which a task lists them. Every task has "loss". If there was nothing to compare
// with, the scores are NaN.
struct EvaluationSummary {
  std::vector<std::pair<std::string, double>> scores = {};

  // Returns NaN if there is no such score.
  [[nodiscard]] double at(std::string_view key) const;
};

// The score of a task by which its models are ranked.
struct MainScore {
  std::string key = {};  // "accuracy"
  bool higher_is_better = true;
};

// Returns whether `a` has the better main score, or the same one and a lower loss. A number is
// better than NaN.
[[nodiscard]] bool better(const EvaluationSummary& a,
                          const EvaluationSummary& b,
                          const MainScore& main);

}  // namespace bp::trainer
