// Runs one body on n ranks that are processes: this test program is executed n times with the
// environment of a rank, and meets itself through a store that the test owns.
//
//   RANK_BODY(sums) { EXPECT... ; return 0; }       // in the children
//   TEST(Processes, Sum) { run_processes("sums", {.ranks = 4}); }
//
// Never forked only: threads and libraries do not survive that.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace bp::test {

struct ProcessesOptions {
  int ranks = 2;
  std::vector<int> local_sizes = {};          // empty: all on one host
  std::vector<std::string> environment = {};  // "NAME=value", on top of what a rank needs
  std::chrono::milliseconds limit{60'000};    // then all are killed, which fails the test
  int victim = -1;  // gets the signal once it has written "ready", and SIGKILL when all have ended
  int victim_signal = 9;
  // What the job's store does in place of the victim's signal, or as soon as a rank asks all to
  // stop.
  enum class StoreTrouble { none, ends, falls_silent };
  StoreTrouble store = StoreTrouble::none;
};

struct ProcessResult {
  int exit_code = -1;  // or
  int signal = 0;
  std::string output;  // both streams
  std::chrono::milliseconds
      ended_after;  // since the victim got its signal, or else since the start

  // The output without the log's lines: which of them a rank writes depends on who is first.
  [[nodiscard]] std::string error() const;
};

[[nodiscard]] std::vector<ProcessResult> try_processes(const std::string& body,
                                                       const ProcessesOptions& options);

// The same where all must end well: a test failure otherwise, with what they wrote.
void run_processes(const std::string& body, const ProcessesOptions& options);

// Makes a function known to the children by a name. What it returns is the exit code; what it
// throws is written and is exit code 1.
struct RankBody {
  RankBody(std::string name, std::function<int()> body);
};

}  // namespace bp::test

#define RANK_BODY(name)                                                               \
  static int rank_body_##name();                                                      \
  static const ::bp::test::RankBody rank_body_object_##name(#name, rank_body_##name); \
  static int rank_body_##name()
