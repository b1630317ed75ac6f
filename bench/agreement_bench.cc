// What it costs a collective inside a host to know that all ranks ask for the same: the hash of its
// header, and a comparison with each peer's. Prints nanoseconds a call for a named all-reduce.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>

#include "comm/engine/header.h"

namespace {

constexpr int kCalls = 1'000'000;
constexpr int kRounds = 7;
constexpr std::size_t kPeers = 8;

double nanoseconds_a_call(const bp::Operation& operation,
                          const std::array<std::atomic<std::uint64_t>, kPeers>& peers) {
  std::uint64_t different = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) {
    bp::Header header;
    header.group = "world";
    header.sequence = static_cast<std::uint64_t>(i);
    header.operation = &operation;
    header.algorithm = "auto";
    const std::uint64_t own = header.slot();
    for (const auto& peer : peers) {
      different += peer.load(std::memory_order_relaxed) != own ? 1U : 0U;
    }
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  // Used, so that it is computed; no header hashes to 0 but by an accident of 1 in 2^64.
  return different == kPeers * kCalls ? took.count() / kCalls : 0;
}

}  // namespace

int main() {
  std::array<float, 4> data = {};
  bp::Operation operation;
  operation.kind = bp::Operation::Kind::all_reduce;
  operation.output =
      bp::View{reinterpret_cast<std::byte*>(data.data()), data.size(), bp::DataType::f32};
  operation.name = "gradients, bucket 17";
  const std::array<std::atomic<std::uint64_t>, kPeers> peers = {};
  std::array<double, kRounds> rounds = {};
  for (double& round : rounds) round = nanoseconds_a_call(operation, peers);
  std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
  std::printf("agreement: %.1f ns a call with %zu peers (target: 200 ns)\n", rounds[kRounds / 2],
              kPeers);
}
