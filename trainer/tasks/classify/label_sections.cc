#include "trainer/tasks/classify/label_sections.h"

#include <cstddef>

#include "base/text.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/class_section.h"

namespace bp::trainer {
namespace {

std::string shown(const std::string& names) {
  constexpr std::size_t kLongest = 200;
  return names.empty() ? "<b>none</b>"
                       : concat("<b>", html(shortened(repaired_utf8(names), kLongest)), "</b>");
}

std::string worst_section(const LabelDetail& detail) {
  constexpr std::size_t kLongestText = 600;
  std::string rows;
  for (const WorstLabelRow& row : detail.worst) {
    rows += concat("<li><blockquote>", html(shortened(repaired_utf8(row.text), kLongestText)),
                   "</blockquote><p>has ", shown(row.answers), ", predicted ",
                   shown(row.predictions), ". Loss ", fixed(row.loss, 2),
                   ". <span class=\"quiet\">text ", row.text_id, "</span></p></li>\n");
  }
  return concat("<section class=\"card\"><h2>Worst rows, ", html(detail.split),
                " split</h2>\n<p class=\"quiet\">Those with the highest loss. Often they show "
                "what is wrong with the data.</p>\n<ol class=\"rows\">\n",
                rows, "</ol></section>\n");
}

}  // namespace

std::string label_sections(const LabelDetail& detail) {
  const LabelScores& scores = detail.scores;
  const std::string labels = class_section({"Labels, " + detail.split + " split",
                                            detail.labels,
                                            scores.labels,
                                            {{"all answers together", scores.micro},
                                             {"mean", scores.macro},
                                             {"weighted mean", scores.weighted},
                                             {"mean of samples", scores.of_samples}}});
  return concat(labels, worst_section(detail));
}

}  // namespace bp::trainer
