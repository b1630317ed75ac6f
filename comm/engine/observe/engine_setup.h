// Holds the parts of which the engine of one communicator is made, and names its ranks in texts.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/system/denormals.h"
#include "base/text.h"
#include "bp/trace.h"
#include "comm/backend/backends.h"
#include "comm/backend/common/backend.h"
#include "comm/backend/common/operation.h"
#include "comm/backend/common/selection_table.h"
#include "comm/engine/observe/job.h"

namespace bp {

// A collective that makes no progress for this time makes its ranks compare what they asked for.
constexpr std::chrono::milliseconds kStall{1000};
// A rank warns of what it waits for after this many stalls: ten seconds, except in tests.
constexpr int kWarnAfterStalls = 10;

struct EngineSetup {
  std::shared_ptr<Job> job;  // null for one rank
  std::string group;         // "world"; unique among the job's communicators
  bool is_world = false;     // a world's failure is the job's; a group's is not
  std::vector<int> members;  // ranks in the transport, by rank in the communicator
  int rank = 0;              // in the communicator
  BackendSet backends;
  DeviceBackend devices = DeviceBackend::staged;  // also of its groups
  std::string transport_name;                     // "gloo"; the backend of a group uses it too
  std::string algorithm;    // see Communicator::algorithm(); all ranks must agree on it
  SelectionTable measured;  // all ranks must agree on it too
  std::chrono::milliseconds timeout{0};
  std::string output;            // the folder for the record of a failed communicator, or empty
  std::shared_ptr<Trace> trace;  // may be null
  std::chrono::milliseconds stall_after = kStall;
  std::size_t max_in_flight = 0;  // 0: no limit
  bool joinable = false;
  // That of the thread that made the world. Operations are computed in it on any thread, so that
  // all ranks get the same bits.
  ArithmeticMode arithmetic = ArithmeticMode::of_this_thread();

  [[nodiscard]] int size() const { return static_cast<int>(members.size()); }
  [[nodiscard]] int transport_rank(int member) const {
    return members[static_cast<std::size_t>(member)];
  }

  // Returns the number that the launcher has for a rank of the communicator.
  [[nodiscard]] int launcher_rank(int member) const {
    const int in_world = transport_rank(member);
    return job ? job->launcher_rank(in_world) : in_world;
  }

  // "rank 2"; in a group "rank 1 of world.3.0 (world rank 2)"; "another rank" for -1.
  [[nodiscard]] std::string rank_text(int member) const {
    if (member < 0) return "another rank";
    if (group == "world") return concat("rank ", member);
    return concat("rank ", member, " of ", group, " (world rank ", launcher_rank(member), ")");
  }

  [[nodiscard]] std::string own_text() const { return rank_text(rank); }
  [[nodiscard]] std::chrono::milliseconds timeout_of(const Operation& operation) const {
    return operation.timeout.count() > 0 ? operation.timeout : timeout;
  }
};

}  // namespace bp
