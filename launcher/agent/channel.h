// A stream of frames over a pair of descriptors, on an event loop.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "launcher/agent/sealed_stream.h"
#include "launcher/process/event_loop.h"
#include "launcher/protocol/frame.h"

namespace bp::launcher {

class Channel {
 public:
  struct Listener {
    std::function<void(const Frame&)> on_frame;
    // Once, and nothing after it: the other end closed, or sent nonsense (then `problem` says
    // what).
    std::function<void(const std::string& problem)> on_closed;
  };

  struct Ends {
    Fd in;
    Fd out;
    bool await_magic = false;                 // what comes before kAgentMagic is put aside
    std::unique_ptr<SealedStream> seal = {};  // over a network without ssh
  };

  // `loop` must outlive it.
  Channel(EventLoop& loop, Ends ends, Listener listener);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void listen(Listener listener) { listener_ = std::move(listener); }  // instead of the last
  void send(std::string bytes);  // never waits; silently dropped once closed
  void close();                  // without calling the listener
  [[nodiscard]] bool all_sent() const { return sent_ == pending_.size(); }
  [[nodiscard]] const std::string& before_magic() const { return preamble_; }
  // A network that is away for less than `silence` is not to break the connection. Nothing where
  // that is no socket.
  void outlast(std::chrono::milliseconds silence);
  // When the other end was last heard of.
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

}  // namespace bp::launcher
