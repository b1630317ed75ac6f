// A rank for bench/run_launcher, which times the launcher around it:
//
//   barrier        runs one barrier and ends; rank 0 prints the time of day in seconds after
//                  create(), the barrier, finish(), and when its communicator is destroyed
//   victim         the same up to the barrier; then rank 1 prints the time and kills itself, and
//                  the others run barriers until they fail
//   lines COUNT    writes COUNT lines, and to stderr the CPU time that this process used
//   sleep          prints the time and sleeps
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "bp/collective.h"
#include "bp/communicator.h"

namespace bp {
namespace {

void print_time(const char* what, int rank = 0) {
  if (rank != 0) return;
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  std::printf("%s %.6f\n", what, now.count());
  std::fflush(stdout);
}

// Returns the rank.
int meet(bool with_victim) {
  Communicator world = Communicator::create();
  print_time("created", world.rank());
  barrier(world);
  print_time("barrier", world.rank());
  if (with_victim && world.rank() == 1) {
    print_time("killed");
    ::raise(SIGKILL);
  }
  if (with_victim) {
    for (;;) barrier(world);  // until one throws
  }
  world.finish();
  print_time("finished", world.rank());
  return world.rank();
}

int write_lines(long count) {
  for (long i = 0; i < count; ++i) {
    std::printf("line %ld of a rank that writes as fast as it can\n", i);
  }
  std::fflush(stdout);
  rusage own{};
  ::getrusage(RUSAGE_SELF, &own);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  std::fprintf(stderr, "cpu %.6f\n", seconds(own.ru_utime) + seconds(own.ru_stime));
  return 0;
}

int run(const std::string& what, const char* count) {
  if (what == "lines" && count != nullptr) {
    return write_lines(std::atol(count));
  }
  if (what == "barrier" || what == "victim") {
    print_time("destroyed", meet(what == "victim"));
    return 0;
  }
  if (what != "sleep") {
    std::fprintf(stderr, "usage: launcher_bench barrier|victim|sleep|lines COUNT\n");
    return 2;
  }
  print_time("asleep");
  return ::pause();
}

}  // namespace
}  // namespace bp

int main(int argc, char** argv) {
  try {
    return bp::run(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : nullptr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "launcher_bench: %s\n", error.what());
    return 70;
  }
}
