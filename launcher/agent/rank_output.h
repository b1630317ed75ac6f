// One output stream of one rank, on the agent's side: read, and passed on as far as the launcher's
// window allows.
#pragma once

#include <functional>

#include "base/fd.h"
#include "launcher/process/event_loop.h"
#include "launcher/protocol/messages.h"

namespace bp::launcher {

// What one agent may still send before the launcher says OutputTaken.
class OutputWindow {
 public:
  [[nodiscard]] std::uint32_t left() const { return left_; }
  void use(std::uint32_t bytes) { left_ -= bytes; }
  void give_back(std::uint32_t bytes) { left_ += bytes; }

 private:
  std::uint32_t left_ = kOutputWindow;
};

class RankOutput {
 public:
  // Everything passed in must outlive it.
  RankOutput(EventLoop& loop,
             OutputWindow& window,
             std::function<void(Output)> send,
             int rank,
             Stream stream,
             Fd pipe);
  ~RankOutput() { close(); }
  RankOutput(const RankOutput&) = delete;
  RankOutput& operator=(const RankOutput&) = delete;

  [[nodiscard]] bool open() const { return static_cast<bool>(pipe_); }
  // Passes on what is there now, within the window.
  void drain();
  // Nobody writes any more: drains, then ends the stream, at once or when the window allows.
  void finish();
  void update_interest();  // after the window has changed

 private:
  [[nodiscard]] bool read_some();  // whether there may be more
  void end();
  void close();

  EventLoop& loop_;
  OutputWindow& window_;
  std::function<void(Output)> send_;
  int rank_;
  Stream stream_;
  Fd pipe_;
  bool finishing_ = false;
};

}  // namespace bp::launcher
