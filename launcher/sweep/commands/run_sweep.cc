#include "launcher/sweep/commands/run_sweep.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>
#include <variant>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/process/signals.h"
#include "launcher/report/quoted.h"
#include "launcher/report/terminal.h"
#include "launcher/sweep/commands/dry_run.h"
#include "launcher/sweep/commands/prepare_sweep.h"
#include "launcher/sweep/commands/progress_text.h"
#include "launcher/sweep/commands/sweep_options.h"
#include "launcher/sweep/commands/write_report.h"
#include "launcher/sweep/driver/driver.h"

namespace bp::launcher::sweep {
namespace {

using namespace std::chrono_literals;

constexpr auto kLineEvery = 10s;  // where stderr is no terminal

// What a sweep prints on stderr: a line that a terminal redraws, or one every ten seconds.
class Progress {
 public:
  Progress(std::string metric, bool quiet)
      : metric_(std::move(metric)), quiet_(quiet), redraws_(!quiet && can_redraw(STDERR_FILENO)) {}

  void say(const std::string& line) {
    erase();
    std::fprintf(stderr, "bprun sweep: %s\n", printable(line).c_str());
  }

  void show(const SweepView& view) {
    last_ = progress_text(view, metric_);
    if (redraws_) {
      const auto columns = static_cast<std::size_t>(columns_of(STDERR_FILENO));
      std::fprintf(stderr, "%s%s", std::string(kClearLine).c_str(),
                   fit_line(last_, columns - 1).c_str());
      drawn_ = true;
    } else if (!quiet_ && std::chrono::steady_clock::now() >= next_) {
      say(last_);
      next_ = std::chrono::steady_clock::now() + kLineEvery;
    }
  }

  void finish(const std::string& rest) { say(concat(last_, rest)); }

 private:
  void erase() {
    if (drawn_) std::fprintf(stderr, "%s", std::string(kClearLine).c_str());
    drawn_ = false;
  }

  std::string metric_;
  bool quiet_;
  bool redraws_;
  bool drawn_ = false;
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
    return sweep_dry_run(settings, given.json);
  }
  ignore_broken_pipes();
  SweepState state(settings.folder);
  check_same_sweep(state, settings, given.space);
  remove_relay_folder(state.setting("relay_folder").value_or(""));
  Progress progress(settings.space.metric, given.quiet);
  Driver driver(settings, state,
                {[&](const std::string& line) { progress.say(line); },
                 [&](const SweepView& view) { progress.show(view); }});
  const int code = driver.run();
  progress.finish(code == 0 || code == 1 ? concat("; bprun sweep status ", settings.folder,
                                                  report_text(settings.folder))
                                         : std::string("; the same command continues the sweep"));
  return code;
}

}  // namespace bp::launcher::sweep
