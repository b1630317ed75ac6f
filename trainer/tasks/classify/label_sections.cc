#include "trainer/tasks/classify/label_sections.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/class_section.h"

namespace bp::trainer {
void keep_worst(std::vector<WorstLabelRow>& worst, WorstLabelRow row) {
  const auto behind = std::ranges::find_if(
      worst, [&](const WorstLabelRow& other) { return other.loss < row.loss; });
  if (behind == worst.end() && worst.size() == kMostErrorRows) return;
  worst.insert(behind, std::move(row));
  if (worst.size() > kMostErrorRows) worst.pop_back();
}

ErrorRows error_rows(const LabelDetail& detail) {
  ErrorRows errors{.split = detail.split, .order = "the highest loss"};
  for (const WorstLabelRow& row : detail.worst) {
    errors.rows.push_back({row.text, row.answers, row.predictions,
                           concat("loss ", fixed(row.loss, 2)), row.text_id, row.sample_id});
  }
  return errors;
}

std::string label_sections(const LabelDetail& detail) {
  const LabelScores& scores = detail.scores;
  const std::string labels = class_section({"Labels, " + detail.split + " split",
                                            detail.labels,
                                            scores.labels,
                                            {{"all answers together", scores.micro},
                                             {"mean", scores.macro},
                                             {"weighted mean", scores.weighted},
                                             {"mean of samples", scores.of_samples}}});
  return concat(labels, error_section(error_rows(detail)));
}

}  // namespace bp::trainer
