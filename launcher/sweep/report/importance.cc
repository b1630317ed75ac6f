#include "launcher/sweep/report/importance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "launcher/sweep/report/sweep_page.h"
#include "launcher/sweep/sampling/random.h"

namespace bp::launcher::sweep {
namespace {

constexpr std::size_t kTrees = 64;
constexpr std::size_t kMostRows = 1000;  // the newest; more would only take longer
constexpr std::size_t kLeastLeaf = 2;
constexpr double kMissing = -std::numeric_limits<double>::infinity();

struct Feature {
  std::string name;
  bool categories = false;
  std::vector<double> values = {};  // by row
};

struct Samples {
  std::vector<Feature> columns;
  std::vector<double> results;
};

using Rows = std::vector<std::size_t>;

struct Split {
  std::size_t column = 0;
  double at = 0;
  double gain = 0;  // the sum of squares that it removes
};

bool goes_left(const Feature& column, double at, std::size_t row) {
  return column.categories ? column.values[row] == at : column.values[row] <= at;
}

double square(double x) { return x * x; }

// The best split of the rows at one column.
std::optional<Split> best_split(const Samples& samples, const Rows& rows, std::size_t number) {
  const Feature& column = samples.columns[number];
  std::vector<std::pair<double, double>> sorted;  // value, result
  double sum = 0;
  for (const std::size_t row : rows) {
    sorted.emplace_back(column.values[row], samples.results[row]);
    sum += samples.results[row];
  }
  std::sort(sorted.begin(), sorted.end());
  const auto all = static_cast<double>(rows.size());
  std::optional<Split> best;
  double left_sum = 0;
  std::size_t left = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    left_sum += sorted[i].second;
    ++left;
    if (i + 1 < sorted.size() && sorted[i + 1].first == sorted[i].first) continue;
    const std::size_t right = sorted.size() - left;
    if (left >= kLeastLeaf && right >= kLeastLeaf) {
      const double gain = square(left_sum) / static_cast<double>(left) +
                          square(sum - left_sum) / static_cast<double>(right) - square(sum) / all;
      if (!best || gain > best->gain) {
        best = Split{.column = number, .at = sorted[i].first, .gain = gain};
      }
    }
    if (column.categories) {  // one category against all others
      left_sum = 0;
      left = 0;
    }
  }
  return best;
}

struct Node {
  Split split;
  double mean = 0;
  std::unique_ptr<Node> left;
  std::unique_ptr<Node> right;
};

class Forest {
 public:
  explicit Forest(const Samples& samples) : table_(samples), gains_(samples.columns.size(), 0.0) {
    const std::size_t count = samples.results.size();
    std::vector<double> sums(count, 0.0);
    std::vector<int> votes(count, 0);
    for (std::size_t tree = 0; tree < kTrees; ++tree) {
      Random random(1, 2, tree);
      std::vector<bool> in_bag(count, false);
      Rows rows;
      for (std::size_t i = 0; i < count; ++i) {
        rows.push_back(random.below(count));
        in_bag[rows.back()] = true;
      }
      const auto root = grow(rows, random);
      for (std::size_t row = 0; row < count; ++row) {
        if (in_bag[row]) continue;
        sums[row] += predicted(*root, row);
        ++votes[row];
      }
    }
    explained_ = explained_by(sums, votes);
  }

  [[nodiscard]] const std::vector<double>& gains() const { return gains_; }
  [[nodiscard]] double explained() const { return explained_; }

 private:
  std::unique_ptr<Node> grow(const Rows& rows, Random& random) {
    auto node = std::make_unique<Node>();
    for (const std::size_t row : rows) node->mean += table_.results[row];
    node->mean /= static_cast<double>(rows.size());
    // Each split sees about two thirds of the columns, so that trees differ.
    for (std::size_t column = 0; column < table_.columns.size(); ++column) {
      if (table_.columns.size() > 1 && random.uniform() < 1.0 / 3) continue;
      const auto split = best_split(table_, rows, column);
      if (split && split->gain > node->split.gain) node->split = *split;
    }
    if (node->split.gain <= 1e-12) return node;
    gains_[node->split.column] += node->split.gain;
    Rows left;
    Rows right;
    for (const std::size_t row : rows) {
      const bool to_left = goes_left(table_.columns[node->split.column], node->split.at, row);
      (to_left ? left : right).push_back(row);
    }
    node->left = grow(left, random);
    node->right = grow(right, random);
    return node;
  }

  [[nodiscard]] double predicted(const Node& root, std::size_t row) const {
    const Node* node = &root;
    while (node->left) {
      const bool left = goes_left(table_.columns[node->split.column], node->split.at, row);
      node = left ? node->left.get() : node->right.get();
    }
    return node->mean;
  }

  [[nodiscard]] double explained_by(const std::vector<double>& sums,
                                    const std::vector<int>& votes) const {
    const double mean = std::accumulate(table_.results.begin(), table_.results.end(), 0.0) /
                        static_cast<double>(table_.results.size());
    double all = 0;
    double left_over = 0;
    for (std::size_t row = 0; row < sums.size(); ++row) {
      if (votes[row] == 0) continue;
      all += square(table_.results[row] - mean);
      left_over += square(table_.results[row] - sums[row] / votes[row]);
    }
    return all > 0 ? std::max(0.0, 1 - left_over / all) : 0;
  }

  const Samples& table_;
  std::vector<double> gains_;
  double explained_ = 0;
};

Feature column_of(const std::string& name, const std::vector<const TrialRecord*>& trials) {
  Feature column{.name = name};
  std::map<std::string, double> categories;
  for (const TrialRecord* trial : trials) {
    const Value* value = find_value(trial->parameters, name);
    column.categories |= value != nullptr && !value->is_number();
  }
  for (const TrialRecord* trial : trials) {
    const Value* value = find_value(trial->parameters, name);
    if (value == nullptr) {
      column.values.push_back(kMissing);
    } else if (column.categories) {
      const auto next = static_cast<double>(categories.size());
      column.values.push_back(categories.emplace(value->text(), next).first->second);
    } else {
      column.values.push_back(value->number());
    }
  }
  return column;
}

// Scaled so that the limits for a gain do not depend on the metric's unit.
void standardize(std::vector<double>& results) {
  const auto count = static_cast<double>(results.size());
  const double mean = std::accumulate(results.begin(), results.end(), 0.0) / count;
  double variance = 0;
  for (const double result : results) variance += square(result - mean) / count;
  for (double& result : results) {
    result = variance > 0 ? (result - mean) / std::sqrt(variance) : 0;
  }
}

}  // namespace

Importances importances_of(const std::vector<TrialRecord>& trials) {
  std::vector<const TrialRecord*> used;
  for (const TrialRecord& trial : trials) {
    if (trial.result && std::isfinite(*trial.result)) used.push_back(&trial);
  }
  std::sort(used.begin(), used.end(),
            [](const TrialRecord* a, const TrialRecord* b) { return a->number > b->number; });
  if (used.size() > kMostRows) used.resize(kMostRows);
  Samples samples;
  for (const TrialRecord* trial : used) samples.results.push_back(*trial->result);
  for (const std::string& name : parameter_names(trials)) {
    samples.columns.push_back(column_of(name, used));
  }
  Importances found;
  if (used.size() < kLeastTrialsForImportance || samples.columns.empty()) return found;
  standardize(samples.results);
  const Forest forest(samples);
  const double sum = std::accumulate(forest.gains().begin(), forest.gains().end(), 0.0);
  if (sum <= 0) return found;
  found.explained = forest.explained();
  for (std::size_t i = 0; i < samples.columns.size(); ++i) {
    found.parameters.push_back({samples.columns[i].name, forest.gains()[i] / sum});
  }
  std::stable_sort(found.parameters.begin(), found.parameters.end(),
                   [](const Importance& a, const Importance& b) { return a.share > b.share; });
  return found;
}

}  // namespace bp::launcher::sweep
