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
#include <string>
#include <string_view>
#include <vector>

#include "bp/communicator.h"
#include "bp/export.h"
#include "bp/types.h"

namespace BP_API bp {

struct CollectiveOptions {
  ReduceOp op = ReduceOp::sum;  // all_reduce, reduce, reduce_scatter(_v) only
  // Likewise. What each rank gives is multiplied by `prescale`, and the result by `postscale`, in
  // f64 for f64 and integers, which are then truncated towards zero, and in f32 for the rest.
  double prescale = 1;
  double postscale = 1;
  int root = 0;                          // broadcast, reduce, gather, scatter only
  int tag = 0;                           // send, receive only; see there
  bool at_most = false;                  // receive only: a shorter message is accepted too
  std::string_view name = {};            // for messages and for the comparison; may be empty
  std::chrono::milliseconds timeout{0};  // 0: the communicator's
};

// In place: `data` becomes the reduction over all ranks, bit for bit the same on each.
//
// f16 and bf16 are added in f32, and each sum that a rank sends on is rounded to the nearest half.
// On one host with shared memory that happens once. Between hosts a ring of P ranks rounds P-1
// times, by up to half an ulp of the sum so far: the result is within (P-1)/2 ulp of the sum of the
// magnitudes, 2 ulp with 5 ranks. The other algorithms round no more often. An average is rounded
// once more.
void all_reduce(Communicator& comm, View data, const CollectiveOptions& options = {});
[[nodiscard]] Work all_reduce_async(Communicator& comm,
                                    View data,
                                    const CollectiveOptions& options = {});

// The same for several tensors as one operation, which is agreed on once. Their types may differ;
// none may overlap another. Short ones travel together.
void all_reduce_grouped(Communicator& comm,
                        std::span<const View> tensors,
                        const CollectiveOptions& options = {});
[[nodiscard]] Work all_reduce_grouped_async(Communicator& comm,
                                            std::span<const View> tensors,
                                            const CollectiveOptions& options = {});

// In place: `data` becomes root's.
void broadcast(Communicator& comm, View data, const CollectiveOptions& options = {});
[[nodiscard]] Work broadcast_async(Communicator& comm,
                                   View data,
                                   const CollectiveOptions& options = {});

// In place at root: its `data` becomes the reduction over all ranks. The others' is only read.
void reduce(Communicator& comm, View data, const CollectiveOptions& options = {});
[[nodiscard]] Work reduce_async(Communicator& comm,
                                View data,
                                const CollectiveOptions& options = {});

// Rank r receives block r of the reduction of `input`. Blocks are cut as evenly as they go: with
// n elements over P ranks the first n mod P ranks get one more (`block_of`). output.count must be
// this rank's share. Input and output must not overlap.
void reduce_scatter(Communicator& comm,
                    ConstView input,
                    View output,
                    const CollectiveOptions& options = {});
[[nodiscard]] Work reduce_scatter_async(Communicator& comm,
                                        ConstView input,
                                        View output,
                                        const CollectiveOptions& options = {});

// The same where block r has counts[r] elements, which must agree on all ranks and add up to
// input.count. To cut a matrix of `rows` rows of `columns` elements by rows, as evenly as rows go,
// give block_of(rows, P, r).count * columns for rank r.
void reduce_scatter_v(Communicator& comm,
                      ConstView input,
                      View output,
                      std::span<const std::size_t> counts,
                      const CollectiveOptions& options = {});
[[nodiscard]] Work reduce_scatter_v_async(Communicator& comm,
                                          ConstView input,
                                          View output,
                                          std::span<const std::size_t> counts,
                                          const CollectiveOptions& options = {});

// `output` becomes the inputs of ranks 0..P-1 one after another. All inputs have one count;
// output.count is P times that. input may be this rank's block inside output.
void all_gather(Communicator& comm,
                ConstView input,
                View output,
                const CollectiveOptions& options = {});
[[nodiscard]] Work all_gather_async(Communicator& comm,
                                    ConstView input,
                                    View output,
                                    const CollectiveOptions& options = {});

// The same with counts[r] elements from rank r; counts must agree on all ranks.
void all_gather_v(Communicator& comm,
                  ConstView input,
                  View output,
                  std::span<const std::size_t> counts,
                  const CollectiveOptions& options = {});
[[nodiscard]] Work all_gather_v_async(Communicator& comm,
                                      ConstView input,
                                      View output,
                                      std::span<const std::size_t> counts,
                                      const CollectiveOptions& options = {});

// As all_gather and all_gather_v, but only root's `output` is written; what others give for it is
// not looked at. Input and output must not overlap.
void gather(Communicator& comm,
            ConstView input,
            View output,
            const CollectiveOptions& options = {});
[[nodiscard]] Work gather_async(Communicator& comm,
                                ConstView input,
                                View output,
                                const CollectiveOptions& options = {});
void gather_v(Communicator& comm,
              ConstView input,
              View output,
              std::span<const std::size_t> counts,
              const CollectiveOptions& options = {});
[[nodiscard]] Work gather_v_async(Communicator& comm,
                                  ConstView input,
                                  View output,
                                  std::span<const std::size_t> counts,
                                  const CollectiveOptions& options = {});

// The way back: rank r's `output` becomes block r of root's `input`, where the blocks of ranks
// 0..P-1 lie one after another. All outputs have one count, or counts[r], which must agree on all
// ranks. What others give for `input` is not looked at.
void scatter(Communicator& comm,
             ConstView input,
             View output,
             const CollectiveOptions& options = {});
[[nodiscard]] Work scatter_async(Communicator& comm,
                                 ConstView input,
                                 View output,
                                 const CollectiveOptions& options = {});
void scatter_v(Communicator& comm,
               ConstView input,
               View output,
               std::span<const std::size_t> counts,
               const CollectiveOptions& options = {});
[[nodiscard]] Work scatter_v_async(Communicator& comm,
                                   ConstView input,
                                   View output,
                                   std::span<const std::size_t> counts,
                                   const CollectiveOptions& options = {});

// Block r of `input` goes to rank r; block r of `output` comes from rank r. All blocks have one
// count: a P-th of input.count, which is that of the output and of all other ranks'. Input and
// output must not overlap.
void all_to_all(Communicator& comm,
                ConstView input,
                View output,
                const CollectiveOptions& options = {});
[[nodiscard]] Work all_to_all_async(Communicator& comm,
                                    ConstView input,
                                    View output,
                                    const CollectiveOptions& options = {});

// The same with send[r] elements for rank r and receive[r] from it. A rank's receive[s] must be
// what rank s sends it; the ranks compare that first, so a rank that does not know what to expect
// learns it by an all_to_all of the counts.
struct ExchangeCounts {
  std::span<const std::size_t> send;
  std::span<const std::size_t> receive;
};
void all_to_all_v(Communicator& comm,
                  ConstView input,
                  View output,
                  const ExchangeCounts& counts,
                  const CollectiveOptions& options = {});
[[nodiscard]] Work all_to_all_v_async(Communicator& comm,
                                      ConstView input,
                                      View output,
                                      const ExchangeCounts& counts,
                                      const CollectiveOptions& options = {});

// Messages from one rank to another. The other ranks do not take part, and messages and collectives
// do not wait for each other.
//
//   bp::Work sent = bp::send_async(comm, out, peer);   // both ranks may do this at the same time
//   bp::receive(comm, in, peer);
//   sent.wait();
//
// Matching: options.tag is a number from 0 on, which sender and receiver choose freely. A receive
// takes a message of its sender and its tag, or of any sender (kAnySource) or any tag (kAnyTag):
// the first of those that it matches. A message goes to the first receive posted that matches it.
// Two messages that one rank sends to another and that match the same receive are received in the
// order in which they were sent. Apart from that no message waits for another, so receives may be
// posted in any order. A rank may send to itself.
//
// Count, type and name of the message must be those of the receive. With options.at_most the
// message may have fewer elements than `data`; the rest of `data` stays as it is. A disagreement is
// a `mismatch` Error on all ranks that names both sides.
//
// send blocks until `data` may be changed again. A message of up to 64 KiB is copied and travels at
// once, as long as the receiver has at most 32 such messages or 512 KiB of this sender that it has
// not received yet. A longer one waits for its receive. So two ranks that both call send first and
// receive then wait for each other, if their messages are long. Use send_async or receive_async for
// one of both. Ranks that wait for each other in a circle learn so from a `mismatch` Error that
// names each.
//
// options.timeout counts while a rank waits for the message, in send, in receive or in Work::wait.
// A `timeout` Error says which rank waited for which, and which messages had come instead. A rank
// that is lost is named by a `peer_lost` Error. After each of these the communicator has failed.
// Bad arguments are an invalid_argument Error that leaves it usable.
//
// finish() waits for this rank's messages to be received. CommunicatorOptions::max_in_flight does
// not count messages.
inline constexpr int kAnySource = -1;
inline constexpr int kAnyTag = -1;

// What a receive got.
struct MessageStatus {
  int sender = 0;
  int tag = 0;
  std::size_t count = 0;  // elements
};

void send(Communicator& comm, ConstView data, int receiver, const CollectiveOptions& options = {});
[[nodiscard]] Work send_async(Communicator& comm,
                              ConstView data,
                              int receiver,
                              const CollectiveOptions& options = {});
MessageStatus receive(Communicator& comm,
                      View data,
                      int sender,
                      const CollectiveOptions& options = {});
// Writes *status, if it is given, before the Work is done. It must live until then.
[[nodiscard]] Work receive_async(Communicator& comm,
                                 View data,
                                 int sender,
                                 const CollectiveOptions& options = {},
                                 MessageStatus* status = nullptr);

// Bytes whose number only their owner knows. `bytes` becomes root's; or the result holds those of
// all ranks, by rank. Each is two collectives, the lengths and the bytes.
void broadcast_object(Communicator& comm,
                      std::string& bytes,
                      const CollectiveOptions& options = {});
[[nodiscard]] std::vector<std::string> all_gather_object(Communicator& comm,
                                                         std::string_view bytes,
                                                         const CollectiveOptions& options = {});

// Returns when every rank has entered it; the Work of the other is done then. That one comes in its
// turn: its Work is done only after those of the collectives that this rank started before it.
void barrier(Communicator& comm, const CollectiveOptions& options = {});
[[nodiscard]] Work barrier_async(Communicator& comm, const CollectiveOptions& options = {});

// For a rank that has no more data while others do (CommunicatorOptions::joinable): takes part in
// their collectives with nothing to add, until all ranks have joined. Returns the rank that was the
// last to join, the same on all; the communicator then goes on as before.
//
// Meanwhile the others may all_reduce sums and averages, and meet in barriers; anything else is a
// mismatch that names who has joined. An average is over those that have not. options.timeout is
// how long the others may take from one collective to the next.
int join(Communicator& comm, const CollectiveOptions& options = {});

// Where block r lies when `count` elements are cut into `ranks` blocks.
struct Block {
  std::size_t offset = 0;
  std::size_t count = 0;
};
[[nodiscard]] Block block_of(std::size_t count, int ranks, int r);

}  // namespace bp
