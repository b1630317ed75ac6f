#include "trainer/runs/run_list.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <filesystem>
#include <iterator>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "base/input_error.h"
#include "base/nearest.h"
#include "base/report/report_table.h"
#include "base/text.h"
#include "trainer/common/look_up.h"
#include "trainer/common/numbers.h"
#include "trainer/common/text_list.h"
#include "trainer/report/json.h"
#include "trainer/report/shown_text.h"
#include "trainer/runs/comparison.h"

namespace bp::trainer {
namespace {

constexpr std::array<std::string_view, 5> kOtherKeys = {"name", "state", "date", "steps", "time"};
constexpr std::array<std::string_view, 6> kLowerIsBetter = {"loss", "log_loss", "brier",
                                                            "ece",  "mae",      "hamming_loss"};

bool has_file_of_run(const std::string& folder) {
  return std::ranges::any_of(
      std::array{"config.yaml", "metrics.jsonl", "summary.json", "report.html", "checkpoints"},
      [&](const char* name) { return path_exists(concat(folder, "/", name)); });
}

ListedRun listed(const std::string& name, const std::string& path) {
  ListedRun run{.name = name};
  try {
    run.record = read_run(path);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    run.problem = text.substr(0, text.find('\n'));
  }
  return run;
}

double score_of(const ListedRun& run, const std::string& key) {
  if (!run.record) return std::numeric_limits<double>::quiet_NaN();
  const EvaluationRecord* const best = run.record->best_dev();
  const double dev = best == nullptr ? std::nan("") : best->result.at(key);
  return std::isfinite(dev) ? dev : run.record->test(key);
}

bool higher_is_better(const std::vector<ListedRun>& runs, const std::string& key) {
  for (const ListedRun& run : runs) {
    if (run.record && run.record->main_score.key == key) {
      return run.record->main_score.higher_is_better;
    }
  }
  return std::ranges::find(kLowerIsBetter, key) == kLowerIsBetter.end();
}

void require_score(const std::vector<ListedRun>& runs, const std::string& key) {
  std::set<std::string> keys(kOtherKeys.begin(), kOtherKeys.end());
  bool any = false;
  for (const ListedRun& run : runs) {
    if (!run.record) continue;
    any = true;
    for (const EvaluationRecord& record : run.record->metrics.evaluations) {
      for (const auto& [name, value] : record.result.scores) keys.insert(name);
    }
    if (!run.record->summary || !run.record->summary->test) continue;
    for (const auto& [name, value] : run.record->summary->test->scores) keys.insert(name);
  }
  if (!any || keys.contains(key)) return;
  const std::string nearest = nearest_name(key, {keys.begin(), keys.end()});
  const std::string all = list_of(keys, ", ");
  throw InputError(2, concat("--sort: no run has the score '", key, "'"),
                   nearest.empty() ? "there are " + all
                                   : concat("did you mean '", nearest, "'? There are ", all));
}

// Returns a number that is lower for a run that comes earlier; NaN for one that comes last.
double order_of(const ListedRun& run, const std::string& by) {
  if (!run.record) return std::numeric_limits<double>::quiet_NaN();
  if (by == "state") return static_cast<double>(run.record->state);
  if (by == "steps") return -static_cast<double>(run.record->steps());
  return -run.record->train_seconds();
}

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

// What the lists for programs have of a run.
Json json_of(const ListedRun& run, const std::string& metric) {
  if (!run.record) return {{"run", run.name}, {"state", "damaged"}, {"why", run.problem}};
  const RunRecord& record = *run.record;
  const Listed scores = listed_scores(record, metric);
  return {{"run", run.name},
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
          {"begun", record.begun()}};
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

std::vector<ListedRun> list_runs(const std::string& folder) {
  const std::string path = without_slashes(folder);
  if (!folder_exists(path)) {
    throw InputError(66, concat("there is no folder ", path), "bert_train runs FOLDER");
  }
  if (is_run(path)) return {listed(path, path)};
  std::vector<std::string> names = entries_of(path);
  std::ranges::sort(names);
  std::vector<ListedRun> runs;
  for (const std::string& name : names) {
    const std::string inner = concat(path, "/", name);
    if (folder_exists(inner) && has_file_of_run(inner)) runs.push_back(listed(name, inner));
  }
  return runs;
}

bool sorts_by_score(const std::string& by) {
  return !by.empty() && std::ranges::find(kOtherKeys, by) == kOtherKeys.end();
}

void sort_runs(std::vector<ListedRun>& runs, const std::string& by) {
  if (by == "name" || by.empty()) return;
  if (by == "date") {
    // The newest first; texts of dates are in the order of the dates.
    std::ranges::stable_sort(runs, std::ranges::greater{}, [](const ListedRun& run) {
      return run.record ? run.record->begun() : std::string();
    });
    return;
  }
  if (sorts_by_score(by)) require_score(runs, by);
  const double sign = higher_is_better(runs, by) ? -1 : 1;
  const auto key = [&](const ListedRun& run) {
    const double order = sorts_by_score(by) ? sign * score_of(run, by) : order_of(run, by);
    return std::isnan(order) ? std::numeric_limits<double>::infinity() : order;
  };
  std::ranges::stable_sort(runs, std::ranges::less{}, key);
}

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
  for (const ListedRun& run : runs) {
    const Json values = json_of(run, metric);
    table.add({});
    for (const Table::Column& column : table.columns) {
      const Json value = values.value(column.name, Json(""));
      table.rows.back().cells.push_back({value.is_null()     ? ""
                                         : value.is_string() ? value.get<std::string>()
                                                             : value.dump()});
    }
  }
  return csv_text(table);
}

std::string runs_json(const std::vector<ListedRun>& runs, const std::string& metric) {
  Json list = Json::array();
  for (const ListedRun& run : runs) list.push_back(json_of(run, metric));
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace bp::trainer
