#include "launcher/sweep/report/sweep_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/report/escape.h"
#include "base/report/section.h"
#include "base/text.h"
#include "launcher/report/clock_text.h"
#include "launcher/sweep/report/importance.h"
#include "launcher/sweep/report/plot_axis.h"

namespace bp::launcher::sweep {
namespace {

constexpr std::size_t kMostRowsShown = 2000;
constexpr std::size_t kMostDrawn = 1000;  // trials in one chart
constexpr int kDigits = 6;

const TrialRecord* best_of(const PageData& page) {
  return page.trials.empty() || !page.trials.front().result ? nullptr : &page.trials.front();
}

std::vector<Tile> tiles(const PageData& page) {
  std::array<int, kTrialStates> counts{};
  double seconds = 0;
  for (const TrialRecord& trial : page.trials) {
    ++counts.at(static_cast<std::size_t>(trial.state));
    seconds += trial.seconds;
  }
  std::vector<Tile> tiles;
  if (const TrialRecord* best = best_of(page)) {
    tiles.push_back({.name = concat("best ", page.metric),
                     .value = brief(*best->result, kDigits),
                     .note = concat("trial ", best->number)});
  }
  for (std::size_t state = 0; state < counts.size(); ++state) {
    if (counts.at(state) == 0) continue;
    tiles.push_back({.name = std::string(name_of(static_cast<TrialState>(state))),
                     .value = std::to_string(counts.at(state))});
  }
  tiles.push_back({.name = "time of all trials", .value = elapsed_text(seconds)});
  return tiles;
}

Section best_section(const PageData& page) {
  Section section{.title = "Best trial", .table = {.columns = {{}, {.left = true}}}};
  const TrialRecord* best = best_of(page);
  if (best == nullptr) return section;
  for (const auto& [name, value] : best->parameters) section.table.add({name, value.text()});
  section.table.add({"step", std::to_string(best->result_step)});
  section.table.add({"time", elapsed_text(best->seconds)});
  section.table.add({"folder", page.best_folder});
  return section;
}

Section learning_curves(const PageData& page) {
  Chart chart{.title = page.metric + " of the best trials", .of_runs = true};
  for (std::size_t i = 0; i < page.reports.size(); ++i) {
    const TrialRecord& trial = page.trials[i];
    Series series{
        .name = concat("trial ", trial.number, ": ", brief(trial.result.value_or(0), kDigits))};
    for (const Report& report : page.reports[i]) {
      if (!std::isfinite(report.value)) continue;
      series.x.push_back(static_cast<double>(report.step));
      series.y.push_back(report.value);
    }
    if (!series.x.empty()) chart.series.push_back(std::move(series));
  }
  Section section{.title = "Learning curves", .note = "The best trials."};
  if (!chart.series.empty()) section.charts.push_back(std::move(chart));
  return section;
}

Section importance_section(const PageData& page) {
  const Importances found = importances_of(page.trials);
  Section section{
      .title = "Importance of the parameters",
      .note = concat(
          "Share of the variance that a forest of 64 regression trees explains by splits at each "
          "parameter. On trials that a tree did not see, the forest explains ",
          std::lround(100 * found.explained), " % of the variance",
          found.explained < 0.3 ? ": too little to rely on these shares." : "."),
      .table = {.columns = {{}, {}, {}}}};
  for (const Importance& one : found.parameters) {
    section.table.rows.push_back({{{.text = one.name},
                                   {.look = Cell::Look::bar, .share = one.share},
                                   {.text = concat(std::lround(100 * one.share), " %")}}});
  }
  return section;
}

std::vector<const TrialRecord*> drawn_trials(const PageData& page) {
  std::vector<const TrialRecord*> drawn;
  for (const TrialRecord& trial : page.trials) {
    if (trial.result && std::isfinite(*trial.result)) drawn.push_back(&trial);
    if (drawn.size() == kMostDrawn) break;
  }
  if (drawn.size() < 2) drawn.clear();
  return drawn;
}

std::string pointed_at(const PageData& page, const TrialRecord& trial) {
  return concat("trial ", trial.number, ": ", page.metric, " ", brief(*trial.result, kDigits), "\n",
                shown(trial.parameters));
}

Section parallel_section(const PageData& page) {
  Section section{.title = "Parallel coordinates",
                  .note =
                      "One line for each trial; the better it is, the stronger, and the best "
                      "one has its own colour."};
  const auto trials = drawn_trials(page);
  const auto names = parameter_names(page.trials);
  if (trials.empty() || names.empty()) return section;
  std::vector<PlotAxis> axes;
  for (const std::string& name : names) axes.push_back(PlotAxis::of_parameter(page.trials, name));
  std::vector<double> results;
  for (const TrialRecord* trial : trials) results.push_back(*trial->result);
  axes.push_back(PlotAxis::of_numbers(results, false));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    section.parallel.poles.push_back({i < names.size() ? names[i] : page.metric, axes[i].ticks()});
  }
  for (const TrialRecord* trial : trials) {
    ParallelCoordinates::Line& line = section.parallel.lines.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) {
      line.at.push_back(axes[i].position(find_value(trial->parameters, names[i])));
    }
    line.at.emplace_back(axes.back().position(*trial->result));
    line.note = pointed_at(page, *trial);
  }
  return section;
}

Chart scatter(const PageData& page,
              const std::vector<const TrialRecord*>& trials,
              const std::string& name) {
  const PlotAxis axis = PlotAxis::of_parameter(page.trials, name);
  Chart chart{.title = concat(page.metric, " by ", name),
              .heading = name,
              .x_name = "",
              .series = {{.look = Series::Look::points}, {.look = Series::Look::points}},
              .x_range = Range{0, 1},
              .x_ticks = axis.ticks()};
  for (std::size_t rank = trials.size(); rank-- > 0;) {  // the best lies on top
    const TrialRecord& trial = *trials[rank];
    auto at = axis.position(find_value(trial.parameters, name));
    if (!at) continue;
    // Trials with the same category lie beside each other.
    if (axis.has_categories()) *at += 0.012 * (static_cast<double>(trial.number * 7 % 11) - 5) / 2;
    Series& series = chart.series[rank == 0 ? 1 : 0];
    series.x.push_back(*at);
    series.y.push_back(*trial.result);
    series.notes.push_back(pointed_at(page, trial));
  }
  return chart;
}

Section scatter_section(const PageData& page) {
  Section section{.title = "Parameters and results", .note = "One point for each trial."};
  const auto trials = drawn_trials(page);
  if (trials.empty()) return section;
  for (const std::string& name : parameter_names(page.trials)) {
    section.charts.push_back(scatter(page, trials, name));
  }
  return section;
}

Cell keyed(const std::string& text, double key) { return {.text = text, .key = key}; }

bool is_text(const PageData& page, const std::string& name) {
  return std::ranges::any_of(page.trials, [&](const TrialRecord& trial) {
    const Value* value = find_value(trial.parameters, name);
    return value != nullptr && !value->is_number();
  });
}

Section trials_section(const PageData& page) {
  const auto names = parameter_names(page.trials);
  Table table{.columns = {{"trial"}, {page.metric.empty() ? "result" : page.metric}},
              .look = Table::Look::sortable};
  for (const std::string& name : names) table.columns.push_back({name, is_text(page, name)});
  for (const Table::Column& column : std::initializer_list<Table::Column>{
           {"state", true}, {"step"}, {"time"}, {"hosts", true}, {"why it ended early", true}}) {
    table.columns.push_back(column);
  }
  for (std::size_t i = 0; i < std::min(page.trials.size(), kMostRowsShown); ++i) {
    const TrialRecord& trial = page.trials[i];
    std::vector<Cell>& cells = table.rows.emplace_back().cells;
    cells = {keyed(std::to_string(trial.number), trial.number),
             trial.result ? keyed(brief(*trial.result, kDigits), *trial.result) : Cell()};
    for (const std::string& name : names) {
      const Value* value = find_value(trial.parameters, name);
      cells.push_back(value == nullptr     ? Cell()
                      : value->is_number() ? keyed(value->text(), value->number())
                                           : Cell{.text = value->text()});
    }
    cells.push_back({.text = std::string(name_of(trial.state))});
    cells.push_back(
        keyed(std::to_string(trial.result_step), static_cast<double>(trial.result_step)));
    cells.push_back(keyed(elapsed_text(trial.seconds), trial.seconds));
    cells.push_back({.text = trial.hosts});
    cells.push_back({.text = trial.reason});
  }
  const std::string note = concat("The best ", kMostRowsShown, " of ", page.trials.size(),
                                  " trials; bprun sweep status --csv prints all.");
  return {.title = "Trials",
          .note = page.trials.size() <= kMostRowsShown ? "" : note,
          .table = std::move(table)};
}

}  // namespace

void sort_trials(std::vector<TrialRecord>& trials, Direction direction) {
  std::ranges::sort(trials, [&](const TrialRecord& a, const TrialRecord& b) {
    if (a.result.has_value() != b.result.has_value()) return a.result.has_value();
    if (a.result && is_better(direction, *a.result, *b.result)) return true;
    if (a.result && is_better(direction, *b.result, *a.result)) return false;
    return a.number < b.number;
  });
}

std::vector<std::string> parameter_names(const std::vector<TrialRecord>& trials) {
  std::vector<std::string> names;
  for (const TrialRecord& trial : trials) {
    for (const auto& [name, value] : trial.parameters) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::string sweep_page(const PageData& page) {
  const char* const best = page.direction == Direction::max ? "largest" : "smallest";
  return page_html(
      {.title = page.name,
       .about = {concat(
           page.trials.size(), " trials",
           page.metric.empty() ? "" : concat(" by ", page.metric, ", the ", best, " is the best"))},
       .tiles = tiles(page),
       .sections = {best_section(page), learning_curves(page), importance_section(page),
                    parallel_section(page), scatter_section(page), trials_section(page)}});
}

}  // namespace bp::launcher::sweep
