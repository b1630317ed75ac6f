#include "trainer/tasks/regress/scored_numbers.h"

#include <cstddef>
#include <string>
#include <vector>

#include "trainer/data/numbers.h"
#include "trainer/report/csv_rows.h"
#include "trainer/tasks/regress/regress_scores.h"

namespace bp::trainer {

std::optional<ScoredFile> score_numbers(const FileToScore& file, CsvRows& rows) {
  const std::size_t columns = rows.fields().size();
  const std::size_t target = column_of(rows.fields(), "target");
  const std::size_t prediction = column_of(rows.fields(), "prediction");
  if (target == columns || prediction == columns) return std::nullopt;
  RegressTally tally;
  std::vector<double> targets;
  std::vector<double> predictions;
  while (rows.next()) {
    const std::string& written = rows.fields()[target];
    if (written.empty()) continue;
    const std::optional<double> x = number_of(written);
    const std::optional<double> y = number_of(rows.fields()[prediction]);
    if (!x || !y) rows.refuse("its target or its prediction is not a number");
    tally.add(*x, *y);
    targets.push_back(*x);
    predictions.push_back(*y);
  }
  if (targets.empty()) return ScoredFile();
  const RegressScores scores = regress_scores(tally, targets, predictions);
  return ScoredFile{summary_of(scores), {regress_line(file.name, scores)}, ""};
}

}  // namespace bp::trainer
