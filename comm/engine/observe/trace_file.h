// The Trace behind Communicator::trace().
//
// Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/system/fd.h"
#include "bp/topology.h"
#include "bp/trace.h"

namespace bp {

class Communicator;

class TraceFile final : public Trace {
 public:
  // Creates FOLDER/rank-N.json, which replaces an earlier file, and the folder if it does not
  // exist. Rank 0 removes the files of further ranks that an earlier, larger world had. Throws io.
  TraceFile(const std::string& folder, const Topology& topology);
  ~TraceFile() override;

  void add(const Span& span) override;
  void add_overlapping(const Span& span) override;

  // Spans that were added before are dropped. `offset`: rank 0's clock minus this machine's.
  void start(std::chrono::nanoseconds offset);

 private:
  struct Event {
    std::string_view phase;
    std::string_view extra;  // further members of the JSON object
  };
  void append(const Event& event, const Span& span, Time at);  // all with mutex_ held
  int row_number(std::string_view row);
  void write_if_due();
  void write();

  const std::string path_;
  const int rank_;
  std::mutex mutex_;
  std::optional<std::chrono::nanoseconds> offset_;  // guarded by mutex_, as all below
  Fd file_;
  std::int64_t end_ = 0;   // of the events in the file, where its last line begins
  std::string unwritten_;  // events, each after a comma
  Time written_at_;
  std::map<std::string, int, std::less<>> rows_;
  std::uint64_t overlapping_ = 0;
};

// Returns rank 0's clock minus this rank's. It is 0 on rank 0's host; elsewhere it is measured by
// barriers, which all ranks leave at nearly the same time. Collective.
[[nodiscard]] std::chrono::nanoseconds measure_clock_offset(Communicator& world);

}  // namespace bp
