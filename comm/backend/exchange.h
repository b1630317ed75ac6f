// The collectives that move blocks from ranks to ranks and reduce nothing: gather, scatter and
// all_to_all are one exchange, in which most blocks may be empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bp/collective.h"
#include "comm/backend/collective_call.h"
#include "comm/backend/operation.h"
#include "comm/schedule/segments.h"

namespace bp {

// What one rank sends and receives; all blocks are in bytes.
struct Exchange {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::vector<Block> send;     // by receiver, in our input
  std::vector<Block> receive;  // by sender, in our output
  // What all ranks know alike:
  std::vector<Block> source;  // by sender: where in its input the block for us lies
  std::vector<bool> gives;    // by sender: it has something for somebody
  int pieces = 1;             // blocks in a sender's input: one for each rank, or for root alone
  std::size_t longest = 0;    // block of all

  // All that comes from others.
  [[nodiscard]] std::size_t received_bytes(int rank) const;
};

// How many elements each rank has for each: table[from * ranks + to].
using CountTable = std::vector<std::size_t>;

// Of a gather, a scatter or an all_to_all. `table`: of an all_to_all_v; else empty.
[[nodiscard]] Exchange exchange_of(const Operation& operation,
                                   int rank,
                                   int ranks,
                                   const CountTable& table);

// What the ranks of an all_to_all_v have told each other of their counts. Where a sender and its
// receiver differ, all ranks throw the same mismatch. `all_gather` carries out an all_gather of the
// same call.
[[nodiscard]] CountTable agree_on_counts(const Operation& operation,
                                         CollectiveCall& call,
                                         const std::function<void(const Operation&)>& all_gather);

// From our input to our output.
void copy_own_block(const Exchange& exchange, int rank);

// By messages: comm/schedule/pairwise.h, in segments, with a barrier beside it, because a rank with
// nothing to receive would go before the others have come.
void pairwise_exchange(CollectiveCall& call, const Exchange& exchange, const SegmentLimits& limits);

}  // namespace bp
