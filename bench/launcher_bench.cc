// A rank for bench/run_launcher, which times the launcher around it:
//
//   barrier        runs one barrier; rank 0 then prints the time of day in seconds
//   victim         the same; then rank 1 prints the time and kills itself, and the others run
//                  barriers until they fail
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

void print_time(const char* what) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  std::printf("%s %.6f\n", what, now.count());
  std::fflush(stdout);
}

int meet(bool with_victim) {
  Communicator world = Communicator::create();
  barrier(world);
  if (world.rank() == 0) {
    print_time("barrier");
  }
  if (with_victim && world.rank() == 1) {
    print_time("killed");
    ::raise(SIGKILL);
  }
  if (with_victim) {
    for (;;) barrier(world);  // until one throws
  }
  world.finish();
  return 0;
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
    return meet(what == "victim");
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
