#include "launcher/sweep/report/live_table.h"

#include <algorithm>
#include <sstream>

#include "base/report/escape.h"
#include "base/report/table.h"
#include "base/text.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/terminal.h"

namespace bp::launcher::sweep {
namespace {

constexpr std::size_t kMostBest = 3;
constexpr std::size_t kMostFailed = 2;
constexpr std::size_t kLeastRows = 5;

// The group's name stands beside its first trial only.
void add_group(Table& table,
               const std::string& name,
               const std::vector<LiveTrial>& trials,
               std::size_t most) {
  for (std::size_t i = 0; i < std::min(trials.size(), most); ++i) {
    const LiveTrial& trial = trials[i];
    table.add({i == 0 ? name : "", std::to_string(trial.number),
               trial.result ? brief(*trial.result, 6) : "",
               trial.step > 0 ? std::to_string(trial.step) : "", elapsed_text(trial.seconds),
               trial.left ? elapsed_text(std::max(0.0, *trial.left)) : "", trial.what});
  }
}

}  // namespace

std::vector<std::string> live_lines(const LiveTable& table, std::size_t columns, std::size_t rows) {
  std::vector<std::string> lines;
  if (rows >= kLeastRows) {
    const std::string metric = table.metric.empty() ? "result" : table.metric;
    Table shown{.columns = {{.width = 7},
                            {.name = "trial", .width = 5},
                            {.name = metric.substr(0, 12), .width = 12},
                            {.name = "step", .width = 7},
                            {.name = "time", .width = 8},
                            {.name = "left", .width = 8},
                            {.name = "parameters", .left = true}}};
    std::size_t room = rows - 2;
    const std::size_t best = std::min({table.best.size(), kMostBest, room - 1});
    const std::size_t failed = std::min({table.failed.size(), kMostFailed, room - 1 - best});
    room -= best + failed;
    const bool all_fit = table.running.size() <= room;
    add_group(shown, "best", table.best, best);
    add_group(shown, "running", table.running, all_fit ? room : room - 1);
    if (!all_fit) {
      shown.add({concat("        and ", table.running.size() - room + 1, " more")},
                Table::Row::Kind::heading);
    }
    add_group(shown, "failed", table.failed, failed);
    std::istringstream text(terminal_text(shown));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
  }
  lines.push_back(table.progress);
  for (std::string& line : lines) line = fit_line(line, columns);
  return lines;
}

}  // namespace bp::launcher::sweep
