#include "trainer/report/report.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/parameter_table.h"
#include "trainer/report/sections.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {

namespace {

// "2026-11-24 03:02 UTC"
std::string date_text(std::string time) {
  constexpr std::size_t kMinutes = 16;
  time.resize(std::min(time.size(), kMinutes));
  std::ranges::replace(time, 'T', ' ');
  return time + " UTC";
}

std::string trained_text(const Report& report) {
  const RunSummary& run = report.summary;
  return concat(run.task, " with a ", run.model, " model, trained for ", counted(run.steps, "step"),
                run.train.skipped > 0
                    ? concat(", ", with_commas(run.train.skipped), " of them skipped for overflow")
                    : "",
                " (", brief(run.epochs), run.epochs == 1 ? " epoch" : " epochs", ") on ",
                counted(run.world, "rank"), " on ", counted(run.hosts, "host"), ".",
                run.ended_early.empty() ? "" : concat(" It ended early: ", run.ended_early, "."),
                run.final_weights == "best"
                    ? concat(" The model is that of step ", with_commas(run.final_step),
                             ", the best on dev by ", run.best_metric, ".")
                    : "");
}

// What was trained, then when, where and with which version.
std::vector<std::string> about(const Report& report) {
  std::vector<std::string> lines = {trained_text(report)};
  for (const Session& session : report.sessions) {
    const std::string start =
        session.from_step == 0 ? "Begun" : "Resumed at step " + with_commas(session.from_step);
    lines.push_back(concat(start, " on ", date_text(session.begun), " with bert_train ",
                           session.version, "; rank 0 has ", session.machine, "."));
  }
  if (const EvaluationRecord* best = best_dev(report)) {
    lines.push_back(concat("Best dev ", report.main_score, ": ",
                           fixed(best->result.at(report.main_score), 4), " at step ",
                           with_commas(best->step), " (epoch ", brief(best->epoch), ")."));
  }
  return lines;
}

std::vector<Tile> tiles_of(const Report& report) {
  const RunSummary& run = report.summary;
  const double seconds = run.train.seconds;
  const double exposed = seconds > 0 ? 100 * run.comm.seconds_exposed / seconds : 0;
  const std::string time =
      std::isfinite(seconds) ? clock_text(std::chrono::seconds(std::llround(seconds))) : "?";
  std::vector<Tile> tiles = report.tiles;
  tiles.push_back({"Throughput", rate_text(run.train.samples_per_s), "samples/s"});
  tiles.push_back({"Communication", fixed(exposed, 1) + " %", "of training time"});
  tiles.push_back({"Training time", time, seconds < 3600 ? "min:s" : "h:min:s"});
  return tiles;
}

// Every score of each split.
Section scores_section(const Report& report) {
  Section section{.title = "Scores", .table = {.columns = {{"score"}}}};
  std::vector<const EvaluationSummary*> splits;
  for (const auto& [name, scores] :
       {std::pair("dev", &report.summary.dev), std::pair("test", &report.summary.test)}) {
    if (!*scores) continue;
    section.table.columns.push_back({name});
    splits.push_back(&**scores);
  }
  if (splits.empty()) return section;
  for (const auto& [key, value] : splits.back()->scores) {
    std::vector<std::string> row = {key};
    for (const EvaluationSummary* scores : splits) {
      const double score = scores->at(key);
      row.push_back(std::isfinite(score) ? fixed(score, 4) : "-");
    }
    section.table.add(std::move(row));
  }
  return section;
}

Section hosts_section(const Report& report) {
  Section section{.title = "Hosts", .table = {.columns = {{}, {}, {.left = true}}}, .half = true};
  int first = 0;
  int most = 1;
  for (const Host& host : report.hosts) most = std::max(most, host.ranks);
  for (const Host& host : report.hosts) {
    const int last = first + host.ranks - 1;
    const std::string ranks =
        first == last ? concat("rank ", first) : concat("ranks ", first, " to ", last);
    section.table.rows.push_back(
        {{{.text = host.name},
          {.look = Cell::Look::bar, .share = static_cast<double>(host.ranks) / most},
          {.text = ranks}}});
    first += host.ranks;
  }
  return section;
}

// Options with their defaults are of less interest, so they are folded away.
Section settings_section(const Report& report) {
  Section section{.title = "Settings",
                  .table = {.columns = {{"name"}, {"value", true}, {"given by", true}}},
                  .open = 0};
  const auto add = [&](bool defaults) {
    for (const Setting& setting : report.settings) {
      const bool is_default = setting.origin.empty() || setting.origin == "default";
      if (is_default == defaults) section.table.add({setting.key, setting.value, setting.origin});
    }
  };
  add(false);
  section.open = section.table.rows.size();
  add(true);
  section.fold =
      counted(static_cast<std::int64_t>(section.table.rows.size() - section.open), "option") +
      " with the default";
  return section;
}

// Returns "summary.json, predictions.csv and metrics.jsonl".
std::string files_behind(const Report& report) {
  std::string text = "summary.json";
  for (const std::string& file : report.result_files) text += ", " + file;
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
  return page_html(
      {.title = report.title,
       .about = about(report),
       .tiles = tiles_of(report),
       .sections =
           joined({{loss_section(report)},
                   report.results,
                   {lengths_section(report.summary.lengths), scores_section(report),
                    course_section(report), time_section(report), hosts_section(report),
                    parameters_section(report.summary.parameters), settings_section(report)}}),
       .footer =
           concat("Written by bert_train. The numbers behind this page: ", files_behind(report),
                  report.folder.empty() ? " beside it" : " in " + report.folder, ".")});
}

}  // namespace bp::trainer
