// The collectives. Each is called by every rank of the communicator with agreeing arguments:
// operation, element type, counts, reduction, root and name are compared on all ranks, and a
// disagreement is a `mismatch` Error on all of them, naming who asked for what. After an Error the
// content of the output is undefined.
//
// Blocking calls return when this rank's output is complete. The _async forms return at once and
// are carried out in the order in which they were called.
#pragma once

#include <chrono>
#include <span>
#include <string_view>

#include "bp/communicator.h"
#include "bp/types.h"

namespace bp {

struct CollectiveOptions {
  ReduceOp op = ReduceOp::sum;           // all_reduce and reduce_scatter only
  int root = 0;                          // broadcast only
  std::string_view name = {};            // for messages and for the comparison; may be empty
  std::chrono::milliseconds timeout{0};  // 0: the communicator's
};

// In place: `data` becomes the reduction over all ranks, bit for bit the same on each.
void all_reduce(Communicator& comm, View data, const CollectiveOptions& options = {});
[[nodiscard]] Work all_reduce_async(Communicator& comm,
                                    View data,
                                    const CollectiveOptions& options = {});

// In place: `data` becomes root's.
void broadcast(Communicator& comm, View data, const CollectiveOptions& options = {});
[[nodiscard]] Work broadcast_async(Communicator& comm,
                                   View data,
                                   const CollectiveOptions& options = {});

// Rank r receives block r of the reduction of `input`. Blocks are cut as evenly as they go: with
// n elements over P ranks the first n mod P ranks get one more (`block_of`). output.count must be
// this rank's share. Input and output must not overlap.
void reduce_scatter(Communicator& comm,
                    ConstView input,
                    View output,
                    const CollectiveOptions& options = {});

// `output` becomes the inputs of ranks 0..P-1 one after another. All inputs have one count;
// output.count is P times that. input may be this rank's block inside output.
void all_gather(Communicator& comm,
                ConstView input,
                View output,
                const CollectiveOptions& options = {});

// The same with counts[r] elements from rank r; counts must agree on all ranks.
void all_gather_v(Communicator& comm,
                  ConstView input,
                  View output,
                  std::span<const std::size_t> counts,
                  const CollectiveOptions& options = {});

// Returns when every rank has entered it.
void barrier(Communicator& comm, const CollectiveOptions& options = {});

// Where block r lies when `count` elements are cut into `ranks` blocks.
struct Block {
  std::size_t offset = 0;
  std::size_t count = 0;
};
[[nodiscard]] Block block_of(std::size_t count, int ranks, int r);

}  // namespace bp
