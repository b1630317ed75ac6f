// The sections about the course of the run: curves, time, hosts, settings.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/text.h"
#include "trainer/report/chart.h"
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

std::string small_chart(const Series& series) {
  if (series.x.empty()) {
    return "";
  }
  return concat("<div><h3>", html(series.name), "</h3>",
                render_chart({.title = spoken(series), .series = {series}}), "</div>\n");
}

struct Share {
  const char* name;
  const char* colour;
  double ms;
};

}  // namespace

std::string loss_section(const Report& report) {
  const Series train = of_steps(report, "train loss", &StepRecord::loss);
  const Series dev = of_dev(report, "loss");
  Chart chart{.title = spoken(train)};
  if (!train.x.empty()) {
    chart.series.push_back(train);
  }
  if (!dev.x.empty()) {
    chart.title += (chart.title.empty() ? "" : "; ") + spoken(dev);
    chart.series.push_back(dev);
  }
  chart.marks = marks_of(report);
  return chart.series.empty() ? ""
                              : concat("<section class=\"card\"><h2>Loss</h2>\n",
                                       render_chart(chart), "</section>\n");
}

std::string course_section(const Report& report) {
  std::string charts =
      (report.main_score == "loss" ? "" : small_chart(of_dev(report, report.main_score))) +
      small_chart(of_steps(report, "learning rate", &StepRecord::lr, Series::Look::line)) +
      small_chart(of_steps(report, "gradient norm", &StepRecord::grad_norm)) +
      small_chart(of_steps(report, "samples/s", &StepRecord::samples_per_s));
  for (const Series& figure : of_figures(report)) charts += small_chart(figure);
  return charts.empty() ? ""
                        : concat(
                              "<section class=\"card\"><h2>Course of the run</h2>\n"
                              "<div class=\"grid-of-charts\">",
                              charts, "</div></section>\n");
}

std::string time_section(const Report& report) {
  Share shares[] = {{"computing", "first", 0},
                    {"communication that nothing hid", "second", 0},
                    {"waiting for data", "third", 0}};
  double sum = 0;
  for (const StepRecord& record : report.metrics.steps) {
    const double parts[] = {record.compute_ms, record.comm_exposed_ms, record.data_wait_ms};
    for (std::size_t k = 0; k < std::size(shares); ++k) {
      const double ms = std::isfinite(parts[k]) ? parts[k] : 0;
      shares[k].ms += ms;
      sum += ms;
    }
  }
  if (!(sum > 0)) {
    return "";
  }
  const auto steps = static_cast<double>(report.metrics.steps.size());
  std::string bar;
  std::string legend;
  for (const Share& share : shares) {
    const double percent = kPercent * share.ms / sum;
    bar +=
        concat("<div class=\"", share.colour, "\" style=\"width:", fixed(percent, 2), "%\"></div>");
    legend += concat("<li class=\"", share.colour, "\"><i></i>", share.name, ": ",
                     fixed(share.ms / steps, 1), " ms (", fixed(percent, 1), "%)</li>");
  }
  return concat(
      "<section class=\"card\"><h2>Where a step's time goes</h2>\n"
      "<div class=\"bar\" aria-hidden=\"true\">",
      bar, "</div><ul class=\"legend\">", legend, "</ul>\n<p class=\"quiet\">",
      rate_text(report.summary.train.tokens_per_s), " tokens/s, ",
      rate_text(report.summary.train.samples_per_s),
      " samples/s in all. Mean of the logged steps, as rank 0 saw them.</p></section>\n");
}

std::string hosts_section(const Report& report) {
  if (report.hosts.empty()) {
    return "";
  }
  constexpr int kMostSquares = 32;
  std::string rows;
  int first = 0;
  for (const Host& host : report.hosts) {
    std::string squares;
    for (int k = 0; k < host.ranks && k < kMostSquares; ++k) {
      squares += "<i></i>";
    }
    const int last = first + host.ranks - 1;
    rows += concat("<tr><th scope=\"row\">", html(host.name), "</th><td class=\"text ranks\">",
                   squares, ' ', first == last ? "rank " : "ranks ", first,
                   first == last ? "" : concat(" to ", last), "</td></tr>\n");
    first += host.ranks;
  }
  return concat("<section class=\"card\"><h2>Hosts</h2>\n<table><tbody>\n", rows,
                "</tbody></table></section>\n");
}

// Options with their defaults are of less interest, so they are folded away.
std::string settings_section(const Report& report) {
  std::string given;
  std::string defaults;
  std::int64_t folded = 0;
  for (const Setting& setting : report.settings) {
    const bool is_default = setting.origin.empty() || setting.origin == "default";
    std::string& rows = is_default ? defaults : given;
    folded += is_default ? 1 : 0;
    rows += concat("<tr><th scope=\"row\">", html(setting.key), "</th><td>", html(setting.value),
                   "</td><td>", html(setting.origin), "</td></tr>\n");
  }
  if (given.empty() && defaults.empty()) return "";
  const auto table = [](const std::string& rows) {
    return concat(
        "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">name</th><td>value</td>"
        "<td>given by</td></tr></thead>\n<tbody>\n",
        rows, "</tbody></table></div>");
  };
  return concat(
      "<section class=\"card settings\"><h2>Settings</h2>\n", given.empty() ? "" : table(given),
      defaults.empty() ? ""
                       : concat("<details><summary>", counted(folded, "option"),
                                " with the default</summary>", table(defaults), "</details>"),
      "</section>\n");
}

}  // namespace bp::trainer
