#include "trainer/runs/run_record.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/common/look_up.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/run_settings.h"

namespace bp::trainer {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Calls `read` for a file of the run. A problem becomes an InputError that names the file.
template <class Read>
auto read_part(const std::string& path, const Read& read) {
  try {
    return read(path);
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    const std::string text = error.what();
    const std::string place = text.find(path) == std::string::npos ? path + ": " : "";
    throw InputError(65, place + text, "the file is damaged, or another program wrote it");
  }
}

RunSummary read_summary_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return parse_summary(text.str());
}

// Of runs that have no sessions, because an older bert_train trained them.
MainScore usual_main_score(const RunRecord& run) {
  const std::string task = run.task();
  if (task == "classify") {
    return {value_of(run.settings, "multi-label") == "true" ? "f1_micro" : "accuracy", true};
  }
  if (task == "regress") return {"pearson", true};
  if (task == "tokens") return {"f1", true};
  if (task == "gap") return {"log_loss", false};
  return {"loss", false};
}

void find_state(RunRecord& run) {
  const Session none;
  const Session& last = run.sessions.empty() ? none : run.sessions.back();
  // Older versions wrote no sessions.
  const bool can_resume = run.sessions.empty() && path_exists(run.path + "/checkpoints/latest");
  if (is_finished(run.path)) {
    run.state = RunState::finished;
  } else if (seems_in_use(run.path)) {
    run.state = RunState::running;
  } else if (last.outcome == "stopped" || can_resume) {
    run.state = RunState::stopped;
  } else if (run.sessions.empty()) {
    run.why = "it has neither a result nor a checkpoint";
  } else {
    run.why = last.outcome == "failed" ? last.why : "its process ended before it could say why";
  }
}

}  // namespace

const char* name_of(RunState state) {
  switch (state) {
    case RunState::running:
      return "running";
    case RunState::finished:
      return "finished";
    case RunState::stopped:
      return "stopped";
    case RunState::failed:
      break;
  }
  return "failed";
}

std::string RunRecord::task() const {
  const std::string task = value_of(settings, "task");
  return task.empty() ? "?" : task;
}

std::string RunRecord::model() const {
  const std::string model = value_of(settings, "model");
  return model.empty() ? "?" : model;
}

std::int64_t RunRecord::steps() const {
  if (summary) return summary->steps;
  std::int64_t steps = sessions.empty() ? 0 : sessions.back().end_step;
  if (!metrics.steps.empty()) steps = std::max(steps, metrics.steps.back().step);
  return steps;
}

double RunRecord::epochs() const {
  if (summary) return summary->epochs;
  return metrics.steps.empty() ? 0 : metrics.steps.back().epoch;
}

double RunRecord::train_loss() const {
  return metrics.steps.empty() ? kUnknown : metrics.steps.back().loss;
}

double RunRecord::train_seconds() const {
  if (summary) return summary->train.seconds;
  double seconds = 0;
  std::int64_t before = 0;
  for (const StepRecord& record : metrics.steps) {
    const double of_step = record.compute_ms + record.comm_exposed_ms + record.data_wait_ms;
    const auto steps = static_cast<double>(record.step - std::exchange(before, record.step));
    if (std::isfinite(of_step)) seconds += steps * of_step / 1000;
  }
  return seconds;
}

double RunRecord::samples_per_second() const {
  if (summary) return summary->train.samples_per_s;
  const double seconds = train_seconds();
  return seconds > 0 ? static_cast<double>(metrics.steps.back().samples) / seconds : kUnknown;
}

std::string RunRecord::begun() const { return sessions.empty() ? "" : sessions.front().begun; }

const EvaluationRecord* RunRecord::last_dev() const {
  const EvaluationRecord* last = nullptr;
  for (const EvaluationRecord& record : metrics.evaluations) {
    if (record.split == "dev") last = &record;
  }
  return last;
}

double RunRecord::test(const std::string& key) const {
  return summary && summary->test ? summary->test->at(key) : kUnknown;
}

bool is_run(const std::string& path) {
  return folder_exists(path) && path_exists(path + "/config.yaml");
}

RunRecord read_run(const std::string& path) {
  if (!is_run(path)) {
    throw InputError(66, concat(path, " is not the folder of a run: it has no config.yaml"),
                     "bert_train DATA makes it, by default in runs/; bert_train runs lists them");
  }
  RunRecord run{.path = without_slashes(path)};
  run.settings = read_part(path + "/config.yaml", read_settings_with_origins);
  run.sessions = read_part(path + "/sessions.jsonl", read_sessions);
  if (path_exists(path + "/metrics.jsonl")) {
    run.metrics = read_part(path + "/metrics.jsonl", read_metrics);
  }
  if (path_exists(path + "/summary.json")) {
    run.summary = read_part(path + "/summary.json", read_summary_file);
  }
  run.main_score = run.sessions.empty() ? usual_main_score(run) : run.sessions.back().main_score;
  find_state(run);
  return run;
}

}  // namespace bp::trainer
