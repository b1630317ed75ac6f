// A server on a free port of loopback, a log of its events, and clients of it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/keys/job_key.h"
#include "base/text.h"
#include "bp/error.h"
#include "bp/store.h"
#include "comm/store/server.h"
#include "tests/support/refusal.h"

namespace bp {

// The time limit for waits that should succeed, even on a loaded machine.
inline constexpr std::chrono::seconds kSoon{30};

// Events such as "joined 2" or "lost 1 because of 1", in order.
class EventLog {
 public:
  void add(const StoreEvent& event) {
    static constexpr const char* kNames[] = {"joined",      "goodbye",        "lost",   "failed",
                                             "consequence", "stop_requested", "silent", "back"};
    const std::lock_guard lock(mutex_);
    std::string text = concat(kNames[static_cast<std::size_t>(event.kind)], " ", event.rank);
    if (!event.failure.text.empty()) {
      text += concat(" because of ", event.failure.cause);
    }
    events_.push_back(std::move(text));
    added_.notify_all();
  }

  // Waits for `event`. Returns the events up to and including its last occurrence, or all events if
  // it does not occur in time.
  std::vector<std::string> until(const std::string& event) {
    std::unique_lock lock(mutex_);
    auto last = events_.rend();
    added_.wait_for(lock, kSoon, [&] {
      last = std::find(events_.rbegin(), events_.rend(), event);
      return last != events_.rend();
    });
    return {events_.begin(), last == events_.rend() ? events_.end() : last.base()};
  }

 private:
  std::mutex mutex_;
  std::condition_variable added_;
  std::vector<std::string> events_;
};

class StoreTest : public testing::Test {
 protected:
  explicit StoreTest(std::chrono::milliseconds handshake_timeout = kSoon,
                     std::chrono::milliseconds silence_limit = kSoon)
      : handshake_timeout_(handshake_timeout),
        silence_limit_(silence_limit),
        server_(start_server(0)) {}

  [[nodiscard]] std::unique_ptr<StoreServer> start_server(int port) {
    return std::make_unique<StoreServer>(StoreServerOptions{.bind_address = "127.0.0.1",
                                                            .port = port,
                                                            .job = "job-1",
                                                            .key = key_,
                                                            .world_size = 8,
                                                            .handshake_timeout = handshake_timeout_,
                                                            .silence_limit = silence_limit_},
                                         [this](const StoreEvent& event) { events_.add(event); });
  }

  [[nodiscard]] StoreClientOptions options(int rank = -1) const {
    return {.address = server_->address(),
            .job = "job-1",
            .key = key_,
            .rank = rank,
            .connect_timeout = kSoon};
  }

  [[nodiscard]] std::unique_ptr<Store> client(int rank = -1) const {
    return connect_store(options(rank));
  }

  const JobKey key_ = random_job_key();
  const std::chrono::milliseconds handshake_timeout_;
  const std::chrono::milliseconds silence_limit_;
  EventLog events_;
  std::unique_ptr<StoreServer> server_;
};

// While it exists, new descriptors of this process get numbers below `most`. Open descriptors stay
// open.
class LimitedFiles {
 public:
  explicit LimitedFiles(rlim_t most) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limited{.rlim_cur = most, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &limited);
  }
  ~LimitedFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  LimitedFiles(const LimitedFiles&) = delete;
  LimitedFiles& operator=(const LimitedFiles&) = delete;

 private:
  rlimit before_{};
};

using test::error_of;

}  // namespace bp
