// Runs one generation of a job from the start of its agents to its exit code. A job that restarts
// after a failure has several generations (restarts.h).
//
// Its parts: AgentSet has the connections to the hosts, JobSetup brings them to where ranks can
// start, RankMonitor finds failures of ranks, JobStop ends the ranks, OutputHub prints. Supervisor
// passes messages, store events and signals between them and decides when the generation has ended.
//
// Threads: everything runs on the thread that constructs it. The store's server has a thread of its
// own, whose events JobStore brings to this one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bp/environment.h"
#include "launcher/cli/bprun_options.h"
#include "launcher/failure/rank_monitor.h"
#include "launcher/plan/job_plan.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/signals.h"
#include "launcher/report/failure_report.h"
#include "launcher/report/output.h"
#include "launcher/serve/joined_machines.h"
#include "launcher/supervise/agent_set.h"
#include "launcher/supervise/input_forwarder.h"
#include "launcher/supervise/job_setup.h"
#include "launcher/supervise/job_stop.h"

namespace bp::launcher {

// The failure that ended a generation.
struct GenerationFailure {
  Failure failure;
  std::chrono::system_clock::time_point when = std::chrono::system_clock::now();
  std::chrono::milliseconds after{0};  // since the start of the ranks
};

// How a generation ended.
struct Ending {
  int exit_code = 0;
  bool ran = false;                // its ranks were started
  int stop_signal = 0;             // that asked bprun to stop, or warned it: SIGUSR1, SIGUSR2
  std::optional<Failure> failure;  // has been printed
  std::string next;                // the command line that resumes or repeats the job
};

class Supervisor {
 public:
  // `options` and `plan` must outlive it. Starts the agents, except those of `machines`, which have
  // joined. Throws Error if an agent or the output cannot be started.
  Supervisor(const Options& options,
             const JobPlan& plan,
             const Generation& generation,
             JoinedMachines machines = {});
  // Ends all agents, and kills what is left of the job.
  ~Supervisor();
  // Returns once every process of the generation has ended and all output is printed. Throws Error
  // if bprun itself cannot continue; the destructor then still stops everything.
  [[nodiscard]] Ending run();

 private:
  using Clock = EventLoop::Clock;

  enum class Phase : std::uint8_t { setup, running, finished };

  void on_message(std::size_t host, const ToLauncher& message);
  void on_rank_message(const ToLauncher& message);
  void on_rank_ended(const Exited& exited);
  void on_store_event(const StoreEvent& event);
  void on_signal(int number);

  void advance();
  void start_ranks();
  void look_for_failure();
  void look_for_end();
  [[nodiscard]] std::chrono::milliseconds time_to_next_step() const;
  void fail(Failure failure);
  void request_stop(int signal);
  void suspend();

  void dismiss_agents();
  void print_outcome(std::chrono::milliseconds stop_took);
  void write_out();
  [[nodiscard]] bool stopping() const { return failed_ || stop_requests_ > 0; }
  [[nodiscard]] int exit_code() const;
  [[nodiscard]] std::string next_command() const;

  const Options& options_;
  const JobPlan& plan_;
  const Generation generation_;
  JoinedMachines machines_;
  EventLoop& loop_;
  SignalFd signals_;
  OutputHub output_;
  RankMonitor monitor_;
  AgentSet agents_;
  JobSetup setup_;
  JobStop stop_;
  std::unique_ptr<InputForwarder> input_;  // while rank 0 runs

  Phase phase_ = Phase::setup;
  std::optional<Clock::time_point> started_;  // the ranks
  std::optional<GenerationFailure> failed_;
  int stop_signal_ = 0;       // the first that asked bprun to stop, or warned it
  int stop_requests_ = 0;     // signals that asked bprun to stop
  bool interrupted_ = false;  // Ctrl-C was among them
};

}  // namespace bp::launcher
