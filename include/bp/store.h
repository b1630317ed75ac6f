// The rendezvous store: a small key-value server that the launcher runs. Through it the ranks find
// each other, learn that the job has failed, and say that they have finished. docs/store.md has the
// wire format.
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

// Why a job ends early. `cause` is the rank that failed first, or -1 if no rank did.
struct JobFailure {
  int cause = -1;
  std::string text;
};

// The ranks that continue after a failure.
struct Survivors {
  int generation = 0;      // the number of failures so far
  std::vector<int> ranks;  // ascending; the same list on all ranks of one generation
};

// Limits: a key has at most 4 KiB, a value at most 16 MiB, of any bytes; all together have at most
// 1 GiB, where a key with its value counts as at least 1 KiB. One call waits for at most 65,536
// keys.
//
// Errors: a wait that reaches its timeout throws a `timeout` that lists the missing keys. After the
// server is lost every call throws `peer_lost`. After the job has failed every get and wait throws
// `aborted`, also for a key that exists. A request that the server rejects or that breaks a limit
// throws invalid_argument, and one that it does not answer in time (StoreClientOptions) `timeout`.
//
// Threads: any number at once.
class Store {
 public:
  virtual ~Store() = default;

  virtual void set(std::string_view key, std::string_view value) = 0;
  // Returns the value; waits until the key exists.
  virtual std::string get(std::string_view key, std::chrono::milliseconds timeout) = 0;
  // Returns the present value, without waiting.
  virtual std::optional<std::string> find(std::string_view key) = 0;
  virtual void wait(std::span<const std::string> keys, std::chrono::milliseconds timeout) = 0;
  // Adds `delta` to a value that is decimal text and returns the sum. A missing key counts as 0.
  virtual std::int64_t add(std::string_view key, std::int64_t delta) = 0;
  // Sets the key to `desired` if its value is `expected`; an empty `expected` also matches a
  // missing key. Returns the value that it has then, empty for a missing key.
  virtual std::string compare_set(std::string_view key,
                                  std::string_view expected,
                                  std::string_view desired) = 0;
  // Appends to the value. A missing key counts as empty.
  virtual void append(std::string_view key, std::string_view value) = 0;
  // Deletes every key that begins with `prefix` and returns their number.
  virtual std::int64_t erase(std::string_view prefix) = 0;

  // Declares the job failed. The server keeps the first failure and pushes it to every client. If
  // the cause is another rank, the end of this rank counts as a consequence of that one, so that
  // the launcher blames the right rank. A rank that hears of another rank's failure counts as a
  // consequence too. The text is cut after 16 KiB.
  virtual void fail_job(const JobFailure& failure) = 0;
  // Returns the job's failure, or the loss of the server (cause -1) if that came first.
  [[nodiscard]] virtual std::optional<JobFailure> job_failure() const = 0;
  // Sets the listener. The store calls it once, on its own thread, when the job fails or the server
  // is lost (cause -1); if that has already happened, it calls it at once, on the calling thread.
  // The listener must not block, throw or call the store. There is one listener at a time. An empty
  // function removes it and waits until a running call has ended.
  virtual void on_job_failure(std::function<void(const JobFailure&)> listener) = 0;

  // Joins the survivors of a failure (bprun --on-failure continue). The job then counts as not
  // failed until the next failure. Throws invalid_argument if the launcher does not let survivors
  // continue.
  virtual Survivors join_survivors() = 0;

  // Asks every rank to save and stop at a step that all agree on. The server pushes it to all
  // clients.
  virtual void request_stop() = 0;
  [[nodiscard]] virtual bool stop_requested() const = 0;

  // Says that this rank has finished, so that the end of its connection is not a failure. Later
  // calls throw.
  virtual void goodbye() = 0;
};

struct StoreClientOptions {
  StoreAddress address;
  std::string job;
  JobKey key{};
  int rank = -1;  // -1: an observer, whose loss is not a failure
  std::chrono::milliseconds connect_timeout{30'000};
  // How long the server may take to answer a request.
  std::chrono::milliseconds answer_within{30'000};
};

// Connects to the server; both sides prove that they know the key. Retries until connect_timeout,
// since the server may start late, and then throws `timeout` with the last reason. Throws
// invalid_argument at once if a retry cannot help (wrong key, other job, other version, a rank that
// the job does not have or that is connected already), and `io` if no descriptor is left. The text
// names the address. Each client has a thread.
[[nodiscard]] std::unique_ptr<Store> connect_store(const StoreClientOptions& options);

// Returns a view of `store` that puts `prefix` before every key. `store` must outlive it. Job
// failure, stop and goodbye are those of `store`.
[[nodiscard]] std::unique_ptr<Store> prefix_store(Store& store, std::string prefix);

}  // namespace bp
