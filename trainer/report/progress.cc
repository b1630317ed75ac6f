#include "trainer/report/progress.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/log_writer.h"
#include "base/system/fd.h"
#include "base/terminal_columns.h"
#include "base/text.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

using std::chrono::duration;

constexpr std::chrono::milliseconds kRedrawEvery{100};
constexpr std::chrono::seconds kLineEvery{10};
constexpr std::int64_t kStepsBeforeEstimate = 5;
constexpr double kWeightOfNewStep = 0.05;
constexpr int kBarWidth = 20;
constexpr int kUsualColumns = 80;

// Ignores errors: a lost progress line is not worth a failure.
void write_to_stderr(std::string_view text) {
  (void)write_all(STDERR_FILENO, text.data(), text.size());
}

// Returns the width of the terminal on which bprun redraws this process's line; 0 if stderr does
// not lead there.
int columns_behind_bprun() {
  struct stat status {};
  const char* const text = std::getenv(kTerminalColumns);
  const bool pipe = ::fstat(STDERR_FILENO, &status) == 0 && S_ISFIFO(status.st_mode);
  return pipe && text != nullptr ? std::atoi(text) : 0;
}

int columns_of_stderr() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  const int columns = columns_behind_bprun();
  return columns > 0 ? columns : kUsualColumns;
}

}  // namespace

Progress::Output Progress::stderr_output() {
  return {.terminal = ::isatty(STDERR_FILENO) == 1 || columns_behind_bprun() > 0,
          .write = write_to_stderr,
          .now = [] { return Clock::now(); },
          .columns = columns_of_stderr};
}

Progress::Progress(std::int64_t steps, Output output)
    : steps_(steps), output_(std::move(output)), updated_(output_.now()), shown_(updated_) {
  if (output_.terminal) set_log_writer([this](std::string_view line) { write_above(line); });
}

Progress::~Progress() {
  if (output_.terminal) set_log_writer({});
  finish();
}

void Progress::update(const State& state) {
  const std::scoped_lock lock(mutex_);
  const Clock::time_point now = output_.now();
  measure(state, now);
  state_ = state;
  fresh_ = true;
  updated_ = now;
  if (now - shown_ >= (output_.terminal ? kRedrawEvery : Clock::duration(kLineEvery))) {
    show(now);
  }
}

// The first update of a resumed run may jump over any number of steps, so it only sets the
// reference point.
void Progress::measure(const State& state, Clock::time_point now) {
  const auto steps = static_cast<double>(state.step - state_.step);
  const bool first_of_resumed = state_.step == 0 && state.step != 1 && measured_steps_ == 0;
  if (steps <= 0 || first_of_resumed) {
    return;
  }
  measured_steps_ += state.step - state_.step;
  // Starts with a plain mean, so that the slow first step does not distort the next fifty.
  const double weight = std::max(1 - std::pow(1 - kWeightOfNewStep, steps),
                                 steps / static_cast<double>(measured_steps_));
  const double seconds = duration<double>(now - updated_).count() / steps;
  const double samples = static_cast<double>(state.samples - state_.samples) / steps;
  seconds_per_step_ += weight * (seconds - seconds_per_step_);
  samples_per_step_ += weight * (samples - samples_per_step_);
}

void Progress::resume_clock() {
  const std::scoped_lock lock(mutex_);
  updated_ = output_.now();
}

void Progress::say(std::string_view text) { write_above(std::string(text) + '\n'); }

void Progress::write_above(std::string_view line) {
  const std::scoped_lock lock(mutex_);
  erase();
  output_.write(line);
}

void Progress::finish() {
  const std::scoped_lock lock(mutex_);
  if (fresh_) {
    show(output_.now());
  }
  if (drawn_) {
    output_.write("\n");
    drawn_ = false;
  }
}

void Progress::show(Clock::time_point now) {
  if (output_.terminal) {
    erase();
    output_.write(redrawn_line());
    drawn_ = true;
  } else {
    const std::int64_t percent = steps_ > 0 ? 100 * state_.step / steps_ : 100;
    output_.write(concat("step ", state_.step, '/', steps_, " (", percent, "%)", numbers(), '\n'));
  }
  shown_ = now;
  fresh_ = false;
}

void Progress::erase() {
  if (drawn_) {
    output_.write("\r\x1b[K");  // moves to the start of the line and clears it
    drawn_ = false;
  }
}

std::string Progress::numbers() const {
  std::string text = concat("  loss ", fixed(state_.loss, 4));
  if (state_.skipped > 0) {
    text += concat("  ", state_.skipped, " skipped");
  }
  if (measured_steps_ > 0 && seconds_per_step_ > 0) {
    text += concat("  ", rate_text(samples_per_step_ / seconds_per_step_), " samples/s");
  }
  if (measured_steps_ >= kStepsBeforeEstimate && state_.step < steps_) {
    const auto left = static_cast<double>(steps_ - state_.step) * seconds_per_step_;
    text += concat("  ", clock_text(std::chrono::seconds(std::llround(std::ceil(left)))), " left");
  }
  return text;
}

std::string Progress::redrawn_line() const {
  const std::int64_t done =
      steps_ > 0 ? std::min<std::int64_t>(kBarWidth * state_.step / steps_, kBarWidth) : kBarWidth;
  std::string bar(static_cast<std::size_t>(done), '=');
  bar += done < kBarWidth ? ">" : "";
  bar.resize(kBarWidth, ' ');
  const std::string text = concat('[', bar, "] ", state_.step, '/', steps_, numbers());
  // A line as wide as the terminal would wrap and could not be redrawn.
  return text.substr(0, static_cast<std::size_t>(std::max(output_.columns() - 1, 0)));
}

}  // namespace bp::trainer
