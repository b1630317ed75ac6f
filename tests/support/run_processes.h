// Runs one body on n ranks that are processes. This test program is executed n times with the
// environment of a rank, and the ranks connect through a store that the test owns.
//
// RANK_BODY(sums) { EXPECT... ; return 0; }       // in the children
// TEST(Processes, Sum) { run_processes("sums", {.ranks = 4}); }
//
// The children are executed, not only forked, because threads and libraries do not survive a fork.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace bp::test {

struct ProcessesOptions {
  int ranks = 2;
  std::vector<int> local_sizes = {};          // empty: all ranks on one host
  std::vector<std::string> environment = {};  // "NAME=value", in addition to what a rank needs
  std::chrono::milliseconds limit{60'000};    // after it, all ranks are killed and the test fails
  // this rank is signalled once it has written "ready", and killed once all others have ended
  int victim = -1;
  int victim_signal = 9;
  // What happens to the job's store: it ends instead of the victim's signal, or it stops answering
  // once a rank requests a stop.
  enum class StoreTrouble { none, ends, falls_silent };
  StoreTrouble store = StoreTrouble::none;
  bool survivors_go_on = false;  // they may call recover()
};

struct ProcessResult {
  int exit_code = -1;  // or -1, with `signal`
  int signal = 0;
  std::string output;  // stdout and stderr
  std::chrono::milliseconds
      ended_after;  // since the victim was signalled, or without one since the start

  // Returns the output without the lines of the log. Which of these a rank writes depends on which
  // rank is first.
  [[nodiscard]] std::string error() const;
};

[[nodiscard]] std::vector<ProcessResult> try_processes(const std::string& body,
                                                       const ProcessesOptions& options);

// The same, but every rank must exit with 0. Otherwise the test fails, with the output of the ranks
// that did not.
void run_processes(const std::string& body, const ProcessesOptions& options);

// Registers a function that the children can run, under a name. The child exits with what it
// returns. If it throws, the child prints the error and exits with 1.
struct RankBody {
  RankBody(std::string name, std::function<int()> body);
};

}  // namespace bp::test

#define RANK_BODY(name)                                                               \
  static int rank_body_##name();                                                      \
  static const ::bp::test::RankBody rank_body_object_##name(#name, rank_body_##name); \
  static int rank_body_##name()
