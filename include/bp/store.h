// The rendezvous store: a small key-value server that the launcher owns, through which ranks find
// each other, learn that the job has failed, and say goodbye. docs/store.md has the wire format.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bp/environment.h"
#include "bp/export.h"

namespace BP_API bp {

// Why a job ends early. `cause` is the rank whose failure came first, or -1 where it was none.
struct JobFailure {
  int cause = -1;
  std::string text;
};

// What is left of a job that goes on after a failure.
struct Survivors {
  int generation = 0;      // how many failures there were
  std::vector<int> ranks;  // that are left, ascending; the same list for all of one generation
};

// Keys are at most 4 KiB, values at most 16 MiB, any bytes, and all together 1 GiB (a key with its
// value counts as at least 1 KiB). One call waits for at most 65,536 keys. A store is used by any
// number of threads at once. Every wait ends at its timeout with a `timeout` Error that lists what
// was missing; a lost server is a `peer_lost` Error on every later call, and a failed job an
// `aborted` Error out of every get and wait, also when the key is there. A request that the server
// rejects or that breaks a limit is an `invalid_argument`; one that it does not answer in time
// (StoreClientOptions) a `timeout`.
class Store {
 public:
  virtual ~Store() = default;

  virtual void set(std::string_view key, std::string_view value) = 0;
  // Waits until the key is there.
  virtual std::string get(std::string_view key, std::chrono::milliseconds timeout) = 0;
  // The value now, without waiting.
  virtual std::optional<std::string> find(std::string_view key) = 0;
  virtual void wait(std::span<const std::string> keys, std::chrono::milliseconds timeout) = 0;
  // Values that are added to are decimal text; a key that is not there counts as 0. Returns the
  // sum.
  virtual std::int64_t add(std::string_view key, std::int64_t delta) = 0;
  // Sets the key to `desired` if it holds `expected` (empty: or is not there); returns what it
  // holds now, empty where it is not there.
  virtual std::string compare_set(std::string_view key,
                                  std::string_view expected,
                                  std::string_view desired) = 0;
  // A key that is not there counts as empty.
  virtual void append(std::string_view key, std::string_view value) = 0;
  // Deletes every key that begins with `prefix`; returns how many.
  virtual std::int64_t erase(std::string_view prefix) = 0;

  // Declares the job failed. The first failure is kept and pushed to every client. A failure whose
  // cause is another rank also marks this rank's own end as a consequence of that one, so that the
  // launcher blames the right rank; hearing of another rank's failure does so too. The text is cut
  // after 16 KiB.
  virtual void fail_job(const JobFailure& failure) = 0;
  // The job's failure, or the server's loss (cause -1) where that came first.
  [[nodiscard]] virtual std::optional<JobFailure> job_failure() const = 0;
  // Called once, on the store's own thread, when the job fails or the server is lost (cause -1);
  // at once, on the calling thread, if it already has. It must not block, throw or call back into
  // the store. One listener at a time; an empty function removes it and waits for a running call to
  // end.
  virtual void on_job_failure(std::function<void(const JobFailure&)> listener) = 0;

  // Where the launcher lets the survivors of a failure go on (bprun --on-failure continue): takes
  // part in what is left of the job, which has not failed until the next failure. Else an
  // invalid_argument that says so.
  virtual Survivors renew() = 0;

  // Asks every rank to save and stop at a step that all agree on. Pushed to every client.
  virtual void request_stop() = 0;
  [[nodiscard]] virtual bool stop_requested() const = 0;

  // This rank has done its work: its connection may close without being a failure. Later calls
  // throw.
  virtual void goodbye() = 0;
};

struct StoreClientOptions {
  StoreAddress address;
  std::string job;
  JobKey key{};
  int rank = -1;  // -1: an observer, whose loss is no failure
  std::chrono::milliseconds connect_timeout{30'000};
  // A server that is silent for so long is stuck or gone.
  std::chrono::milliseconds answer_within{30'000};
};

// Connects and proves knowledge of the key, both ways. Tries again until connect_timeout: the
// server may come up late. Throws `timeout` with the last reason then, and invalid_argument at once
// where it can never work (wrong key, other job, other version, a rank that is not of the job or is
// connected already), `io` without a descriptor left; the address is in the text. The process keeps
// a thread for each client.
[[nodiscard]] std::unique_ptr<Store> connect_store(const StoreClientOptions& options);

// A view of `store` in which every key has `prefix` before it. `store` must outlive it; job
// failure, stop and goodbye pass through.
[[nodiscard]] std::unique_ptr<Store> prefix_store(Store& store, std::string prefix);

}  // namespace bp
