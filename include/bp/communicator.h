// A group of ranks that perform collectives together (bp/collective.h).
//
//   bp::Communicator world = bp::Communicator::create();
//   std::vector<float> x(n);
//   bp::all_reduce(world, bp::view(x), {.op = bp::ReduceOp::average, .name = "loss"});
//
// Threads: a communicator is used by one thread at a time; abort() may come from any. Every rank
// must ask for the same collectives in the same order; a rank that does not is told so on all
// ranks by a `mismatch` Error. A communicator fails once and stays failed: the first Error goes to
// the operation that met it and to all pending ones, or else to the next call; later calls throw
// `aborted` quoting it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bp/activity.h"
#include "bp/export.h"
#include "bp/topology.h"
#include "bp/types.h"

namespace BP_API bp {

class Store;
class Trace;

struct CommunicatorOptions {
  // "auto" chooses by topology: memory that ranks of one host share, Gloo between hosts. Else "shm"
  // (one host only), "gloo" (all by messages), or to compare with it Gloo's own collectives:
  // "gloo-native", and "gloo-native-batch" with Gloo's thread as "gloo" runs it. Also read from
  // BP_BACKEND.
  std::string backend = "auto";
  // Of all_reduce by messages: "auto" chooses by size, ranks and hosts; else "ring",
  // "recursive_doubling", "halving_doubling", "tree", "double_tree" or "hierarchical". One that
  // this job cannot run is an error. The same on all ranks. Also read from BP_ALGORITHM.
  std::string algorithm = "auto";
  // A file that comm_bench --tune has written, by which "auto" chooses; empty: by a cost model. The
  // same on all ranks. Also read from BP_SELECTION.
  std::string selection = {};
  // How long one collective may take. Ranks that are only slow should be given more. Time in which
  // the rank's own process is stopped (Ctrl-Z of the job) does not count.
  std::chrono::milliseconds timeout{300'000};
  // How long create() waits for the other ranks.
  std::chrono::milliseconds start_timeout{30'000};
  // The network interface or address to listen on; empty: the one that routes to the store. Also
  // read from BP_INTERFACE.
  std::string interface = {};
  // A folder: when the communicator fails, what its recorder holds goes to rank.N/collectives.*.txt
  // there. Empty: nowhere. Also read from BP_OUTPUT, which bprun --output sets.
  std::string output = {};
  // A folder: rank-N.json there becomes a timeline of this rank (bp/trace.h). The same on all
  // ranks. Empty: none. Also read from BP_TRACE, which bprun --trace sets.
  std::string trace = {};
  // How many _async operations may be under way or waiting; who starts one more waits for the first
  // to end, as long as the new one may take, and is then refused. 0: no limit.
  std::size_t max_in_flight = 1024;
  // Ranks may join() (bp/collective.h). Each collective then begins with a small message of all to
  // all, by which a rank that has joined learns what the others do. The same on all ranks.
  bool joinable = false;
};

// An operation in flight. The memory of its views must live until it is done. Dropping an
// unfinished Work waits for it (bounded by the collective's timeout) and swallows its error, which
// the next call on the communicator reports.
class Work {
 public:
  Work();
  Work(Work&&) noexcept;
  Work& operator=(Work&&) noexcept;
  ~Work();

  [[nodiscard]] bool done() const;
  void wait();  // throws the operation's Error
  // True when it is done; false when it is still going on after `timeout`. Throws its Error.
  [[nodiscard]] bool wait_for(std::chrono::milliseconds timeout);

  struct BP_HIDDEN State;
  explicit Work(std::shared_ptr<State> state);

 private:
  std::shared_ptr<State> state_;
};

// Memory that collectives of one communicator take without staging. 64-byte aligned, zeroed.
class Buffer {
 public:
  Buffer();
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;
  ~Buffer();

  [[nodiscard]] std::byte* data() const;
  [[nodiscard]] std::size_t bytes() const;

  struct BP_HIDDEN State;
  explicit Buffer(std::shared_ptr<State> state);

 private:
  std::shared_ptr<State> state_;
};

class Communicator {
 public:
  // Reads Environment::current(), joins the job's store and meets all other ranks; a job of one
  // rank needs neither. Blocks until all are there, or throws `timeout` naming who is missing. May
  // be called again once the communicator before has finished.
  static Communicator create(const CommunicatorOptions& options = {});

  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  ~Communicator();  // does not talk to the network; see finish()

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  [[nodiscard]] const Topology& topology() const;
  [[nodiscard]] std::string_view backend() const;  // "shm", "gloo", "gloo+shm"; "self" for one rank
  // Of all_reduce by messages: "ring" where it was asked for, else "auto", or "selection 17..."
  // where auto goes by a file. Two runs that say the same here, on the same ranks and backend, add
  // up in the same order.
  [[nodiscard]] std::string_view algorithm() const;
  [[nodiscard]] Store* store() const;  // null in a job of one rank
  [[nodiscard]] Trace* trace() const;  // null where none was asked for
  // From any thread.
  [[nodiscard]] Counters counters() const;
  // The last 1,024 operations, oldest first: what this rank was in when something went wrong. From
  // any thread.
  [[nodiscard]] std::vector<RecordedOperation> recent() const;

  // A communicator of the ranks that gave the same color, in the order of their ranks here.
  // Collective: every rank of this communicator must call it.
  [[nodiscard]] Communicator split(int color);

  [[nodiscard]] Buffer allocate(std::size_t bytes);

  // Fails this communicator and, for the world, the job: every rank's pending and later operations
  // throw `aborted` with this text. From any thread.
  void abort(const std::string& why);

  // After this communicator, a world, has failed (a rank was lost, say): one of the ranks that are
  // left, in the same order, numbered anew. Every one of them must call it, and blocks until all
  // have, or throws as create() does. This communicator and its groups are of no use from then on.
  // Only where the launcher lets the others go on when a rank is lost (bprun --on-failure
  // continue); else invalid_argument.
  [[nodiscard]] Communicator recover();

  // Leaves the job in good order: waits for pending work, then says goodbye to the store. A rank
  // that exits without it while others are at work is taken for failed.
  void finish();

  class BP_HIDDEN Impl;
  explicit Communicator(std::unique_ptr<Impl> impl);
  [[nodiscard]] Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace bp
