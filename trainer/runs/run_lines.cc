// The list of runs as text, CSV and JSON.
#include <cmath>

#include "base/report/table.h"
#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/json.h"
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
  Table table = table_of({"run", "state", "task", "model", "steps", "score", "best dev", "test",
                          "time", "date (UTC)"});
  std::string problems;
  for (const ListedRun& run : runs) {
    if (!run.record) {
      table.add({run.name, "damaged"});
      problems += concat(run.name, ": ", run.problem, '\n');
      continue;
    }
    const Listed scores = listed_scores(*run.record, metric);
    table.add({run.name, name_of(run.record->state), run.record->task(), run.record->model(),
               with_commas(run.record->steps()), scores.metric, score_text(scores.dev),
               score_text(scores.test), duration_text(run.record->train_seconds()),
               shown_date(run.record->begun())});
    if (!run.record->why.empty()) problems += concat(run.name, ": ", run.record->why, '\n');
  }
  return terminal_text(table, {.columns = columns}) + (problems.empty() ? "" : "\n" + problems);
}

std::string runs_csv(const std::vector<ListedRun>& runs, const std::string& metric) {
  Table table =
      table_of({"run", "state", "why", "task", "model", "steps", "epochs", "metric", "best_dev",
                "best_dev_step", "test", "train_loss", "seconds", "samples_per_s", "begun"});
  const auto shown = [](double value) { return std::isfinite(value) ? concat(value) : ""; };
  for (const ListedRun& run : runs) {
    if (!run.record) {
      table.add({run.name, "damaged", run.problem});
      continue;
    }
    const RunRecord& record = *run.record;
    const Listed scores = listed_scores(record, metric);
    table.add({run.name, name_of(record.state), record.why, record.task(), record.model(),
               concat(record.steps()), shown(record.epochs()), scores.metric, shown(scores.dev),
               scores.dev_step > 0 ? concat(scores.dev_step) : "", shown(scores.test),
               shown(record.train_loss()), shown(record.train_seconds()),
               shown(record.samples_per_second()), record.begun()});
  }
  return csv_text(table);
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
