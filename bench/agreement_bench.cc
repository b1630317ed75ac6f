// Measures what it costs ranks to check that all of them ask for the same.
//
// Alone: the hash of a collective's header, and a comparison with the hash of each peer, as a
// collective inside a host does them. Prints the nanoseconds per call of a named all-reduce.
//
// As a job (bprun -n 96 agreement_bench): all ranks but one wait in a barrier, and compare in the
// store what they ask for, as they do while rank 0 writes a checkpoint. Prints how much time of a
// processor that costs bprun, whose thread serves the store.
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/repeat.h"
#include "bp/collective.h"
#include "bp/environment.h"
#include "comm/engine/observe/header.h"

namespace {

int measure_hash() {
  std::array<float, 4> data = {};
  bp::Operation operation;
  operation.kind = bp::Operation::Kind::all_reduce;
  operation.output =
      bp::View{reinterpret_cast<std::byte*>(data.data()), data.size(), bp::DataType::f32};
  operation.name = "gradients, bucket 17";
  constexpr std::size_t kPeers = 8;
  const std::array<std::atomic<std::uint64_t>, kPeers> peers = {};
  std::uint64_t different = 0;
  const double each = bp::bench::nanoseconds_a_call([&](int i) {
    bp::Header header;
    header.group = "world";
    header.sequence = static_cast<std::uint64_t>(i);
    header.operation = &operation;
    header.algorithm = "auto";
    const std::uint64_t own = header.slot();
    for (const auto& peer : peers) {
      different += peer.load(std::memory_order_relaxed) != own ? 1U : 0U;
    }
  });
  // Uses the result, so that the compiler does not remove the computation. A header has the hash 0
  // with a probability of 1 in 2^64.
  if (different != kPeers * bp::bench::kCallsARound * bp::bench::kRounds) return 70;
  std::printf("agreement: %.1f ns a call with %zu peers (target: 200 ns)\n", each, kPeers);
  return 0;
}

// Returns the words of /proc/PID/stat after the program's name, from the state on.
std::vector<std::string> stat_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  file.ignore(4096, ')');
  std::vector<std::string> words;
  for (std::string word; file >> word;) words.push_back(word);
  return words;
}

double cpu_seconds_of(pid_t process) {
  const std::vector<std::string> stat = stat_of(process);
  const long ticks = std::atol(stat.at(11).c_str()) + std::atol(stat.at(12).c_str());
  return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

int measure_waiting_ranks() {
  constexpr std::chrono::seconds kUntilAllWait{3};
  constexpr std::chrono::seconds kMeasured{8};
  bp::Communicator world = bp::Communicator::create();
  bp::barrier(world);
  if (world.rank() == 0) {
    // The parent of this rank is the agent, a child of bprun.
    const pid_t bprun = std::atoi(stat_of(::getppid()).at(1).c_str());
    std::this_thread::sleep_for(kUntilAllWait);
    const double before = cpu_seconds_of(bprun);
    std::this_thread::sleep_for(kMeasured);
    const double used = (cpu_seconds_of(bprun) - before) / static_cast<double>(kMeasured.count());
    std::printf("agreement: %.1f ms of bprun's CPU a second while %d ranks wait for one\n",
                used * 1e3, world.size() - 1);
  }
  bp::barrier(world);
  world.finish();
  return 0;
}

}  // namespace

int main() {
  const bool is_job = bp::Environment::current().topology.size() > 1;
  return is_job ? measure_waiting_ranks() : measure_hash();
}
