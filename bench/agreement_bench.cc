// Measures what it costs a collective inside a host to check that all ranks ask for the same: the
// hash of its header, and a comparison with the hash of each peer. Prints the nanoseconds per call
// of a named all-reduce.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>

#include "bench/repeat.h"
#include "comm/engine/header.h"

int main() {
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
}
