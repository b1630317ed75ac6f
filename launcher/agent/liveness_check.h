// One try of an agent to reach bprun by a connection of its own, to the job's store. TCP may be
// silent for as long again as the network was away; a new connection is not.
//
// Both ends prove that they know the job's key. The agent leaves a sign under a key of its host in
// the store, by which bprun in turn knows that this host is alive.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/fd.h"
#include "bp/environment.h"
#include "comm/store/handshake.h"
#include "launcher/process/event_loop.h"

namespace bp::launcher {

// The store's keys for signs of life; the number of the host follows. The value changes with each.
inline constexpr const char* kHostAliveKeys = "bprun/host_alive/";

struct LivenessTarget {
  StoreAddress store;  // numeric
  std::string job;
  JobKey key{};
  int host = 0;
};

class LivenessCheck {
 public:
  // Calls `done` once from the loop, at most kCheckLimit later, with what went wrong or an empty
  // text. `done` must not destroy this. `loop` must outlive it.
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
