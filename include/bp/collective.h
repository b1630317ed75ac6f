// The collectives, and messages between two ranks.
//
// Every rank of the communicator must call the same collectives in the same order, with the same
// operation, element type, counts, reduction, root and name. The ranks compare these. If they
// differ, all ranks throw a `mismatch` Error that names what each rank asked for. A rank that waits
// for no data, such as the root of a broadcast, may throw it in its next collective or in finish().
//
// A blocking call returns when this rank's output is complete. An _async form returns at once; the
// operations run in the order in which they were started. The memory of their views must stay
// valid, and that of inputs unchanged, until the operation is done.
//
// Errors: invalid_argument for arguments that cannot be right (this rank has sent nothing, and the
// communicator stays usable); `mismatch`, `timeout`, `peer_lost`, `io` and `aborted` as in
// bp/error.h, after which the communicator has failed. After an Error the content of the output is
// undefined.
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
  // all_reduce, reduce, reduce_scatter(_v) only. can_reduce() (bp/types.h) says for which types it
  // is defined; any other is an invalid_argument Error.
  ReduceOp op = ReduceOp::sum;
  // For the same four. Each rank's input is multiplied by `prescale`, and the result by
  // `postscale`: in f64 for f64 and for integers, which are then truncated towards zero, and in f32
  // for the other types. Elements of bool cannot be scaled.
  double prescale = 1;
  double postscale = 1;
  int root = 0;                          // broadcast, reduce, gather, scatter only
  int tag = 0;                           // send, receive only; see there
  bool at_most = false;                  // receive only: accept a shorter message too
  std::string_view name = {};            // for texts and for the comparison; may be empty
  std::chrono::milliseconds timeout{0};  // 0: the communicator's
  // On device memory only: a stream of the views' device (a cudaStream_t), after whose work so far
  // the operation begins. Null: the device's default stream. An operation that is done has written
  // its output, so what any stream is given later sees it.
  void* stream = nullptr;
};

// Replaces `data` by the reduction over all ranks, with the same bits on each rank.
//
// f16 and bf16 are added in f32, and a rank rounds each sum that it passes on to the nearest value
// of the type. On one host with shared memory that happens once. Between hosts, a ring of P ranks
// rounds P-1 times, each time by at most half an ulp of the sum so far. The result is then within
// (P-1)/2 ulp of the sum of the magnitudes: 2 ulp with 5 ranks. No other algorithm rounds more
// often. An average is rounded once more.
void all_reduce(Communicator& comm, View data, const CollectiveOptions& options = {});
[[nodiscard]] Work all_reduce_async(Communicator& comm,
                                    View data,
                                    const CollectiveOptions& options = {});

// The same for several tensors as one operation, which the ranks compare once. The tensors may have
// different types and must not overlap. Short ones travel together.
void all_reduce_grouped(Communicator& comm,
                        std::span<const View> tensors,
                        const CollectiveOptions& options = {});
[[nodiscard]] Work all_reduce_grouped_async(Communicator& comm,
                                            std::span<const View> tensors,
                                            const CollectiveOptions& options = {});

// Replaces `data`, f32 in host memory, by its sum over all ranks, with the same bits on each rank.
// Hosts send each other a quarter of the bytes: each element as an int8, and for 64 of them one
// factor, by which the largest becomes 127 or a little less. Inside a host nothing is rounded, and
// with one host this is all_reduce().
//
// With two hosts each rounds its ranks' sum once. With more, the sum over hosts is rounded again.
// An infinity or a NaN makes all elements NaN that share its factor. `errors` is empty, or has as
// many elements as `data`: it gets what this rank's rounding has taken from each sum. The errors of
// all ranks and the result add up to the exact sum, as far as f32 can hold these sums. So a program
// that adds its errors to its data of the next call loses nothing over many calls. op must be sum,
// and prescale and postscale 1. `errors` must stay valid, like `data`, until the operation is done.
void all_reduce_int8(Communicator& comm,
                     View data,
                     std::span<float> errors = {},
                     const CollectiveOptions& options = {});
[[nodiscard]] Work all_reduce_int8_async(Communicator& comm,
                                         View data,
                                         std::span<float> errors = {},
                                         const CollectiveOptions& options = {});

// Replaces `data` by root's.
void broadcast(Communicator& comm, View data, const CollectiveOptions& options = {});
[[nodiscard]] Work broadcast_async(Communicator& comm,
                                   View data,
                                   const CollectiveOptions& options = {});

// Replaces root's `data` by the reduction over all ranks. On the other ranks `data` is only read.
void reduce(Communicator& comm, View data, const CollectiveOptions& options = {});
[[nodiscard]] Work reduce_async(Communicator& comm,
                                View data,
                                const CollectiveOptions& options = {});

// Gives rank r block r of the reduction of `input`. The blocks are as even as possible: of n
// elements over P ranks, each of the first n mod P ranks gets one more than the others
// (block_of()). output.count must be this rank's share. Output may be this rank's block inside the
// input, whose other blocks stay as they are; otherwise the two must not overlap.
void reduce_scatter(Communicator& comm,
                    ConstView input,
                    View output,
                    const CollectiveOptions& options = {});
[[nodiscard]] Work reduce_scatter_async(Communicator& comm,
                                        ConstView input,
                                        View output,
                                        const CollectiveOptions& options = {});

// The same, but block r has counts[r] elements. `counts` must be the same on all ranks and add up
// to input.count. To cut a matrix of `rows` rows with `columns` elements each by whole rows, give
// block_of(rows, P, r).count * columns for rank r.
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

// Fills `output` with the inputs of ranks 0..P-1, one after another. All inputs have the same
// count, and output.count is P times that. `input` may be this rank's block inside `output`.
void all_gather(Communicator& comm,
                ConstView input,
                View output,
                const CollectiveOptions& options = {});
[[nodiscard]] Work all_gather_async(Communicator& comm,
                                    ConstView input,
                                    View output,
                                    const CollectiveOptions& options = {});

// The same with counts[r] elements from rank r. `counts` must be the same on all ranks.
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

// As all_gather and all_gather_v, but only root's `output` is written; the other ranks' is ignored.
// Input and output must not overlap.
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

// The reverse of gather: fills rank r's `output` with block r of root's `input`, in which the
// blocks of ranks 0..P-1 follow each other. All outputs have the same count, or counts[r] elements,
// where `counts` must be the same on all ranks. The other ranks' `input` is ignored.
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

// Sends block r of `input` to rank r and fills block r of `output` from rank r. All blocks have the
// same count, input.count / P. output.count is input.count, which is the same on all ranks. Input
// and output must not overlap.
void all_to_all(Communicator& comm,
                ConstView input,
                View output,
                const CollectiveOptions& options = {});
[[nodiscard]] Work all_to_all_async(Communicator& comm,
                                    ConstView input,
                                    View output,
                                    const CollectiveOptions& options = {});

// The same with send[r] elements for rank r and receive[r] elements from it. receive[s] must be
// what rank s sends to this rank; the ranks compare that first. A rank that does not know what to
// expect can learn it by an all_to_all of the counts.
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

// Messages from one rank to another. The other ranks do not take part. Messages and collectives do
// not wait for each other.
//
//   bp::Work sent = bp::send_async(comm, out, peer);   // both ranks may do this at the same time
//   bp::receive(comm, in, peer);
//   sent.wait();
//
// Matching: options.tag is a number from 0 that sender and receiver choose freely. A receive
// accepts messages with its sender and tag, or from any sender (kAnySource), or with any tag
// (kAnyTag), and takes the first message that it accepts. A message goes to the first posted
// receive that accepts it. Two messages from one rank to another that the same receive accepts are
// received in the order in which they were sent. Otherwise no message waits for another, so
// receives may be posted in any order. A rank may send to itself.
//
// Count, type and name must be the same in the send and in the receive. With options.at_most the
// message may have fewer elements than `data`; the rest of `data` stays unchanged. A difference is
// a `mismatch` Error on all ranks that names both sides.
//
// send blocks until the caller may change `data` again. A message of at most 64 KiB is copied and
// sent at once, as long as fewer than 32 of this sender's messages, with at most 512 KiB in all,
// wait at the receiver. A longer message waits for its receive. So if two ranks both call send and
// then receive, with long messages, each waits for the other. Use send_async or receive_async on
// one of them. Ranks that wait for each other in a circle throw a `mismatch` Error that names each
// of them. A receive from any source belongs to no circle, since another thread of any rank may
// still send to it: it ends at its timeout. Nor do the messages of a rank that sends and receives
// on several threads, from the second thread on. A receive that waits for 10 s is logged.
//
// Threads: several threads of a rank may send, receive and wait at once, each for its own message.
//
// Device memory goes through pinned host memory of the same length. Both calls then wait for the
// work that options.stream had before; what has been received lies on the device once the Work is
// done. A message may go from device memory to host memory, and back.
//
// options.timeout counts while a rank waits for the message: in send, in receive or in Work::wait.
// A `timeout` Error says which rank waited for which, and which messages had arrived instead. A
// `peer_lost` Error names a rank that was lost.
//
// finish() waits until this rank's messages have been received. CommunicatorOptions::max_in_flight
// does not count messages.
inline constexpr int kAnySource = -1;
inline constexpr int kAnyTag = -1;

// The message that a receive took.
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
// Writes *status before the Work is done, unless `status` is null. It must live until then.
[[nodiscard]] Work receive_async(Communicator& comm,
                                 View data,
                                 int sender,
                                 const CollectiveOptions& options = {},
                                 MessageStatus* status = nullptr);

// For bytes whose number only their owner knows. The first replaces `bytes` by root's; the second
// returns the bytes of all ranks, by rank. Each is two collectives: the lengths, then the bytes.
void broadcast_object(Communicator& comm,
                      std::string& bytes,
                      const CollectiveOptions& options = {});
[[nodiscard]] std::vector<std::string> all_gather_object(Communicator& comm,
                                                         std::string_view bytes,
                                                         const CollectiveOptions& options = {});

// Returns when every rank has entered it. The Work of barrier_async is done then, and after the
// Works of the collectives that this rank started before it.
void barrier(Communicator& comm, const CollectiveOptions& options = {});
[[nodiscard]] Work barrier_async(Communicator& comm, const CollectiveOptions& options = {});

// Tells the other ranks that this rank has no more data (requires CommunicatorOptions::joinable).
// Until all ranks have joined, this rank contributes zeros to the others' collectives. They may
// call only all_reduce (sum, average) and barrier; any other call is a `mismatch` Error that names
// the joined ranks. An average counts only the ranks that have not joined. options.timeout limits
// the time from one collective to the next. Blocks until every rank has joined. Returns the last
// rank to join (the highest if several join at once), the same on all ranks; the communicator stays
// usable. A rank that has joined makes no steps meanwhile, so its parameters are older than those
// of the others: broadcast them from the returned rank (bp/torch: broadcast_parameters()).
int join(Communicator& comm, const CollectiveOptions& options = {});

// Returns offset and count of block r when `count` elements are cut into `ranks` blocks.
struct Block {
  std::size_t offset = 0;
  std::size_t count = 0;
};
[[nodiscard]] Block block_of(std::size_t count, int ranks, int r);

}  // namespace bp
