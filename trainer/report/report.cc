#include "trainer/report/report.h"

#include "base/text.h"
#include "trainer/report/page.h"
#include "trainer/report/parameter_table.h"
#include "trainer/report/sections.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {

namespace {

// Returns "summary.json, predictions.csv and metrics.jsonl".
std::string files_behind(const Report& report) {
  std::string text = "summary.json";
  for (const std::string& file : report.result_files) text += ", " + html(file);
  return text + " and metrics.jsonl";
}

}  // namespace

const EvaluationRecord* best_dev(const Report& report) {
  const EvaluationRecord* best = nullptr;
  const MainScore main{report.main_score, report.higher_is_better};
  for (const EvaluationRecord& record : report.metrics.evaluations) {
    if (record.split != "dev") continue;
    if (best == nullptr || better(record.result, best->result, main)) best = &record;
  }
  return best;
}

std::string render_report(const Report& report) {
  return page(
      report.title,
      concat(heading_section(report), tiles_section(report), loss_section(report), report.results,
             scores_section(report), course_section(report), "<div class=\"pair\">\n",
             time_section(report), hosts_section(report), "</div>\n",
             parameters_section(report.summary.parameters), settings_section(report),
             "<footer>Written by bert_train. The numbers behind this page: ", files_behind(report),
             report.folder.empty() ? " beside it" : " in " + html(report.folder), ".</footer>\n"));
}

}  // namespace bp::trainer
