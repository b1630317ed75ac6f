// The client behind connect_store().
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "base/deadline.h"
#include "base/keys/hmac.h"
#include "base/system/fd.h"
#include "base/system/forked.h"
#include "bp/error.h"
#include "bp/store.h"
#include "comm/store/seal.h"
#include "comm/store/store_wire.h"

namespace bp {

// A connection on which both sides have proved that they know the job's key.
struct StoreLink {
  Fd socket;
  Bytes32 session{};
  std::string received = {};  // bytes that arrived after the handshake
};

// Threads: any number may call. The client's own thread reads. `mutex_` guards what they share,
// `send_mutex_` the order of frames. Neither is held while the listener runs.
class StoreClient final : public Store {
 public:
  // `caller`: who calls it, for error texts.
  StoreClient(StoreLink link, const StoreClientOptions& options, std::string caller);
  ~StoreClient() override;
  StoreClient(const StoreClient&) = delete;
  StoreClient& operator=(const StoreClient&) = delete;

  // The server's answer to the handshake: one of the three.
  struct Admission {
    bool welcome = false;
    std::optional<StoreRefusal> refusal;
    std::string lost;  // why the connection ended, or "no answer"
  };
  [[nodiscard]] Admission wait_for_admission(const Deadline& deadline);

  void set(std::string_view key, std::string_view value) override;
  std::string get(std::string_view key, std::chrono::milliseconds timeout) override;
  std::optional<std::string> find(std::string_view key) override;
  void wait(std::span<const std::string> keys, std::chrono::milliseconds timeout) override;
  std::int64_t add(std::string_view key, std::int64_t delta) override;
  std::string compare_set(std::string_view key,
                          std::string_view expected,
                          std::string_view desired) override;
  void append(std::string_view key, std::string_view value) override;
  std::int64_t erase(std::string_view prefix) override;
  void fail_job(const JobFailure& failure) override;
  [[nodiscard]] std::optional<JobFailure> job_failure() const override;
  void on_job_failure(std::function<void(const JobFailure&)> listener) override;
  Survivors join_survivors() override;
  void request_stop() override;
  [[nodiscard]] bool stop_requested() const override;
  void goodbye() override;

 private:
  // A call that waits for its answer. It lives on the caller's stack.
  struct PendingCall {
    std::condition_variable wake;
    std::optional<StoreMessage> answer;
    std::atomic<bool> answered{false};  // set after `answer`; read without the lock
  };
  // For error texts.
  struct What {
    std::string_view verb;
    std::string_view key;
  };

  // Sends the request and returns the answer, which must arrive within answer_within_. A request
  // with a timeout waits for keys: it throws `aborted` when the job fails, and `timeout` with the
  // missing keys when the timeout is over.
  StoreMessage ask(const What& what,
                   StoreMessage request,
                   std::optional<std::chrono::milliseconds> timeout = {});
  // The same for a request whose strings are what.key and the values; first checks their sizes.
  StoreMessage ask_about(const What& what,
                         StoreMessage request,
                         std::initializer_list<std::string_view> values = {},
                         std::optional<std::chrono::milliseconds> timeout = {});
  void send(const StoreMessage& message) noexcept;  // a failure ends read_loop()
  void check_not_failed(const What& what) const;    // with mutex_ held
  void check_usable(const What& what) const;        // with mutex_ held
  void check_sizes(const What& what, std::initializer_list<std::string_view> values = {}) const;
  [[nodiscard]] Error error(ErrorCode code, const What& what, const std::string& why) const;

  void read_loop(std::string received);
  void say_alive_until_readable();
  bool take_frames(std::string& received, std::string& why);
  void take(StoreMessage message);
  void take_failure(const JobFailure& failure);
  void outlast(std::chrono::milliseconds silence);  // with mutex_ held
  void lose(const std::string& why);
  void wake_calls();                                      // with mutex_ held
  void run_listener(std::unique_lock<std::mutex>& lock);  // unlocks while the listener runs

  const ProcessMark process_;
  const StoreAddress address_;
  const int rank_;
  const std::string caller_;
  std::chrono::milliseconds answer_within_;  // does not change after the server's welcome
  // The server knows that this rank ends because of another rank's failure.
  std::atomic<bool> follows_{false};
  const Fd socket_;

  std::mutex send_mutex_;
  FrameSeal outgoing_;  // guarded by send_mutex_
  FrameSeal incoming_;  // used by the reading thread only, as are the next two
  std::chrono::milliseconds heartbeat_;
  Deadline next_beat_;

  mutable std::mutex mutex_;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, PendingCall*> calls_;
  Admission admission_;
  std::condition_variable admission_wake_;
  bool job_failed_ = false;
  std::optional<JobFailure> failure_;  // the job's, or the server's loss if that came first
  bool stop_requested_ = false;
  bool said_goodbye_ = false;
  std::string send_error_;
  std::string lost_;  // why the connection ended; empty while it exists
  std::function<void(const JobFailure&)> listener_;
  bool listener_runs_ = false;
  std::condition_variable listener_idle_;

  std::thread thread_;
};

}  // namespace bp
