#include "launcher/sweep/report/live_table.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <sstream>

#include "base/text.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/terminal.h"
#include "launcher/sweep/report/plot_axis.h"

namespace bp::launcher::sweep {
namespace {

constexpr std::size_t kMostBest = 3;
constexpr std::size_t kMostFailed = 2;
constexpr std::size_t kLeastRows = 5;

std::string seconds_shown(double seconds) {
  return elapsed_text(std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)));
}

std::string columns_text(const std::string& group,
                         const std::string& trial,
                         const std::string& result,
                         const std::string& step,
                         const std::string& time,
                         const std::string& left) {
  std::ostringstream line;
  line << std::left << std::setw(8) << group << std::right << std::setw(6) << trial << "  "
       << std::setw(12) << result << std::setw(9) << step << std::setw(10) << time << std::setw(10)
       << left << "  ";
  return line.str();
}

std::string trial_line(const std::string& group, const LiveTrial& trial) {
  return columns_text(
             group, std::to_string(trial.number), trial.result ? short_number(*trial.result) : "",
             trial.step > 0 ? std::to_string(trial.step) : "", seconds_shown(trial.seconds),
             trial.left ? seconds_shown(std::max(0.0, *trial.left)) : "") +
         trial.what;
}

// The group's name stands beside its first trial only.
void add_group(std::vector<std::string>& lines,
               const std::string& name,
               const std::vector<LiveTrial>& trials,
               std::size_t most) {
  for (std::size_t i = 0; i < std::min(trials.size(), most); ++i) {
    lines.push_back(trial_line(i == 0 ? name : "", trials[i]));
  }
}

}  // namespace

std::vector<std::string> live_lines(const LiveTable& table, std::size_t columns, std::size_t rows) {
  std::vector<std::string> lines;
  if (rows >= kLeastRows) {
    const std::string metric = table.metric.empty() ? "result" : table.metric;
    lines.push_back(columns_text("", "trial", metric.substr(0, 12), "step", "time", "left") +
                    "parameters");
    std::size_t room = rows - 2;
    const std::size_t best = std::min({table.best.size(), kMostBest, room - 1});
    const std::size_t failed = std::min({table.failed.size(), kMostFailed, room - 1 - best});
    room -= best + failed;
    const bool all_fit = table.running.size() <= room;
    add_group(lines, "best", table.best, best);
    add_group(lines, "running", table.running, all_fit ? room : room - 1);
    if (!all_fit) lines.push_back(concat("        and ", table.running.size() - room + 1, " more"));
    add_group(lines, "failed", table.failed, failed);
  }
  lines.push_back(table.progress);
  for (std::string& line : lines) line = fit_line(line, columns);
  return lines;
}

}  // namespace bp::launcher::sweep
