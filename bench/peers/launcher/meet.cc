// What bench/launcher_bench.cc does by "barrier" and "victim", by MPI.
#include <mpi.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstring>

namespace {

void print_time(const char* what) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  std::printf("%s %.6f\n", what, now.count());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const bool with_victim = argc > 1 && std::strcmp(argv[1], "victim") == 0;
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    print_time("barrier");
  }
  if (with_victim && rank == 1) {
    print_time("killed");
    ::raise(SIGKILL);
  }
  while (with_victim) {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return MPI_Finalize();
}
