// Shows the user how far training has come.
//
// On a terminal, also on bprun's terminal for rank 0, it is one line, redrawn at most ten times per
// second:
//
//   [========>           ] 412/936  loss 0.4821  1,204 samples/s  1:12 left
//
// Elsewhere (a file, a pipe) it is one line every ten seconds:
//
//   step 412/936 (44%)  loss 0.4821  1,204 samples/s  1:12 left
//
// Speed and remaining time are exponential averages over about the last 20 steps. The remaining
// time appears after five steps.
//
// Any thread may call every function. One mutex guards all state and is held while writing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace bp::trainer {

class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  // The output and clock, which a test replaces; programs use stderr_output().
  struct Output {
    bool terminal = false;
    std::function<void(std::string_view)> write;
    std::function<Clock::time_point()> now;
    std::function<int()> columns;  // width of the terminal, read at each redraw
  };
  [[nodiscard]] static Output stderr_output();

  explicit Progress(std::int64_t steps, Output output = stderr_output());
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // calls finish()

  struct State {
    std::int64_t step = 0;     // steps done, of those given to the constructor
    std::int64_t samples = 0;  // samples done, by all ranks
    double loss = 0;
    std::int64_t skipped = 0;  // steps done that made no update
  };
  void update(const State& state);  // call it after a step; cheap if it shows nothing

  // Excludes the time since the last update, which was not training (an evaluation, a checkpoint).
  void resume_clock();

  // Prints a line above the redrawn one. On a terminal, the lines of bp::log() are printed this way
  // too while this object exists, of which a process has one.
  void say(std::string_view text);

  // Shows the last state if it has not been shown, and ends the redrawn line.
  void finish();

 private:
  void write_above(std::string_view line);
  void measure(const State& state, Clock::time_point now);
  void show(Clock::time_point now);
  void erase();
  [[nodiscard]] std::string numbers() const;
  [[nodiscard]] std::string redrawn_line() const;

  std::mutex mutex_;
  const std::int64_t steps_;
  const Output output_;
  State state_;
  bool fresh_ = false;  // state_ has not been shown
  std::int64_t measured_steps_ = 0;
  double seconds_per_step_ = 0;  // averages over recent steps
  double samples_per_step_ = 0;
  Clock::time_point updated_;
  Clock::time_point shown_;
  bool drawn_ = false;  // the terminal's last line is the redrawn one
};

}  // namespace bp::trainer
