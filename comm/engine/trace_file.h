// The Trace behind Communicator::trace().
//
// Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "bp/topology.h"
#include "bp/trace.h"

namespace bp {

class Communicator;

class TraceFile final : public Trace {
 public:
  // Makes FOLDER/rank-N.json anew, and the folder where there is none; rank 0 removes those of the
  // ranks that an earlier, larger world had. Throws io.
  TraceFile(const std::string& folder, const Topology& topology);
  ~TraceFile() override;

  void add(const Span& span) override;
  void add_overlapping(const Span& span) override;

  // What is added before is left out. `offset`: what has to be added to this machine's clock to
  // get rank 0's.
  void start(std::chrono::nanoseconds offset);

 private:
  struct Event {
    std::string_view phase;
    std::string_view extra;  // members of its own
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

// How far rank 0's clock is ahead of this rank's: 0 on rank 0's host; else measured by barriers,
// which all ranks leave at nearly the same time. Collective.
[[nodiscard]] std::chrono::nanoseconds measure_clock_offset(Communicator& world);

}  // namespace bp
