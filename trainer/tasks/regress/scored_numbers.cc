#include "trainer/tasks/regress/scored_numbers.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/numbers.h"
#include "trainer/report/csv_rows.h"
#include "trainer/report/error_rows.h"
#include "trainer/tasks/regress/regress_scores.h"

namespace bp::trainer {

std::optional<ScoredFile> score_numbers(const FileToScore& file, CsvRows& rows) {
  const std::size_t columns = rows.fields().size();
  const std::size_t target = column_of(rows.fields(), "target");
  const std::size_t prediction = column_of(rows.fields(), "prediction");
  const std::size_t sample_id = column_of(rows.fields(), "sample_id");
  const std::size_t text_id = column_of(rows.fields(), "text_id");
  for (const std::size_t column : {target, prediction, sample_id, text_id}) {
    if (column == columns) return std::nullopt;
  }
  RegressTally tally;
  std::vector<double> targets;
  std::vector<double> predictions;
  std::vector<ScoredNumber> scored;
  while (rows.next()) {
    const std::string& written = rows.fields()[target];
    if (written.empty()) continue;
    const std::optional<double> x = number_of(written);
    const std::optional<double> y = number_of(rows.fields()[prediction]);
    if (!x || !y) rows.refuse("its target or its prediction is not a number");
    tally.add(*x, *y);
    targets.push_back(*x);
    predictions.push_back(*y);
    scored.push_back({rows.id(sample_id), rows.id(text_id), *x, *y});
  }
  if (targets.empty()) return ScoredFile();
  const RegressScores scores = regress_scores(tally, targets, predictions);
  ErrorRows errors = error_rows(file.name, std::move(scored));
  for (ErrorRow& row : errors.rows) row.text = file.text_of(row.sample_id, row.text_id);
  return ScoredFile{summary_of(scores),
                    {regress_line(file.name, scores)},
                    error_lines(errors),
                    {error_section(errors)}};
}

}  // namespace bp::trainer
