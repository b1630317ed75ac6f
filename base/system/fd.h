// A file descriptor with one owner. The destructor closes it and reports nothing. A moved-from Fd
// holds -1.
#pragma once

#include <cstddef>
#include <utility>

namespace bp {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

// Writes all `size` bytes, with as many calls as that takes. Returns the number of bytes written;
// if that is less than `size`, errno says why.
[[nodiscard]] std::size_t write_all(int fd, const void* data, std::size_t size);

}  // namespace bp
