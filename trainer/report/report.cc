#include "trainer/report/report.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/report/parameter_table.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

const EvaluationRecord* best_dev(const Report& report) {
  return report.metrics.best_dev({report.main_score, report.higher_is_better});
}

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
                run.train.split_batches > 0
                    ? concat(", ", counted(run.train.split_batches, "batch"),
                             " computed in pieces for want of memory")
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
                           score_text(best->result.at(report.main_score)), " at step ",
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
      row.push_back(score_text(scores->at(key)));
    }
    section.table.add(std::move(row));
  }
  return section;
}

Section hosts_section(const Report& report) {
  Section section{.title = "Hosts", .table = {.columns = {{}, {}, {.left = true}}}, .half = true};
  int first = 0;
  int most = 1;
  for (const RunHost& host : report.hosts) most = std::max(most, host.ranks);
  for (const RunHost& host : report.hosts) {
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

// The curves of all figures that steps reported, in the order of their first records.
std::vector<Series> of_figures(const Report& report) {
  std::vector<Series> all;
  for (const StepRecord& record : report.metrics.steps) {
    for (const auto& [name, value] : record.figures) {
      auto found = std::ranges::find(all, name, &Series::name);
      if (found == all.end()) {
        found = all.insert(found, {.name = name, .look = Series::Look::noisy});
      }
      found->x.push_back(static_cast<double>(record.step));
      found->y.push_back(value);
    }
  }
  return all;
}

// Returns "train loss 0.693 at first, 0.102 at last": the curve for readers who cannot see it.
std::string spoken(const Series& series) {
  return series.y.empty() ? ""
                          : concat(series.name, ' ', brief(series.y.front()), " at first, ",
                                   brief(series.y.back()), " at last");
}

// How many of a step's rows each rank took: the line of a rank is above those before it by as many.
Chart rows_chart(const Report& report) {
  Chart chart{.heading = "rows of a step by rank, added up"};
  for (const StepRecord& record : report.metrics.steps) {
    std::int64_t sum = 0;
    chart.series.resize(std::max(chart.series.size(), record.rows.size()));
    for (std::size_t rank = 0; rank < record.rows.size(); ++rank) {
      Series& series = chart.series[rank];
      sum += record.rows[rank];
      series.name = concat("rank ", rank);
      series.x.push_back(static_cast<double>(record.step));
      series.y.push_back(static_cast<double>(sum));
    }
  }
  if (!chart.series.empty()) chart.title = spoken(chart.series.front());
  return chart;
}

// The best evaluation, and where the run was resumed.
std::vector<Mark> marks_of(const Report& report) {
  std::vector<Mark> marks;
  const EvaluationRecord* const best = best_dev(report);
  if (best != nullptr) marks.push_back({static_cast<double>(best->step), "best"});
  for (const Session& session : report.sessions) {
    if (session.from_step > 0) {
      marks.push_back({static_cast<double>(session.from_step), "resumed"});
    }
  }
  return marks;
}

// Train and dev loss.
Section loss_section(const Report& report) {
  Section section{.title = "Loss"};
  Chart chart{.marks = marks_of(report)};
  for (const Series& series : {of_steps(report.metrics, "train loss", &StepRecord::loss),
                               of_dev(report.metrics, "loss")}) {
    if (series.x.empty()) continue;
    chart.title += (chart.title.empty() ? "" : "; ") + spoken(series);
    chart.series.push_back(series);
  }
  if (!chart.series.empty()) section.charts = {chart};
  return section;
}

// Accuracy, norm, rate.
Section course_section(const Report& report) {
  std::vector<Series> all;
  if (report.main_score != "loss") all.push_back(of_dev(report.metrics, report.main_score));
  all.push_back(of_steps(report.metrics, "learning rate", &StepRecord::lr, Series::Look::line));
  all.push_back(of_steps(report.metrics, "gradient norm", &StepRecord::grad_norm));
  all.push_back(of_steps(report.metrics, "samples/s", &StepRecord::samples_per_s));
  for (const Series& figure : of_figures(report)) all.push_back(figure);
  Section section{.title = "Course of the run"};
  for (const Series& series : all) {
    if (series.x.empty()) continue;
    section.charts.push_back({.title = spoken(series), .heading = series.name, .series = {series}});
  }
  const Chart rows = rows_chart(report);
  if (!rows.series.empty()) section.charts.push_back(rows);
  return section;
}

// What a step's time was spent on.
Section time_section(const Report& report) {
  constexpr std::array kNames = {"computing", "communication that nothing hid", "waiting for data"};
  std::array<double, kNames.size()> sums{};
  double all = 0;
  for (const StepRecord& record : report.metrics.steps) {
    const std::array<double, kNames.size()> parts = {record.compute_ms, record.comm_exposed_ms,
                                                     record.data_wait_ms};
    for (std::size_t k = 0; k < sums.size(); ++k) {
      const double ms = std::isfinite(parts.at(k)) ? parts.at(k) : 0;
      sums.at(k) += ms;
      all += ms;
    }
  }
  Section section{
      .title = "Where a step's time goes",
      .remark = concat(rate_text(report.summary.train.tokens_per_s), " tokens/s, ",
                       rate_text(report.summary.train.samples_per_s),
                       " samples/s in all. Mean of the logged steps, as rank 0 saw them."),
      .half = true};
  if (!(all > 0)) return {};
  const auto steps = static_cast<double>(report.metrics.steps.size());
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const double share = sums.at(k) / all;
    section.portions.push_back(
        {kNames.at(k), share,
         concat(fixed(sums.at(k) / steps, 1), " ms (", fixed(100 * share, 1), "%)")});
  }
  return section;
}

// Returns "summary.json, predictions.csv and metrics.jsonl".
std::string files_behind(const Report& report) {
  std::string text = "summary.json";
  for (const std::string& file : report.result_files) text += ", " + file;
  return text + " and metrics.jsonl";
}

}  // namespace

Series of_steps(const Metrics& metrics,
                const std::string& name,
                double StepRecord::*value,
                Series::Look look) {
  Series series{.name = name, .look = look};
  for (const StepRecord& record : metrics.steps) {
    series.x.push_back(static_cast<double>(record.step));
    series.y.push_back(record.*value);
  }
  return series;
}

Series of_dev(const Metrics& metrics, const std::string& key) {
  Series series{.name = "dev " + key, .look = Series::Look::dots};
  for (const EvaluationRecord& record : metrics.evaluations) {
    if (record.split == "dev") {
      series.x.push_back(static_cast<double>(record.step));
      series.y.push_back(record.result.at(key));
    }
  }
  return series;
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
