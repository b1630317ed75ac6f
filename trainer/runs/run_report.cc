#include "trainer/runs/run_report.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "base/options/setting.h"
#include "base/report/report_table.h"
#include "base/text.h"
#include "trainer/common/look_up.h"
#include "trainer/prepare/plan.h"
#include "trainer/report/shown_text.h"
#include "trainer/run/run_settings.h"
#include "trainer/runs/comparison.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

// The texts of a run's samples, from the store on which it was trained. A store that does not exist
// here, is damaged, or is for another task has no texts: a report is useful without them.
class RunTexts {
 public:
  // `settings`: the run's. Names of files that are not absolute are those of the current folder.
  RunTexts(const std::vector<Setting>& settings, Split split);

  // Returns the text, or "" if the store does not have this sample of this text, because it was
  // made again from other data.
  [[nodiscard]] std::string of(std::int64_t sample_id, std::int64_t text_id) const;

 private:
  std::optional<SampleStore> store_;
  Split split_;
};

RunTexts::RunTexts(const std::vector<Setting>& settings, Split split) : split_(split) {
  PrepareOptions options;
  options.source = value_of(settings, "data");
  options.store = value_of(settings, "store");
  try {
    store_.emplace(
        SampleStore::open(is_store(options.source) ? options.source : store_path(options)));
    if (store_->task() != value_of(settings, "task")) store_.reset();
  } catch (const std::exception&) {
    store_.reset();
  }
}

// Sample ids ascend within a split.
std::string RunTexts::of(std::int64_t sample_id, std::int64_t text_id) const {
  if (!store_) return "";
  try {
    std::int64_t first = 0;
    for (std::int64_t count = store_->size(split_); count > 0;) {
      const std::int64_t half = count / 2;
      const Sample sample = store_->load(split_, first + half);
      if (sample.sample_id == sample_id) {
        return sample.text_id == text_id ? store_->text(text_id, split_) : "";
      }
      if (sample.sample_id < sample_id) {
        first += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
  } catch (const std::exception&) {
  }
  return "";
}

RunSummary summary_of_run(const RunRecord& run) {
  if (run.summary) return *run.summary;
  RunSummary summary{.task = run.task(), .model = run.model(), .steps = run.steps()};
  summary.epochs = run.epochs();
  summary.train = {.samples_per_s = run.samples_per_second(),
                   .seconds = run.train_seconds(),
                   .loss = run.train_loss()};
  if (!run.metrics.steps.empty()) {
    summary.train.tokens_per_s = run.metrics.steps.back().tokens_per_s;
  }
  if (const EvaluationRecord* last = run.last_dev()) summary.dev = last->result;
  for (const StepRecord& record : run.metrics.steps) {
    summary.train.skipped += record.skipped;
    summary.train.split_batches += record.split_batches;
  }
  if (run.sessions.empty()) return summary;
  summary.world = 0;
  summary.hosts = static_cast<int>(run.sessions.back().hosts.size());
  for (const RunHost& host : run.sessions.back().hosts) summary.world += host.ranks;
  return summary;
}

std::string state_line(const RunRecord& run) {
  return concat(name_of(run.state), run.why.empty() ? "" : ": " + run.why);
}

// The scores of the splits, one line for each score.
std::string scores_text(const RunRecord& run) {
  const RunSummary summary = summary_of_run(run);
  const EvaluationSummary none;
  const EvaluationSummary& dev = summary.dev ? *summary.dev : none;
  const EvaluationSummary& test = summary.test ? *summary.test : none;
  const EvaluationRecord* const best = run.best_dev();
  const EvaluationSummary& listed = summary.dev ? dev : test;
  if (listed.scores.empty()) return "no split has been scored\n";
  Table table = table_of({"score", "best dev", "last dev", "test"});
  for (const auto& [key, value] : listed.scores) {
    table.add({key, score_text(best == nullptr ? std::nan("") : best->result.at(key)),
               score_text(dev.at(key)), score_text(test.at(key))});
  }
  return terminal_text(table);
}

}  // namespace

ScoredFile score_predictions(const RunRecord& run) {
  const std::string path = run.path + "/predictions.csv";
  if (!path_exists(path)) return {};
  const bool tested = run.summary && run.summary->test;
  const Split split = tested ? Split::test : Split::dev;
  RunTexts texts(with_paths_of_run(run.path, run.settings), split);
  const auto text = [&](std::int64_t sample_id, std::int64_t text_id) {
    return texts.of(sample_id, text_id);
  };
  return score_file({path, name_of(split), run.settings, text}).value_or(ScoredFile());
}

std::string run_text(const RunRecord& run, const ScoredFile& scored) {
  const RunSummary summary = summary_of_run(run);
  Table facts{.columns = {{.width = 8}, {.left = true}}};
  facts.add({"run", run.path});
  facts.add({"state", state_line(run)});
  facts.add({"task", concat(summary.task, " with a ", summary.model, " model")});
  facts.add(
      {"trained", concat(counted(summary.steps, "step"), ", ", brief(summary.epochs), " epochs in ",
                         duration_text(summary.train.seconds), ", ", counted(summary.world, "rank"),
                         " on ", counted(summary.hosts, "host"))});
  for (const Session& session : run.sessions) {
    facts.add({session.from_step == 0 ? "begun" : "resumed",
               concat(session.begun, " at step ", session.from_step, ", bert_train ",
                      session.version, ", ", session.machine)});
  }
  if (const EvaluationRecord* best = run.best_dev()) {
    facts.add({"best dev",
               concat(run.main_score.key, ' ', score_text(best->result.at(run.main_score.key)),
                      " at step ", best->step, ", epoch ", brief(best->epoch))});
  }
  std::string text = terminal_text(facts);
  text += '\n' + scores_text(run);
  for (const SplitLengths& split : summary.lengths) {
    const std::string folded = folded_text(split.split, split.samples, split.texts);
    if (!folded.empty()) text += folded + '\n';
  }
  for (const std::string& line : scored.lines) {
    text += concat('\n', line, line.ends_with('\n') ? "" : "\n");
  }
  if (!scored.errors.empty()) text += '\n' + scored.errors;
  return text;
}

Report report_of(const RunRecord& run, const ScoredFile& scored) {
  Report report{.title = run.path, .summary = summary_of_run(run), .metrics = run.metrics};
  report.main_score = run.main_score.key;
  report.higher_is_better = run.main_score.higher_is_better;
  const std::optional<EvaluationSummary>& shown =
      report.summary.test ? report.summary.test : report.summary.dev;
  const std::string note = report.summary.test ? "test" : "dev";
  if (shown) {
    report.tiles = {{run.main_score.key, score_text(shown->at(run.main_score.key)), note}};
    if (run.main_score.key != "loss") {
      report.tiles.push_back({"loss", score_text(shown->at("loss")), note});
    }
  }
  report.results = scored.sections;
  if (!scored.lines.empty()) report.result_files = {"predictions.csv"};
  report.folder = run.path;
  report.settings = run.settings;
  if (!run.sessions.empty()) report.hosts = run.sessions.back().hosts;
  report.sessions = run.sessions;
  return report;
}

}  // namespace bp::trainer
