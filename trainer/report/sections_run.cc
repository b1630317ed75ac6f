#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "base/text.h"
#include "trainer/report/sections.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

Series of_steps(const Report& report,
                const std::string& name,
                double StepRecord::*value,
                Series::Look look = Series::Look::noisy) {
  Series series{.name = name, .look = look};
  for (const StepRecord& record : report.metrics.steps) {
    series.x.push_back(static_cast<double>(record.step));
    series.y.push_back(record.*value);
  }
  return series;
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

Series of_dev(const Report& report, const std::string& key) {
  Series series{.name = "dev " + key, .look = Series::Look::dots};
  for (const EvaluationRecord& record : report.metrics.evaluations) {
    if (record.split == "dev") {
      series.x.push_back(static_cast<double>(record.step));
      series.y.push_back(record.result.at(key));
    }
  }
  return series;
}

// Returns "train loss 0.693 at first, 0.102 at last": the curve for readers who cannot see it.
std::string spoken(const Series& series) {
  return series.y.empty() ? ""
                          : concat(series.name, ' ', brief(series.y.front()), " at first, ",
                                   brief(series.y.back()), " at last");
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

}  // namespace

Section loss_section(const Report& report) {
  Section section{.title = "Loss"};
  Chart chart{.marks = marks_of(report)};
  for (const Series& series :
       {of_steps(report, "train loss", &StepRecord::loss), of_dev(report, "loss")}) {
    if (series.x.empty()) continue;
    chart.title += (chart.title.empty() ? "" : "; ") + spoken(series);
    chart.series.push_back(series);
  }
  if (!chart.series.empty()) section.charts = {chart};
  return section;
}

Section course_section(const Report& report) {
  std::vector<Series> all;
  if (report.main_score != "loss") all.push_back(of_dev(report, report.main_score));
  all.push_back(of_steps(report, "learning rate", &StepRecord::lr, Series::Look::line));
  all.push_back(of_steps(report, "gradient norm", &StepRecord::grad_norm));
  all.push_back(of_steps(report, "samples/s", &StepRecord::samples_per_s));
  for (const Series& figure : of_figures(report)) all.push_back(figure);
  Section section{.title = "Course of the run"};
  for (const Series& series : all) {
    if (series.x.empty()) continue;
    section.charts.push_back({.title = spoken(series), .heading = series.name, .series = {series}});
  }
  return section;
}

Section time_section(const Report& report) {
  constexpr std::array kNames = {"computing", "communication that nothing hid", "waiting for data"};
  std::array<double, kNames.size()> sums{};
  double all = 0;
  for (const StepRecord& record : report.metrics.steps) {
    const double parts[] = {record.compute_ms, record.comm_exposed_ms, record.data_wait_ms};
    for (std::size_t k = 0; k < sums.size(); ++k) {
      const double ms = std::isfinite(parts[k]) ? parts[k] : 0;
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

}  // namespace bp::trainer
