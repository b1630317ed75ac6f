#include "trainer/tasks/classify/class_section.h"

#include <cstddef>
#include <cstdint>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/confusions.h"

namespace bp::trainer {
namespace {

std::string row(const std::string& name, const ClassScores& of) {
  constexpr int kDigits = 3;
  return concat("<tr><th scope=\"row\">", name, "</th><td>", fixed(of.precision, kDigits),
                "</td><td>", fixed(of.recall, kDigits), "</td><td>", fixed(of.f1, kDigits),
                "</td><td>", with_commas(of.support), "</td></tr>\n");
}

}  // namespace

std::string label_html(const std::vector<std::string>& labels, int index) {
  constexpr std::size_t kLongest = 24;
  const auto place = static_cast<std::size_t>(index);
  const std::string name = place < labels.size() ? labels[place] : concat('#', index);
  return html(shortened(repaired_utf8(name), kLongest));
}

std::string class_section(const ClassSection& section) {
  const std::vector<int> shown = lowest_scores(section.classes, kMostInTable);
  std::string rows;
  for (const int k : shown) {
    rows += row(label_html(section.labels, k), section.classes[static_cast<std::size_t>(k)]);
  }
  std::string means;
  for (const auto& [name, scores] : section.means) means += row(name, scores);
  const auto all = static_cast<std::int64_t>(section.classes.size());
  const std::string note =
      shown.size() == section.classes.size()
          ? ""
          : concat("<p class=\"quiet\">", shown.size(), " of ", with_commas(all),
                   " labels: those with the lowest F1. All: classes.csv.</p>\n");
  return concat("<section class=\"card\"><h2>", html(section.heading), "</h2>\n", note,
                "<div class=\"scroll tall\" tabindex=\"0\"><table><thead><tr>"
                "<th scope=\"col\">label</th><th scope=\"col\">precision</th>"
                "<th scope=\"col\">recall</th><th scope=\"col\">F1</th>"
                "<th scope=\"col\">samples</th></tr></thead>\n<tbody>\n",
                rows, "</tbody>\n<tfoot>\n", means, "</tfoot></table></div></section>\n");
}

}  // namespace bp::trainer
