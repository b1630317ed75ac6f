// The collectives that move blocks between ranks and reduce nothing. gather, scatter and all_to_all
// are one exchange, in which most blocks may be empty.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "bp/collective.h"
#include "comm/backend/common/collective_call.h"
#include "comm/backend/common/operation.h"
#include "comm/schedule/segments.h"

namespace bp {

// The number of elements that each rank has for each: table[from * ranks + to].
using CountTable = std::vector<std::size_t>;

// What one rank sends and receives. All blocks are in bytes.
struct Exchange {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::vector<Block> send;     // by receiver, in this rank's input
  std::vector<Block> receive;  // by sender, in this rank's output
  // Known without a message:
  std::vector<Block> source;  // by sender: the block for this rank, in the sender's input
  std::vector<bool> gives;    // by sender: whether any block of its input has bytes
  int gather_root = -1;       // of a gather, else -1
  int scatter_root = -1;      // of a scatter, else -1
  Block gathered;             // of a gather: this rank's block in the root's output
  int pieces = 1;             // blocks in a sender's input: one for each rank, or one for the root
  std::size_t longest = 0;    // the longest block of all ranks
  std::size_t all_bytes = 0;  // of all blocks of all ranks

  // Makes this the exchange of a gather, a scatter or an all_to_all. `table`: for an all_to_all_v;
  // else empty.
  void fill(const Operation& operation, int rank, int ranks, const CountTable& table);
  [[nodiscard]] std::size_t output_bytes() const;
  // Returns the bytes that come from other ranks.
  [[nodiscard]] std::size_t received_bytes(int rank) const;
};

[[nodiscard]] inline Exchange exchange_of(const Operation& operation,
                                          int rank,
                                          int ranks,
                                          const CountTable& table) {
  Exchange exchange;
  exchange.fill(operation, rank, ranks, table);
  return exchange;
}

// Exchanges the counts of an all_to_all_v and returns them. If a sender and its receiver differ,
// all ranks throw the same mismatch. `all_gather` carries out an all_gather of the same call.
[[nodiscard]] CountTable agree_on_counts(const Operation& operation,
                                         CollectiveCall& call,
                                         const std::function<void(const Operation&)>& all_gather);

// Copies the block that this rank has for itself.
void copy_own_block(const Exchange& exchange, int rank);

// Carries the exchange out by messages: comm/schedule/pairwise.h, in segments. A barrier runs
// beside it, because a rank that receives nothing would otherwise complete before the others have
// entered.
void pairwise_exchange(CollectiveCall& call, const Exchange& exchange, const SegmentLimits& limits);

}  // namespace bp
