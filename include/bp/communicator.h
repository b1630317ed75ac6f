// A group of ranks that perform collectives together (bp/collective.h).
//
//   bp::Communicator world = bp::Communicator::create();
//   std::vector<float> x(n);
//   bp::all_reduce(world, bp::view(x), {.op = bp::ReduceOp::average, .name = "loss"});
//
// Order: every rank must start the same collectives in the same order. If the ranks disagree, all
// of them throw a `mismatch` Error that names what each rank asked for.
//
// Failure: a communicator fails once and stays failed. The operation that met the first Error
// throws it, and so do all pending ones; if there are none, the next call throws it. Every later
// call throws `aborted` and quotes it.
//
// Threads: only one thread at a time may use a communicator, but several may send and receive
// messages of it at once, beside one that calls the rest, and two threads may use two
// communicators. Any thread may call abort(), counters() and recent(). A rank finds ranks that wait
// for each other by what its threads have used so far. It takes a thread that has waited for a
// second in one communicator to begin nothing in another that this thread made or used last, and to
// send no message while no second thread has sent or received one.
//
// Forks: a process that was forked from the one that made a communicator has copies of its objects,
// which it may only ask for rank(), size(), topology() and the like, and destroy. Every other call
// with the communicator, with its Works and with its Store throws invalid_argument there, and
// changes nothing in the job.
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
  // How data travel. "auto": by shared memory between ranks of one host, by Gloo between hosts.
  // "shm": by shared memory; all ranks must be on one host. "gloo": by Gloo only. Two more exist
  // for comparison: "gloo-native" runs Gloo's own collectives, and "gloo-native-batch" runs them
  // with Gloo's thread scheduled as for "gloo". The memory of CUDA devices goes through host memory
  // with all of these. "nccl": by NVIDIA's NCCL, where each rank has a device of its own; host
  // memory as with "auto". "auto" uses NCCL too if the programs of all ranks have loaded it. Where
  // ranks may join, device memory goes through host memory in any case. BP_BACKEND sets the
  // default.
  std::string backend = "auto";
  // The algorithm of an all_reduce that sends messages. "auto" chooses by size, ranks and hosts.
  // The others are "ring", "recursive_doubling", "halving_doubling", "tree", "double_tree" and
  // "hierarchical"; create() throws invalid_argument for one that this job cannot run. Must be the
  // same on all ranks. BP_ALGORITHM sets the default.
  std::string algorithm = "auto";
  // A file that comm_bench --tune has written, which tells "auto" what to choose. Empty: a cost
  // model decides. Must be the same on all ranks. BP_SELECTION sets the default.
  std::string selection = {};
  // How long one collective may take; give slow ranks more. Time in which this rank's own process
  // is stopped (Ctrl-Z of the job) does not count.
  std::chrono::milliseconds timeout{300'000};
  // How long create() waits for the other ranks.
  std::chrono::milliseconds start_timeout{30'000};
  // The network interface or address to listen on. Empty: the one through which this host reaches
  // the store. BP_INTERFACE sets the default.
  std::string interface = {};
  // A folder. A communicator that fails writes its last operations to rank.N/collectives.*.txt in
  // it. Empty: it writes no file. BP_OUTPUT, which bprun --output sets, sets the default.
  std::string output = {};
  // A folder. This rank writes its timeline (bp/trace.h) to rank-N.json in it. Empty: no timeline.
  // Must be the same on all ranks. BP_TRACE, which bprun --trace sets, sets the default.
  std::string trace = {};
  // Where device memory goes through host memory: an all_reduce, reduce or broadcast of more bytes
  // than this goes in pieces of as many, so that the copies to the host, the operation there and
  // the copies back overlap, in pinned memory of three pieces. Must be the same on all ranks, also
  // on those with host memory, which then do the same. 0: operations are copied as a whole. 4 MiB
  // is a good choice where all long operations are on devices. BP_STAGING_PIECE, such as 4M, sets
  // the default.
  std::size_t staging_piece = 0;
  // The largest number of _async operations that may be in flight or pending; 0 means no limit. A
  // call that would exceed it blocks until an earlier operation ends. It throws `timeout` if none
  // ends within the new operation's own timeout.
  std::size_t max_in_flight = 1024;
  // Whether ranks may call join() (bp/collective.h). Each collective then begins with a short
  // exchange between all ranks, from which a rank that has joined learns what the others do. Must
  // be the same on all ranks.
  bool joinable = false;
};

// An operation in flight. The memory of its views must live until it is done. The destructor of an
// unfinished Work waits for it, at most for the collective's timeout, and drops its error; the next
// call on the communicator reports that. After wait(stream) the destructor does not wait, nor in a
// forked process.
class Work {
 public:
  Work();
  Work(Work&&) noexcept;
  Work& operator=(Work&&) noexcept;
  ~Work();

  [[nodiscard]] bool done() const;  // does not block
  void wait();                      // blocks until it is done; throws the operation's Error
  // Lets what `stream` (a cudaStream_t) is given from now on begin after the operation. It blocks
  // only until the operation is on the device, which is after all ranks have called it. An
  // operation that does not run on the device by itself it waits for, as wait() does: host memory,
  // staging, and arithmetic beside NCCL's (an average over a number of ranks that is not a power of
  // two, most factors) where bp has no kernels. Throws the Error of an operation that has failed by
  // then; the next call on the communicator throws a later one, and the content of the output is
  // then undefined.
  void wait(void* stream);
  // Returns true once it is done, and false if it still runs after `timeout`, which may be
  // milliseconds::max(). Throws its Error.
  [[nodiscard]] bool wait_for(std::chrono::milliseconds timeout);

  struct BP_HIDDEN State;
  explicit Work(std::shared_ptr<State> state);

 private:
  // Null without an operation. Throws in a forked process.
  [[nodiscard]] BP_HIDDEN State* state(std::string_view called) const;

  std::shared_ptr<State> state_;
};

// Memory that collectives of one communicator use in place, without a staging copy. It is aligned
// to 64 bytes and filled with zeros. It is freed when its Buffer ends, which may outlive the
// communicator.
class Buffer {
 public:
  Buffer();
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;
  ~Buffer();

  [[nodiscard]] std::byte* data() const;
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] Device device() const;

  struct BP_HIDDEN State;
  explicit Buffer(std::shared_ptr<State> state);

 private:
  std::shared_ptr<State> state_;
};

class Communicator {
 public:
  // Returns the world of this job, as Environment::current() describes it: connects to the job's
  // store and to the other ranks. A job of one rank needs neither. Blocks until all ranks have
  // arrived. Throws `timeout` with the missing ranks after options.start_timeout; invalid_argument
  // for options or variables that cannot be right; `unavailable` for a backend that does not exist
  // here; `mismatch` where ranks have different options; otherwise as connect_store() (bp/store.h).
  // A process may call create() again after finish().
  static Communicator create(const CommunicatorOptions& options = {});

  // A communicator from which another one was moved may only be destroyed or assigned to. Other
  // calls with it throw invalid_argument.
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  // Does not use the network; see finish(). In a forked process it does nothing at all.
  ~Communicator();

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  [[nodiscard]] const Topology& topology() const;
  [[nodiscard]] std::string_view backend() const;  // "shm", "gloo", "gloo+shm"; "self" for one rank
  // The algorithm of an all_reduce that sends messages: "ring" if that was chosen, "auto" for the
  // cost model, "selection 17..." for a file (with a hash of its content). Two runs with the same
  // text here, on the same ranks and backend, add in the same order.
  [[nodiscard]] std::string_view algorithm() const;
  [[nodiscard]] Store* store() const;       // null in a job of one rank
  [[nodiscard]] Trace* trace() const;       // null without a timeline
  [[nodiscard]] Counters counters() const;  // any thread
  // Returns the last 1,024 operations, oldest first. Any thread may call it, also after a failure.
  [[nodiscard]] std::vector<RecordedOperation> recent() const;

  // Returns a communicator of the ranks that gave the same `color`, in the order of their ranks
  // here. Collective: every rank of this communicator must call it. In shared memory it takes 1 MiB
  // a rank, which later groups use once all its ranks have destroyed it.
  [[nodiscard]] Communicator split(int color);

  // Returns memory on `device` that collectives use in place. Throws `io` where no shared memory is
  // left, and `unavailable` for a device that no backend of this communicator serves.
  [[nodiscard]] Buffer allocate(std::size_t bytes, Device device = {});

  // Returns memory that all ranks of this communicator map, with undefined content. What one rank
  // writes, the others see after a collective that both have completed in the meantime. Collective.
  // It is freed when the Buffers of all ranks have ended. Throws `unavailable` unless all ranks are
  // on one host and share memory, and `io` where no shared memory is left.
  [[nodiscard]] Buffer allocate_shared(std::size_t bytes);

  // Fails this communicator on all its ranks and, if it is the world, the job: their pending and
  // later operations throw `aborted` with the text `why`. Any thread may call it.
  void abort(const std::string& why);

  // Returns a new world of the ranks that survived the failure of this one, in the same order and
  // numbered from 0. Collective: every survivor must call it. Blocks until all survivors have
  // called it. Throws invalid_argument if this is not a failed world of several ranks, if it has
  // recovered already, or if the launcher does not let survivors continue (bprun --on-failure
  // continue); otherwise throws what create() throws. Afterwards this communicator and its groups
  // are unusable.
  [[nodiscard]] Communicator recover();

  // Ends this rank's part in the communicator and, if it is the world, in the job. Waits for
  // pending operations, until all ranks have begun the last collective, and until this rank's
  // messages have been received. If this is the world, also waits until the hosts of the other
  // ranks have all data that this rank has sent in it and in its groups; then no rank needs this
  // process to complete an operation. Each of these waits ends after options.timeout at the latest.
  // Throws what goes wrong. A process that exits without it while other ranks still work counts as
  // failed. Later calls throw `aborted`, also those of groups if this is the world, so groups
  // finish first.
  void finish();

  class BP_HIDDEN Impl;
  explicit Communicator(std::unique_ptr<Impl> impl);
  [[nodiscard]] Impl& impl() const {
    if (!impl_) refuse_moved_from();
    return *impl_;
  }

 private:
  [[noreturn]] BP_HIDDEN static void refuse_moved_from();

  std::unique_ptr<Impl> impl_;
};

}  // namespace bp
