// How far training is, for the person who waits.
//
// On a terminal, bprun's for rank 0 too, one line that is redrawn, at most ten times a second:
//
//   [========>           ] 412/936  loss 0.4821  1,204 samples/s  1:12 left
//
// elsewhere (a file, a pipe) one line every ten seconds:
//
//   step 412/936 (44%)  loss 0.4821  1,204 samples/s  1:12 left
//
// Speed and remaining time are exponential averages over the last 20 steps or so; the remaining
// time is shown after five steps.
//
// Threads: any thread may call; one mutex guards all, and is held while writing.
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

  // What a test replaces; stderr_output() is what programs take.
  struct Output {
    bool terminal = false;
    std::function<void(std::string_view)> write;
    std::function<Clock::time_point()> now;
    std::function<int()> columns;  // of the terminal, asked at each redraw
  };
  [[nodiscard]] static Output stderr_output();

  explicit Progress(std::int64_t steps, Output output = stderr_output());
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // as finish()

  struct State {
    std::int64_t step = 0;     // done so far, of those given to the constructor
    std::int64_t samples = 0;  // done so far, by all ranks
    double loss = 0;
    std::int64_t skipped = 0;  // of the steps done: those that made no update
  };
  void update(const State& state);  // after a step; cheap when nothing is to be shown

  // Time since the last update was not training (an evaluation, a checkpoint): it does not count.
  void resume_clock();

  // A line of its own, above the redrawn one: also the way for log lines while this lives.
  void say(std::string_view text);

  // Shows the last state if it is not on show yet, and ends the redrawn line.
  void finish();

 private:
  void measure(const State& state, Clock::time_point now);
  void show(Clock::time_point now);
  void erase();
  [[nodiscard]] std::string numbers() const;
  [[nodiscard]] std::string redrawn_line() const;

  std::mutex mutex_;
  const std::int64_t steps_;
  const Output output_;
  State state_;
  bool fresh_ = false;  // state_ was not shown yet
  std::int64_t measured_steps_ = 0;
  double seconds_per_step_ = 0;  // averages
  double samples_per_step_ = 0;
  Clock::time_point updated_;
  Clock::time_point shown_;
  bool drawn_ = false;  // the terminal's last line is ours
};

}  // namespace bp::trainer
