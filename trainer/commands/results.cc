#include "trainer/commands/results.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>

#include "base/input_error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "bp/log.h"
#include "trainer/common/whole_file.h"
#include "trainer/report/lengths_section.h"
#include "trainer/report/metrics.h"
#include "trainer/report/report.h"
#include "trainer/report/sessions.h"
#include "trainer/runs/runs_database.h"
#include "trainer/tasks/scorer.h"

namespace bp::trainer {
namespace {

// Returns how many texts are scored: fewer than samples if long texts of the split are folded into
// several samples, which each have the text's answer. A task with a value for each token scores
// these.
std::int64_t scored_texts(const SampleStore& store, Split split) {
  const SampleSchema& schema = store.schema();
  const bool of_tokens =
      schema.empty() || std::ranges::count(schema, Shape::per_token, &ArrayField::shape) > 0;
  return of_tokens ? store.size(split) : store.texts(split);
}

std::vector<SplitLengths> lengths_in(const SampleStore& store) {
  std::vector<SplitLengths> splits;
  for (const Split split : {Split::train, Split::dev, Split::test}) {
    if (store.size(split) == 0) continue;
    splits.push_back(lengths_of(name_of(split), store.lengths(split), scored_texts(store, split)));
  }
  return splits;
}

// Returns the tiles of the test split, or of dev if test has no true answers.
std::vector<Tile> tiles_of(const TrainResults& run, const RunSummary& summary) {
  const bool tested = summary.test && std::isfinite(summary.test->at(run.metric.key));
  const std::optional<EvaluationSummary>& evaluated_now =
      run.settings.overfit > 0 ? summary.overfit : summary.dev;
  const std::optional<EvaluationSummary>& shown = tested ? summary.test : evaluated_now;
  if (!shown) return {};
  std::vector<Tile> tiles = run.task.tiles(*shown);
  const Split of = tested ? Split::test : evaluated_split(run.settings);
  for (Tile& tile : tiles) tile.note = name_of(of);
  return tiles;
}

}  // namespace

std::optional<Split> judged_split(const SampleStore& store) {
  for (const Split split : {Split::test, Split::dev}) {
    if (store.size(split) > 0) return split;
  }
  return std::nullopt;
}

Split chosen_split(const std::string& name, const SampleStore& store) {
  if (name.empty()) {
    return judged_split(store).value_or(Split::train);
  }
  for (const Split split : {Split::train, Split::dev, Split::test}) {
    if (name != name_of(split)) continue;
    if (store.size(split) > 0) return split;
    throw InputError(65, concat("the data has no ", name, " samples"),
                     "choose another split with --on");
  }
  throw InputError(2, concat("--on: '", name, "' is none of train|dev|test"),
                   concat("did you mean '", nearest_name(name, {"train", "dev", "test"}), "'?"));
}

void print_results(const Scorer& scorer,
                   const ScoredSplit& scored,
                   const std::string& predictions) {
  for (const std::string& line : scorer.lines(scored.name, predictions)) print_line(line);
  const std::string folded = folded_text(scored.name, scored.store.size(scored.split),
                                         scored_texts(scored.store, scored.split));
  if (folded.empty()) return;
  print_line(concat(folded, scorer.joins_samples()
                                ? "; a text has one answer, from the mean of its samples"
                                : "; the scores are of samples, so a long text counts several "
                                  "times"));
}

std::vector<RunHost> hosts_of(const Topology& topology) {
  std::vector<RunHost> hosts;
  for (int i = 0; i < topology.hosts(); ++i) {
    hosts.push_back({topology.host_name(i), topology.local_sizes[static_cast<std::size_t>(i)]});
  }
  return hosts;
}

Split evaluated_split(const RunSettings& settings) {
  return settings.overfit > 0 ? Split::train : Split::dev;
}

RunSummary summary_of(const RunSettings& settings,
                      const TrainResult& trained,
                      const Topology& topology) {
  RunSummary summary;
  summary.task = settings.task_name;
  summary.model = settings.model;
  summary.world = topology.size();
  summary.hosts = topology.hosts();
  summary.device = settings.rank_device.text;
  summary.steps = trained.end.step;
  summary.epochs = trained.epochs;
  summary.train = trained.summary;
  (settings.overfit > 0 ? summary.overfit : summary.dev) = trained.end.dev;
  summary.ended = name_of(trained.ended);
  if (trained.ended != RunEnd::steps) summary.ended_early = trained.ended_text;
  summary.final_weights = "last";
  summary.final_step = trained.end.step;
  summary.comm.bytes = trained.end.totals.gradient_bytes;
  summary.comm.seconds_exposed = trained.end.totals.seconds_exposed;
  return summary;
}

void write_results(const TrainResults& run, const Scorer& scorer, Split split) {
  const std::string predictions = run.folder.file("predictions.csv");
  scorer.write_predictions(predictions);
  print_results(scorer, {run.store, split, name_of(split)}, predictions);
  std::string mentioned;
  for (const ResultFile& file : scorer.files()) {
    write_whole_file(run.folder.file(file.name), file.content);
    if (!file.mentioned) continue;
    mentioned += (mentioned.empty() ? "" : ", ") + run.folder.file(file.name);
  }
  if (!mentioned.empty()) print_line("tables  " + mentioned);
}

void write_report(const TrainResults& run, RunSummary summary, const Scorer* scorer) {
  if (scorer != nullptr) summary.lengths = lengths_in(run.store);
  write_whole_file(run.folder.file("summary.json"), to_json(summary));
  Report report;
  report.title = run.settings.run;
  report.summary = summary;
  report.metrics = read_metrics(run.folder.file("metrics.jsonl"));
  report.main_score = run.metric.key;
  report.higher_is_better = run.metric.higher_is_better;
  report.tiles = tiles_of(run, summary);
  if (scorer != nullptr) {
    report.results = scorer->sections();
    report.result_files = {"predictions.csv"};
    for (const ResultFile& file : scorer->files()) report.result_files.push_back(file.name);
  }
  report.settings = run.settings.settings;
  report.hosts = run.hosts;
  report.sessions = read_sessions(run.folder.file("sessions.jsonl"));
  write_whole_file(run.folder.file("report.html"), render_report(report));
}

void store_in_database(const std::string& database,
                       const std::string& folder,
                       RunState state,
                       const std::vector<PredictionColumn>& columns) {
  if (database.empty()) return;
  try {
    RunToStore stored{read_run(folder), columns};
    stored.run.state = state;
    store_run(database, stored);
  } catch (const std::exception& error) {
    log(LogLevel::warn, concat("--runs-db: the run is not in ", database, ": ", error.what(),
                               "; its folder is not affected"));
  }
}

}  // namespace bp::trainer
