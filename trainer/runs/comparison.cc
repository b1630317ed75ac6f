#include "trainer/runs/comparison.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "base/report/section.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/common/text_list.h"
#include "trainer/report/report.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

constexpr const char* kNone = "-";
constexpr std::size_t kLongestValue = 40;

double dev_score(const EvaluationRecord* record, const std::string& key) {
  return record == nullptr ? std::nan("") : record->result.at(key);
}

std::string last_parts(const std::string& path, std::size_t count) {
  std::filesystem::path rest = path;
  std::string name;
  for (std::size_t i = 0; i < count && !rest.filename().empty(); ++i) {
    name = concat(rest.filename().string(), name.empty() ? "" : "/", name);
    rest = rest.parent_path();
  }
  return name.empty() ? path : name;
}

// Runs of different tasks have different main scores.
bool share_main_score(const std::vector<RunRecord>& runs) {
  return std::ranges::all_of(runs, [&](const RunRecord& run) {
    return run.main_score.key == runs.front().main_score.key;
  });
}

// Returns the numbers of the runs that charts show, in their order.
std::vector<std::size_t> drawn_runs(const std::vector<RunRecord>& runs) {
  std::vector<std::size_t> drawn(runs.size());
  std::iota(drawn.begin(), drawn.end(), std::size_t{0});
  if (drawn.size() <= kMostRunColours) return drawn;
  const auto badness = [&](std::size_t i) {
    const MainScore& main = runs[i].main_score;
    const double score = dev_score(runs[i].best_dev(), main.key);
    if (!std::isfinite(score)) return std::numeric_limits<double>::infinity();
    return main.higher_is_better ? -score : score;
  };
  std::ranges::stable_sort(drawn, {}, badness);
  drawn.resize(kMostRunColours);
  std::ranges::sort(drawn);
  return drawn;
}

Section chart_section(const std::string& title,
                      const std::vector<RunRecord>& runs,
                      const std::function<Series(const RunRecord&)>& series_of) {
  const std::vector<std::string> names = short_names(runs);
  const std::vector<std::size_t> drawn = drawn_runs(runs);
  Chart chart{.title = title + " of each run", .of_runs = true};
  bool any = false;
  for (const std::size_t i : drawn) {
    chart.series.push_back(series_of(runs[i]));
    chart.series.back().name = names[i];
    any = any || !chart.series.back().x.empty();
  }
  Section section{.title = title};
  if (drawn.size() < runs.size()) {
    section.note =
        concat("Of the ", drawn.size(), " runs with the best scores of ", runs.size(), ".");
  }
  if (any) section.charts.push_back(std::move(chart));
  return section;
}

}  // namespace

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return kNone;
  return clock_text(std::chrono::seconds(std::llround(seconds)));
}

std::vector<std::string> short_names(const std::vector<RunRecord>& runs) {
  constexpr std::size_t kMostParts = 64;
  std::vector<std::string> names;
  for (std::size_t parts = 1; parts <= kMostParts; ++parts) {
    names.clear();
    for (const RunRecord& run : runs) names.push_back(last_parts(run.path, parts));
    if (std::set(names.begin(), names.end()).size() == names.size()) break;
  }
  return names;
}

Table compared_runs(const std::vector<RunRecord>& runs) {
  const bool same = share_main_score(runs);
  const std::string score = same ? runs.front().main_score.key : "score";
  Table table = table_of({"run", "state", "best dev " + score, "at step", "last dev", "test",
                          "train loss", "steps", "time", "rows/s"});
  const std::vector<std::string> names = short_names(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& run = runs[i];
    const std::string& key = run.main_score.key;
    const EvaluationRecord* const best = run.best_dev();
    const double rate = run.samples_per_second();
    const std::string best_score = score_text(dev_score(best, key));
    table.add({names[i], name_of(run.state),
               same || best == nullptr ? best_score : concat(key, ' ', best_score),
               best == nullptr ? kNone : with_commas(best->step),
               score_text(dev_score(run.last_dev(), key)), score_text(run.test(key)),
               score_text(run.train_loss()), with_commas(run.steps()),
               duration_text(run.train_seconds()), std::isfinite(rate) ? rate_text(rate) : kNone});
  }
  const std::vector<std::size_t> drawn = drawn_runs(runs);
  for (std::size_t k = 0; k < drawn.size(); ++k) table.rows[drawn[k]].cells.front().run = k;
  return table;
}

Table differing_settings(const std::vector<RunRecord>& runs) {
  Table table = table_of({"setting"});
  for (const std::string& name : short_names(runs)) table.columns.push_back({name});
  std::vector<std::string> keys;
  for (const RunRecord& run : runs) {
    for (const Setting& setting : run.settings) {
      if (setting.key == "run" || setting.key == "resume") continue;
      if (std::ranges::find(keys, setting.key) == keys.end()) keys.push_back(setting.key);
    }
  }
  for (const std::string& key : keys) {
    std::vector<std::string> row = {key};
    std::set<std::string> values;
    for (const RunRecord& run : runs) {
      const std::string value = value_of(run.settings, key);
      values.insert(value);
      row.push_back(value.empty() ? kNone : shortened(repaired_utf8(value), kLongestValue));
    }
    if (values.size() > 1) table.add(std::move(row));
  }
  return table;
}

std::string comparison_text(const std::vector<RunRecord>& runs, int columns) {
  const Table settings = differing_settings(runs);
  return concat(terminal_text(compared_runs(runs), {.columns = columns}), '\n',
                settings.rows.empty() ? "all settings are the same\n"
                                      : terminal_text(settings, {.columns = columns}));
}

std::string comparison_page(const std::vector<RunRecord>& runs) {
  Page page{.title = concat(runs.size(), " runs"),
            .about = {list_of(runs, ", ", &RunRecord::path)},
            .sections = {{.title = "Results", .table = compared_runs(runs)}},
            .footer = concat("Written by bert_train report, at ", utc_now(), ".")};
  std::set<std::string> shown = {"loss"};
  for (const RunRecord& run : runs) {
    const std::string& key = run.main_score.key;
    if (!shown.insert(key).second) continue;
    page.sections.push_back(chart_section(
        "dev " + key, runs, [&](const RunRecord& one) { return of_dev(one.metrics, key); }));
  }
  page.sections.push_back(chart_section("train loss", runs, [](const RunRecord& run) {
    return of_steps(run.metrics, "", &StepRecord::loss, Series::Look::smooth);
  }));
  page.sections.push_back(chart_section(
      "dev loss", runs, [](const RunRecord& run) { return of_dev(run.metrics, "loss"); }));
  Section settings{.title = "Settings that differ", .table = differing_settings(runs)};
  if (settings.table.rows.empty()) settings.remark = "All settings are the same.";
  page.sections.push_back(settings);
  return page_html(page);
}

}  // namespace bp::trainer
