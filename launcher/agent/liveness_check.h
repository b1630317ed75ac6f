// One attempt of an agent to reach bprun by a new connection to the job's store. After an outage of
// the network an old TCP connection may stay silent for as long as the outage lasted; a new one
// does not.
//
// Both ends prove that they know the job's key. The agent then sets a key of its host in the store,
// which tells bprun that this host is alive.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/system/fd.h"
#include "bp/environment.h"
#include "comm/store/handshake.h"
#include "launcher/process/event_loop.h"

namespace bp::launcher {

// The prefix of these keys; the number of the host follows. Each check sets another value.
inline constexpr const char* kHostAliveKeys = "bprun/host_alive/";

struct LivenessTarget {
  StoreAddress store;  // numeric
  std::string job;
  JobKey key{};
  int host = 0;
};

class LivenessCheck {
 public:
  // Calls `done` once from the loop, at most kCheckLimit later, with the problem or an empty text.
  // `done` must not destroy this. `loop` must outlive it. `sign` is the value to set.
  LivenessCheck(EventLoop& loop,
                const LivenessTarget& target,
                std::uint64_t sign,
                std::function<void(const std::string& problem)> done);
  ~LivenessCheck();
  LivenessCheck(const LivenessCheck&) = delete;
  LivenessCheck& operator=(const LivenessCheck&) = delete;

  [[nodiscard]] bool ended() const { return !done_; }

 private:
  enum class State : std::uint8_t { connecting, greeting, signing };

  void connect();
  void advance();
  void greet();
  void receive();
  void take_challenge(const FrameView& frame);
  void take_answer(const FrameView& frame);
  void send(const std::string& bytes);
  void end(const std::string& problem);

  EventLoop& loop_;
  const LivenessTarget target_;
  const std::uint64_t sign_;
  std::function<void(const std::string&)> done_;
  ClientHandshake handshake_;
  std::optional<FrameSeal> incoming_;
  State state_ = State::connecting;
  Fd socket_;
  std::string received_;
  EventLoop::TimerId timer_ = 0;
};

}  // namespace bp::launcher
