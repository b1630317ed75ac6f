// Bytes from and to descriptors on an event loop, for a relay that passes them on.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "launcher/process/event_loop.h"

namespace bp::launcher::sweep {

// Reads from a descriptor as bytes arrive.
class FdSource {
 public:
  // `on_bytes` gets what arrives, and an empty text once, at the end. `loop` must outlive this.
  FdSource(EventLoop& loop, Fd fd, std::function<void(std::string_view)> on_bytes);
  ~FdSource() { close(); }
  FdSource(const FdSource&) = delete;
  FdSource& operator=(const FdSource&) = delete;

  [[nodiscard]] bool closed() const { return !fd_; }
  void drain();  // reads what has arrived, without waiting for more
  void close();

 private:
  bool read_some();  // returns whether more may be there

  EventLoop& loop_;
  Fd fd_;
  std::function<void(std::string_view)> on_bytes_;
};

// Writes to a descriptor without blocking. The peers of a relay limit what is in flight, so the
// memory for it needs no limit of its own.
class FdSink {
 public:
  FdSink(EventLoop& loop, Fd fd);
  ~FdSink() { close(); }
  FdSink(const FdSink&) = delete;
  FdSink& operator=(const FdSink&) = delete;

  [[nodiscard]] bool closed() const { return !fd_; }
  void write(std::string_view bytes);  // does nothing once closed
  void close_when_written();
  void close();

 private:
  void write_some();

  EventLoop& loop_;
  Fd fd_;
  std::string pending_;
  bool closing_ = false;
};

}  // namespace bp::launcher::sweep
