#include "launcher/sweep/commands/run_sweep.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>
#include <variant>

#include "base/quoted.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/process/signals.h"
#include "launcher/report/exit_code.h"
#include "launcher/report/terminal.h"
#include "launcher/sweep/commands/dry_run.h"
#include "launcher/sweep/commands/live_view.h"
#include "launcher/sweep/commands/missing_metric.h"
#include "launcher/sweep/commands/prepare_sweep.h"
#include "launcher/sweep/commands/progress_text.h"
#include "launcher/sweep/commands/sweep_options.h"
#include "launcher/sweep/commands/write_report.h"
#include "launcher/sweep/driver/driver.h"

namespace bp::launcher::sweep {
namespace {

using namespace std::chrono_literals;

constexpr auto kLineEvery = 10s;  // where stderr is no terminal

// What a sweep prints on stderr: a table that a terminal redraws, or a line every ten seconds.
class Progress {
 public:
  Progress(std::string metric, Direction direction, bool quiet)
      : metric_(std::move(metric)),
        direction_(direction),
        quiet_(quiet),
        redraws_(!quiet && can_redraw(STDERR_FILENO)) {}

  void say(const std::string& line) {
    erase();
    std::fprintf(stderr, "bprun sweep: %s\n", printable(line).c_str());
  }

  void show(const SweepView& view) {
    last_ = progress_text(view, metric_);
    if (redraws_) {
      draw(live_table_of(view, metric_, direction_));
    } else if (!quiet_ && std::chrono::steady_clock::now() >= next_) {
      say(last_);
      next_ = std::chrono::steady_clock::now() + kLineEvery;
    }
  }

  void finish(const std::string& rest) { say(concat(last_, rest)); }

 private:
  void draw(LiveTable table) {
    table.progress = last_;
    const auto columns = static_cast<std::size_t>(columns_of(STDERR_FILENO));
    erase();
    std::string text;
    for (const std::string& line : live_lines(table, columns - 1, terminal_rows())) {
      text += concat(text.empty() ? "" : "\n", line);
      ++drawn_;
    }
    std::fputs(text.c_str(), stderr);
  }

  // Half of the terminal at most, so that messages above the table stay in sight.
  static std::size_t terminal_rows() {
    winsize size{};
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row / 2 : 12;
  }

  void erase() {
    if (drawn_ > 1) std::fprintf(stderr, "\x1b[%dA", drawn_ - 1);
    if (drawn_ > 0) std::fputs("\r\x1b[J", stderr);
    drawn_ = 0;
  }

  std::string metric_;
  Direction direction_;
  bool quiet_;
  bool redraws_;
  int drawn_ = 0;  // lines
  std::string last_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kLineEvery;
};

int report_exit(const EarlyExit& exit) {
  std::FILE* stream = exit.code == 0 ? stdout : stderr;
  std::fprintf(stream, "%s%s", printable(exit.text).c_str(), exit.text.ends_with('\n') ? "" : "\n");
  return exit.code;
}

// Returns what the last line says of the page. One that cannot be written does not make the sweep
// fail: bprun sweep report writes it later.
std::string report_text(const std::string& folder) {
  try {
    SweepReader sweep(folder);
    return concat("; report ", write_report(sweep, ""));
  } catch (const Error& error) {
    return concat("; ", error.what());
  }
}

}  // namespace

int run_sweep(const std::vector<std::string>& arguments) {
  const auto options = parse_sweep_options(arguments);
  if (const auto* exit = std::get_if<EarlyExit>(&options)) {
    return report_exit(*exit);
  }
  const auto& given = std::get<SweepOptions>(options);
  const auto prepared = prepare_sweep(given);
  if (const auto* exit = std::get_if<EarlyExit>(&prepared)) {
    return report_exit(*exit);
  }
  const auto& settings = std::get<SweepSettings>(prepared);
  if (given.dry_run) {
    return sweep_dry_run(settings, given.json, given.estimate);
  }
  ignore_broken_pipes();
  SweepState state(settings.folder);
  check_same_sweep(state, settings, given.space);
  remove_relay_folder(state.setting("relay_folder").value_or(""));
  Progress progress(settings.space.metric, settings.space.direction.value_or(Direction::max),
                    given.quiet);
  Driver driver(settings, state,
                {[&](const std::string& line) { progress.say(line); },
                 [&](const SweepView& view) { progress.show(view); }});
  const int code = driver.run();
  if (code == kExitOutputLost) {
    progress.say(
        "the sweep has stopped; once its folder can be written, the same command continues it");
    return code;
  }
  if (code == 0 || code == 1) {
    SweepReader sweep(settings.folder);
    if (const std::string text = missing_metric_text(settings, sweep); !text.empty()) {
      progress.say(text);
    }
  }
  progress.finish(code == 0 || code == 1 ? concat("; bprun sweep status ", settings.folder,
                                                  report_text(settings.folder))
                                         : std::string("; the same command continues the sweep"));
  return code;
}

}  // namespace bp::launcher::sweep
