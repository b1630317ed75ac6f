#include "trainer/tasks/classify/confusions.h"

#include <algorithm>
#include <numeric>

#include "base/report/escape.h"
#include "base/report/report_table.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

std::vector<int> all_classes(std::size_t classes) {
  std::vector<int> all(classes);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Calls body(label, prediction, count) for each cell that is not 0.
template <class Body>
void for_each_cell(const Tally& tally, const Body& body) {
  for (int label = 0; label < tally.classes(); ++label) {
    for (int prediction = 0; prediction < tally.classes(); ++prediction) {
      const std::int64_t n = tally.count({.label = label, .prediction = prediction});
      if (n != 0) body(label, prediction, n);
    }
  }
}

}  // namespace

std::vector<Confusion> confusions_of(const Tally& tally) {
  std::vector<Confusion> all;
  std::vector<std::int64_t> sums(static_cast<std::size_t>(tally.classes()));
  for_each_cell(tally, [&](int label, int prediction, std::int64_t n) {
    sums[static_cast<std::size_t>(label)] += n;
    if (label != prediction) all.push_back({label, prediction, n});
  });
  for (Confusion& one : all) {
    one.share = static_cast<double>(one.count) /
                static_cast<double>(sums[static_cast<std::size_t>(one.label)]);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Confusion& a, const Confusion& b) { return a.count > b.count; });
  return all;
}

std::vector<int> most_confused(const Tally& tally, std::size_t most) {
  const auto classes = static_cast<std::size_t>(tally.classes());
  std::vector<int> chosen = all_classes(classes);
  if (classes <= most) return chosen;
  std::vector<std::int64_t> mistakes(classes);
  for_each_cell(tally, [&](int label, int prediction, std::int64_t n) {
    if (label == prediction) return;
    mistakes[static_cast<std::size_t>(label)] += n;
    mistakes[static_cast<std::size_t>(prediction)] += n;
  });
  std::stable_sort(chosen.begin(), chosen.end(), [&](int a, int b) {
    return mistakes[static_cast<std::size_t>(a)] > mistakes[static_cast<std::size_t>(b)];
  });
  chosen.resize(most);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<int> lowest_scores(const std::vector<ClassScores>& classes, std::size_t most) {
  std::vector<int> chosen = all_classes(classes.size());
  if (chosen.size() <= most) return chosen;
  const auto of = [&](int k) { return classes[static_cast<std::size_t>(k)]; };
  std::erase_if(chosen, [&](int k) { return of(k).support == 0; });
  std::stable_sort(chosen.begin(), chosen.end(), [&](int a, int b) {
    return of(a).f1 != of(b).f1 ? of(a).f1 < of(b).f1 : of(a).support > of(b).support;
  });
  chosen.resize(std::min(chosen.size(), most));
  return chosen;
}

std::vector<std::vector<std::int64_t>> grouped_matrix(const Tally& tally,
                                                      const std::vector<int>& shown) {
  const std::size_t others = shown.size();
  std::vector<std::size_t> place(static_cast<std::size_t>(tally.classes()), others);
  for (std::size_t i = 0; i < others; ++i) place[static_cast<std::size_t>(shown[i])] = i;
  std::vector<std::vector<std::int64_t>> matrix(others + 1, std::vector<std::int64_t>(others + 1));
  for_each_cell(tally, [&](int label, int prediction, std::int64_t n) {
    matrix[place[static_cast<std::size_t>(label)]][place[static_cast<std::size_t>(prediction)]] +=
        n;
  });
  return matrix;
}

std::string classes_csv(const std::vector<ClassScores>& classes,
                        const std::vector<std::string>& labels) {
  constexpr int kDigits = 6;
  Table table = table_of({"label", "precision", "recall", "f1", "samples", "predictions"});
  for (std::size_t k = 0; k < classes.size(); ++k) {
    const ClassScores& of = classes[k];
    table.add({labels.at(k), fixed(of.precision, kDigits), fixed(of.recall, kDigits),
               fixed(of.f1, kDigits), concat(of.support), concat(of.predictions)});
  }
  return csv_text(table);
}

std::string confusion_csv(const Tally& tally, const std::vector<std::string>& labels) {
  Table table = table_of({"label", "prediction", "samples"});
  for_each_cell(tally, [&](int label, int prediction, std::int64_t n) {
    table.add({labels.at(static_cast<std::size_t>(label)),
               labels.at(static_cast<std::size_t>(prediction)), concat(n)});
  });
  return csv_text(table);
}

}  // namespace bp::trainer
