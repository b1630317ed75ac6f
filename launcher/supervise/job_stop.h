// Stops the ranks of a generation: after a failure, when asked to, or at once.
#pragma once

#include <chrono>
#include <optional>

#include "launcher/cli/bprun_options.h"
#include "launcher/failure/rank_states.h"
#include "launcher/plan/job_plan.h"
#include "launcher/process/event_loop.h"
#include "launcher/protocol/agent_messages.h"
#include "launcher/report/output.h"
#include "launcher/supervise/agent_set.h"

namespace bp::launcher {

class JobStop {
 public:
  using Clock = EventLoop::Clock;

  struct Parts {  // all must outlive it
    const Options& options;
    const JobPlan& plan;
    AgentSet& agents;
    RankStates& ranks;
    OutputHub& output;
  };
  explicit JobStop(const Parts& parts) : parts_(parts) {}

  // A rank has failed. Ends the other ranks once `delay` has passed, in which they may end by
  // themselves.
  void after_failure(std::chrono::milliseconds delay) { stop_at_ = Clock::now() + delay; }
  // `signal` asked bprun to stop. Asks all ranks to end, and kills them when --grace has passed.
  void request(int signal);
  // `signal` asked for it, `again` after an earlier one. Kills all ranks now.
  void kill(int signal, bool again);

  // Does what has become due.
  void advance();
  // When something will become due that is not due yet; unset if nothing will.
  [[nodiscard]] std::optional<Clock::time_point> next_time() const;
  // Whether hosts have not reported the end of their ranks although all should be dead.
  [[nodiscard]] bool overdue() const { return give_up_at_ && Clock::now() >= *give_up_at_; }
  // Since the first signal was sent to ranks; 0 if none was.
  [[nodiscard]] std::chrono::milliseconds took() const;

 private:
  void stop_after_failure();
  void say_end_of_grace();
  void send(int signal, std::chrono::milliseconds grace);

  const Parts parts_;
  std::optional<Clock::time_point> stop_at_;      // unset again if another stop comes first
  std::optional<Clock::time_point> say_kill_at_;  // just before the agents kill: --grace
  std::optional<Clock::time_point> give_up_at_;
  std::optional<Clock::time_point> since_;
};

}  // namespace bp::launcher
