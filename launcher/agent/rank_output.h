// Reads one output stream of one rank on the agent's side and sends it to bprun as far as the
// flow-control window allows.
#pragma once

#include <cstdint>
#include <functional>

#include "base/fd.h"
#include "launcher/process/event_loop.h"
#include "launcher/protocol/messages.h"

namespace bp::launcher {

// The bytes that an agent may still send before bprun sends OutputTaken.
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
  // `loop` and `window` must outlive it.
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
  // Sends what can be read now, within the window.
  void drain();
  // No process writes any more. Sends the rest and then the end of the stream, at once or when the
  // window allows.
  void finish();
  void update_interest();  // after the window has changed

 private:
  [[nodiscard]] bool read_some();  // returns whether there may be more
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
