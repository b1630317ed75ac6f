#include "trainer/tasks/classify/class_section.h"

#include <cstddef>
#include <cstdint>

#include "base/report/escape.h"
#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/tasks/classify/confusions.h"

namespace bp::trainer {

std::string label_name(const std::vector<std::string>& labels, int index) {
  constexpr std::size_t kLongest = 24;
  const auto place = static_cast<std::size_t>(index);
  const std::string name = place < labels.size() ? labels[place] : concat('#', index);
  return shortened(repaired_utf8(name), kLongest);
}

Section class_section(const ClassSection& classes) {
  Section section{.title = classes.heading,
                  .table = table_of({"label", "precision", "recall", "F1", "samples"})};
  const auto add = [&](const std::string& name, const ClassScores& of, Table::Row::Kind kind) {
    constexpr int kDigits = 3;
    section.table.add({name, fixed(of.precision, kDigits), fixed(of.recall, kDigits),
                       fixed(of.f1, kDigits), with_commas(of.support)},
                      kind);
  };
  const std::vector<int> shown = lowest_scores(classes.classes, kMostInTable);
  for (const int k : shown) {
    add(label_name(classes.labels, k), classes.classes[static_cast<std::size_t>(k)],
        Table::Row::Kind::body);
  }
  for (const auto& [name, scores] : classes.means) add(name, scores, Table::Row::Kind::foot);
  if (shown.size() < classes.classes.size()) {
    section.note =
        concat(shown.size(), " of ", with_commas(static_cast<std::int64_t>(classes.classes.size())),
               " labels: those with the lowest F1. All: classes.csv.");
  }
  return section;
}

}  // namespace bp::trainer
