#include "comm/backend/cpu.h"

#include <array>
#include <cstring>
#include <utility>

#include "comm/backend/algorithms.h"
#include "comm/backend/exchange.h"
#include "comm/base/check.h"
#include "comm/base/text.h"

namespace bp {
namespace {

constexpr std::array<std::pair<std::string_view, Algorithm>, 3> kAlgorithms = {
    {{"auto", Algorithm::automatic},
     {"ring", Algorithm::ring},
     {"recursive_doubling", Algorithm::recursive_doubling}}};

// Above this the ring's smaller traffic beats recursive doubling's fewer steps: the crossing lies
// at 82 to 281 KB for 4 to 16 ranks on 10 Gb Ethernet (alpha 25 us, 1.1 GB/s) by the costs in
// schedule/ring.h and schedule/recursive_doubling.h, and higher where latency is.
constexpr std::size_t kRingFromBytes = std::size_t{128} << 10;

void gather_own_input(const Operation& operation, const Call& call) {
  const ConstView& input = operation.input;
  const Block own = gathered_block(operation.counts, call.rank());
  std::byte* target = operation.output.data + own.offset * size_of(input.type);
  if (input.bytes() > 0 && input.data != target) {
    std::memmove(target, input.data, input.bytes());
  }
}

}  // namespace

Algorithm parse_algorithm(std::string_view name) {
  std::string known;
  for (const auto& [text, algorithm] : kAlgorithms) {
    if (text == name) return algorithm;
    known += concat(known.empty() ? "" : ", ", text);
  }
  throw Error(ErrorCode::invalid_argument,
              concat("there is no algorithm '", name, "'; there are: ", known));
}

std::string_view name_of(Algorithm algorithm) {
  for (const auto& [text, known] : kAlgorithms) {
    if (known == algorithm) return text;
  }
  return "unknown algorithm";
}

Algorithm choose_all_reduce(Algorithm asked, std::size_t bytes, int) {
  if (asked != Algorithm::automatic) return asked;
  return bytes < kRingFromBytes ? Algorithm::recursive_doubling : Algorithm::ring;
}

void CpuBackend::run(const Operation& operation, Call& call) {
  const View& output = operation.output;
  switch (operation.kind) {
    case Operation::Kind::all_reduce:
      if (choose_all_reduce(algorithm_, output.bytes(), call.size()) == Algorithm::ring) {
        ring_all_reduce(call, output, operation.reduce, limits_);
      } else {
        doubling_all_reduce(call, output, operation.reduce);
      }
      return;
    case Operation::Kind::broadcast:
      tree_broadcast(call, output, operation.root, limits_);
      return;
    case Operation::Kind::reduce_scatter:
      ring_reduce_scatter(call, operation.input, output, operation.reduce, limits_);
      return;
    case Operation::Kind::all_gather:
      gather_own_input(operation, call);
      ring_all_gather(call, output, operation.counts, limits_);
      return;
    case Operation::Kind::barrier:
      Barrier(call).finish();
      return;
    case Operation::Kind::reduce:
      tree_reduce(call, output, operation.reduce, operation.root, limits_);
      return;
    case Operation::Kind::gather:
    case Operation::Kind::scatter:
    case Operation::Kind::all_to_all:
      pairwise_exchange(call, exchange_of(operation, call.rank(), call.size(), {}), limits_);
      return;
    case Operation::Kind::all_to_all_v: {
      const CountTable table = agree_on_counts(operation, call, [&](const Operation& counts) {
        ring_all_gather(call, counts.output, counts.counts, limits_);
      });
      pairwise_exchange(call, exchange_of(operation, call.rank(), call.size(), table), limits_);
      return;
    }
    case Operation::Kind::message:
      pass_message(call, operation, limits_);
      return;
    case Operation::Kind::all_reduce_grouped:  // perform.h makes others of these
    case Operation::Kind::join:
      BP_CHECK(false, "no backend is given groups");
  }
}

}  // namespace bp
