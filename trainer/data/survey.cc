#include "trainer/data/survey.h"

#include <cstddef>
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/source_rows.h"

namespace bp::trainer {

Survey survey(const Plan& plan) {
  Survey survey;
  survey.texts.emplace(std::filesystem::path(plan.store).parent_path().string());
  const std::unique_ptr<RowSurvey> task = plan.options.task->make_survey(plan);
  for (std::size_t i = 0; i < plan.sources.size(); ++i) {
    std::int64_t rows = 0;
    survey.texts->begin_source();
    for (SourceRows reader(plan, plan.sources[i]); reader.next(); ++rows) {
      const RowVerdict verdict = task->add(reader, i);
      if (plan.options.stratify && i == 0) survey.strata.add(verdict.stratum);
      if (verdict.kept) {
        survey.texts->add(reader.text());
      } else {
        survey.texts->leave_out();
        survey.left_out.insert(survey.all_rows + rows);
      }
    }
    if (rows == 0) {
      throw InputError(65, concat(plan.sources[i].name, " has a header but no rows"),
                       "see --header, if its first line is a row");
    }
    task->end_source(i, rows);
    survey.rows.push_back(rows);
    survey.all_rows += rows;
  }
  survey.names = task->names();
  survey.remarks = task->remarks();
  return survey;
}

}  // namespace bp::trainer
