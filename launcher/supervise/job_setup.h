// Prepares a generation between the hello of its agents and the start of its ranks: finds addresses
// by which all hosts reach each other, and makes the store and a JobSpec for each host.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bp/environment.h"
#include "launcher/cli/bprun_options.h"
#include "launcher/network/network_probe.h"
#include "launcher/plan/job_plan.h"
#include "launcher/process/event_loop.h"
#include "launcher/report/failure_report.h"
#include "launcher/report/output.h"
#include "launcher/supervise/agent_set.h"
#include "launcher/supervise/job_store.h"

namespace bp::launcher {

struct Generation {
  int number = 0;   // of generations before it
  std::string job;  // its name
};

class JobSetup {
 public:
  struct Parts {  // all must outlive it
    EventLoop& loop;
    const Options& options;
    const JobPlan& plan;
    const Generation& generation;
    AgentSet& agents;
    OutputHub& output;
  };
  // `silence_limit` is when the store's server reports a rank without heartbeats to `on_store`.
  JobSetup(const Parts& parts,
           const JobKey& key,
           std::chrono::milliseconds silence_limit,
           std::function<void(const StoreEvent&)> on_store);

  void handle(std::size_t host, const ProbeReady& ready) { probe_->handle(host, ready); }
  void handle(std::size_t host, const ProbeReport& report) { probe_->handle(host, report); }

  // Takes the next step if all hosts are ready for it. Returns the failure of hosts that do not
  // reach each other. Throws what JobStore throws.
  [[nodiscard]] std::optional<Failure> advance();
  // Whether every agent has its JobSpec and is ready to start its ranks.
  [[nodiscard]] bool done() const;

  // Null before the network probe has ended.
  [[nodiscard]] JobStore* store() { return store_.get(); }
  [[nodiscard]] const JobStore* store() const { return store_.get(); }

 private:
  enum class Phase : std::uint8_t { connecting, probing, preparing };

  void probe();
  void prepare();
  void start_store(const std::string& address);
  void warn_of_other_builds();
  void warn_of_one_machine();

  const Parts parts_;
  const JobKey key_;
  const std::chrono::milliseconds silence_limit_;
  std::function<void(const StoreEvent&)> on_store_;
  Phase phase_ = Phase::connecting;
  std::unique_ptr<NetworkProbe> probe_;
  std::unique_ptr<JobStore> store_;
};

}  // namespace bp::launcher
