// Sends and receives frames over a pair of descriptors, on an event loop.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/system/fd.h"
#include "launcher/agent/sealed_stream.h"
#include "launcher/process/event_loop.h"
#include "launcher/protocol/frame.h"

namespace bp::launcher {

class Channel {
 public:
  struct Listener {
    std::function<void(const Frame&)> on_frame;
    // The last call: the other end has closed the connection (`problem` is empty) or sent bytes
    // that are not a frame.
    std::function<void(const std::string& problem)> on_closed;
  };

  struct Ends {
    Fd in;
    Fd out;
    bool await_magic = false;                 // keep apart what comes before kAgentMagic
    std::unique_ptr<SealedStream> seal = {};  // for a connection without ssh
  };

  // `loop` must outlive it.
  Channel(EventLoop& loop, Ends ends, Listener listener);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void listen(Listener listener) { listener_ = std::move(listener); }  // replaces the last one
  void send(std::string bytes);  // never blocks; does nothing once closed
  void close();                  // without calling the listener
  [[nodiscard]] bool all_sent() const { return sent_ == pending_.size(); }
  [[nodiscard]] const std::string& before_magic() const { return preamble_; }
  // Lets the connection survive an outage of the network that is shorter than `outage`. Does
  // nothing for a connection without a seal, which is a pipe.
  void outlast(std::chrono::milliseconds outage);
  // When bytes last arrived.
  [[nodiscard]] EventLoop::Clock::time_point last_heard() const { return last_heard_; }

 private:
  void read_some();
  void write_some();
  void handle_bytes(std::string_view bytes);
  void fail(const std::string& problem);

  EventLoop& loop_;
  Fd in_;
  Fd out_;
  bool await_magic_;
  std::unique_ptr<SealedStream> seal_;
  Listener listener_;
  FrameReader reader_;
  std::string preamble_;
  std::string pending_;
  std::size_t sent_ = 0;
  EventLoop::Clock::time_point last_heard_ = EventLoop::Clock::now();
};

// Moves a connection away from this process's stdin and stdout, so that nothing else can print into
// it or read from it. Throws io.
[[nodiscard]] Channel::Ends standard_ends();

}  // namespace bp::launcher
