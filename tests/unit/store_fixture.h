// A server on a free port of loopback with the events it told, and clients of it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/job_key.h"
#include "base/text.h"
#include "bp/error.h"
#include "bp/store.h"
#include "comm/store/server.h"

namespace bp {

// How long a wait that should succeed may take on a loaded machine.
inline constexpr std::chrono::seconds kSoon{30};

// "joined 2", "lost 1 because of 1", in the order in which they happened.
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

  // The events up to and with the last `event`, which others may have followed; all of them when
  // it does not come.
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

// For as long as it lives no descriptor of this process may have the number `most` or a higher one;
// those that are open stay so.
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

// "timeout: ..." of the Error that `call` throws.
template <class Call>
std::string error_of(const Call& call) {
  try {
    static_cast<void>(call());
    return "no error";
  } catch (const Error& error) {
    return concat(name_of(error.code()), ": ", error.what());
  }
}

}  // namespace bp
