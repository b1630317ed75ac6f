#include "launcher/sweep/commands/sweep_progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/joined.h"
#include "base/quoted.h"
#include "base/report/escape.h"
#include "base/report/report_table.h"
#include "base/text.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/terminal.h"

namespace bp::launcher::sweep {
namespace {

using namespace std::chrono_literals;

constexpr auto kLineEvery = 10s;  // where stderr is not a terminal
constexpr std::size_t kBest = 3;
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

LiveTrial live_trial(const TrialRecord& trial) {
  return {.number = trial.number,
          .result = trial.result,
          .step = trial.step,
          .seconds = seconds_until_now(trial),
          .what = shown(trial.parameters)};
}

// A running trial's remaining time supposes that it takes as long as the finished ones did on
// average. `progress` of the result is empty.
LiveTable live_table_of(const SweepView& view, const std::string& metric, Direction direction) {
  LiveTable table{.metric = metric};
  std::vector<const TrialRecord*> reported;
  double seconds = 0;
  int finished = 0;
  for (int i = 0; i < view.trials.size(); ++i) {
    const TrialRecord& trial = view.trials[i];
    if (trial.result && may_be_best(trial.state)) reported.push_back(&trial);
    if (trial.state == TrialState::running) table.running.push_back(live_trial(trial));
    if (trial.state == TrialState::failed) {
      table.failed.push_back(live_trial(trial));
      if (!trial.reason.empty()) table.failed.back().what = trial.reason;
    }
    if (trial.state != TrialState::finished) continue;
    seconds += trial.seconds;
    ++finished;
  }
  const auto best = static_cast<std::ptrdiff_t>(std::min(kBest, reported.size()));
  std::partial_sort(reported.begin(), reported.begin() + best, reported.end(),
                    [&](const TrialRecord* a, const TrialRecord* b) {
                      if (is_better(direction, *a->result, *b->result)) return true;
                      if (is_better(direction, *b->result, *a->result)) return false;
                      return a->number < b->number;
                    });
  for (std::ptrdiff_t i = 0; i < best; ++i) {
    const TrialRecord& trial = *reported[static_cast<std::size_t>(i)];
    table.best.push_back(live_trial(trial));
    table.best.back().step = trial.result_step;
  }
  std::stable_sort(table.running.begin(), table.running.end(),
                   [](const LiveTrial& a, const LiveTrial& b) { return a.seconds > b.seconds; });
  std::reverse(table.failed.begin(), table.failed.end());
  if (finished > 0) {
    for (LiveTrial& trial : table.running) trial.left = seconds / finished - trial.seconds;
  }
  return table;
}

// "12 of 18 trials ended, 4 run on 4 of 4 slots; about 00:12:00 left; best dev_accuracy 0.93 (trial
// 7)".
// The remaining time supposes that trials go on ending as fast as since this start.
std::string progress_text(const SweepView& view, const std::string& metric) {
  const TrialTable& trials = view.trials;
  const int failed = trials.count(TrialState::failed);
  const int skipped = trials.count(TrialState::skipped);
  const int ended =
      trials.count(TrialState::finished) + trials.count(TrialState::stopped) + failed + skipped;
  const int running = trials.count(TrialState::running);
  std::string text = concat(ended, " of ", view.all, view.all == 1 ? " trial" : " trials", " ended",
                            failed > 0 ? concat(" (", failed, " failed)") : std::string(),
                            skipped > 0 ? concat(" (", skipped, " skipped)") : std::string());
  if (running > 0) {
    text += concat(", ", running, running == 1 ? " runs" : " run", " on ", view.busy, " of ",
                   view.slots, " slots");
  }
  if (view.ended > 0 && ended < view.all && running > 0) {
    const double left = view.elapsed / view.ended * (view.all - ended);
    text += concat("; about ", elapsed_text(left), " left");
  }
  if (const TrialRecord* best = trials.best(); best != nullptr && !metric.empty()) {
    text += concat("; best ", metric, " ", *best->result, " (trial ", best->number, ")");
  }
  return text;
}

// Half of the terminal at most, so that messages above the table stay in sight.
std::size_t terminal_rows() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row / 2 : 12;
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
    const std::size_t best = std::min({table.best.size(), kBest, room - 1});
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
    lines = terminal_lines(shown);
  }
  lines.push_back(table.progress);
  for (std::string& line : lines) line = fit_line(line, columns);
  return lines;
}

SweepProgress::SweepProgress(std::string metric, Direction direction, bool quiet)
    : metric_(std::move(metric)),
      direction_(direction),
      quiet_(quiet),
      redraws_(!quiet && can_redraw(STDERR_FILENO)),
      next_(std::chrono::steady_clock::now() + kLineEvery) {}

void SweepProgress::say(const std::string& line) {
  erase();
  std::fprintf(stderr, "bprun sweep: %s\n", printable(line).c_str());
}

void SweepProgress::show(const SweepView& view) {
  last_ = progress_text(view, metric_);
  if (redraws_) {
    draw(live_table_of(view, metric_, direction_));
  } else if (!quiet_ && std::chrono::steady_clock::now() >= next_) {
    say(last_);
    next_ = std::chrono::steady_clock::now() + kLineEvery;
  }
}

void SweepProgress::finish(const std::string& rest) { say(concat(last_, rest)); }

void SweepProgress::draw(LiveTable table) {
  table.progress = last_;
  const auto columns = static_cast<std::size_t>(columns_of(STDERR_FILENO));
  erase();
  const std::vector<std::string> lines = live_lines(table, columns - 1, terminal_rows());
  drawn_ = static_cast<int>(lines.size());
  std::fputs(joined(lines, "\n").c_str(), stderr);
}

void SweepProgress::erase() {
  if (drawn_ > 1) std::fprintf(stderr, "\x1b[%dA", drawn_ - 1);
  if (drawn_ > 0) std::fputs("\r\x1b[J", stderr);
  drawn_ = 0;
}

}  // namespace bp::launcher::sweep
