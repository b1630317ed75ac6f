// Bytes from and to descriptors on an event loop.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/system/fd.h"
#include "launcher/process/event_loop.h"

namespace bp::launcher {

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

// Writes to a descriptor without blocking. Those who write limit what is in flight, so the memory
// for it needs no limit of its own.
class FdSink {
 public:
  // `taken` gets the number of bytes that the reader has got or never will get. `loop` must outlive
  // this.
  FdSink(
      EventLoop& loop, Fd fd, std::function<void(std::size_t)> taken = [](std::size_t) {});
  ~FdSink() { close(); }
  FdSink(const FdSink&) = delete;
  FdSink& operator=(const FdSink&) = delete;

  [[nodiscard]] bool closed() const { return !fd_; }
  void write(std::string_view bytes);
  void close_when_written();
  void close();

 private:
  void write_some();

  EventLoop& loop_;
  Fd fd_;
  std::function<void(std::size_t)> taken_;
  std::string pending_;
  bool closing_ = false;
};

}  // namespace bp::launcher
