// The list of runs as text, CSV and JSON.
#include <cmath>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/json.h"
#include "trainer/report/predictions.h"
#include "trainer/report/shown_text.h"
#include "trainer/runs/comparison.h"
#include "trainer/runs/run_list.h"

namespace bp::trainer {
namespace {

// What is listed of a run that can be read.
struct Listed {
  std::string metric = {};
  double dev = std::nan("");  // of the best evaluation
  std::int64_t dev_step = 0;
  double test = std::nan("");
};

Listed listed_scores(const RunRecord& run, const std::string& metric) {
  Listed listed{.metric = metric.empty() ? run.main_score.key : metric};
  if (const EvaluationRecord* best = run.best_dev()) {
    listed.dev = best->result.at(listed.metric);
    listed.dev_step = best->step;
  }
  listed.test = run.test(listed.metric);
  return listed;
}

// "2026-11-24 03:02"
std::string shown_date(const std::string& begun) {
  constexpr std::size_t kToMinutes = 16;
  std::string text = begun.substr(0, kToMinutes);
  const std::size_t mark = text.find('T');
  if (mark != std::string::npos) text[mark] = ' ';
  return text.empty() ? "-" : text;
}

}  // namespace

std::string runs_text(const std::vector<ListedRun>& runs, const std::string& metric, int columns) {
  std::vector<TableRow> rows = {{"run", "state", "task", "model", "steps", "score", "best dev",
                                 "test", "time", "date (UTC)"}};
  std::string problems;
  for (const ListedRun& run : runs) {
    if (!run.record) {
      rows.push_back({run.name, "damaged"});
      problems += concat(run.name, ": ", run.problem, '\n');
      continue;
    }
    const Listed scores = listed_scores(*run.record, metric);
    rows.push_back({run.name, name_of(run.record->state), run.record->task(), run.record->model(),
                    with_commas(run.record->steps()), scores.metric, score_text(scores.dev),
                    score_text(scores.test), duration_text(run.record->train_seconds()),
                    shown_date(run.record->begun())});
    if (!run.record->why.empty()) problems += concat(run.name, ": ", run.record->why, '\n');
  }
  return text_table(rows, columns) + (problems.empty() ? "" : "\n" + problems);
}

std::string runs_csv(const std::vector<ListedRun>& runs, const std::string& metric) {
  std::string out =
      "run,state,why,task,model,steps,epochs,metric,best_dev,best_dev_step,test,train_loss,seconds,"
      "samples_per_s,begun\n";
  const auto shown = [](double value) { return std::isfinite(value) ? concat(value) : ""; };
  for (const ListedRun& run : runs) {
    if (!run.record) {
      out += concat(csv_field(run.name), ",damaged,", csv_field(run.problem), ",,,,,,,,,,,,\n");
      continue;
    }
    const RunRecord& record = *run.record;
    const Listed scores = listed_scores(record, metric);
    out +=
        concat(csv_field(run.name), ',', name_of(record.state), ',', csv_field(record.why), ',',
               csv_field(record.task()), ',', csv_field(record.model()), ',', record.steps(), ',',
               shown(record.epochs()), ',', csv_field(scores.metric), ',', shown(scores.dev), ',',
               scores.dev_step > 0 ? concat(scores.dev_step) : "", ',', shown(scores.test), ',',
               shown(record.train_loss()), ',', shown(record.train_seconds()), ',',
               shown(record.samples_per_second()), ',', record.begun(), '\n');
  }
  return out;
}

std::string runs_json(const std::vector<ListedRun>& runs, const std::string& metric) {
  Json list = Json::array();
  for (const ListedRun& run : runs) {
    if (!run.record) {
      list.push_back({{"run", run.name}, {"state", "damaged"}, {"why", run.problem}});
      continue;
    }
    const RunRecord& record = *run.record;
    const Listed scores = listed_scores(record, metric);
    list.push_back({{"run", run.name},
                    {"path", record.path},
                    {"state", name_of(record.state)},
                    {"why", record.why},
                    {"task", record.task()},
                    {"model", record.model()},
                    {"steps", record.steps()},
                    {"epochs", number(record.epochs())},
                    {"metric", scores.metric},
                    {"best_dev", number(scores.dev)},
                    {"best_dev_step", scores.dev_step > 0 ? Json(scores.dev_step) : Json()},
                    {"test", number(scores.test)},
                    {"train_loss", number(record.train_loss())},
                    {"seconds", measured(record.train_seconds())},
                    {"samples_per_s", measured(record.samples_per_second())},
                    {"begun", record.begun()}});
  }
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace bp::trainer
