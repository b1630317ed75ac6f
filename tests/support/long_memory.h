// Gigabytes of addresses that take a few megabytes of memory. One piece of 1 MiB is mapped again
// and again, so byte p and byte p + 1 MiB are the same. Only the pages around 2^31, 2^32 and 2^33
// and those at the end have memory of their own. If the data has the same period, a collective that
// writes every byte leaves each byte right, whatever the order of its writes.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "base/system/fd.h"

namespace bp::test {

class LongMemory {
 public:
  static constexpr std::size_t kPeriod = std::size_t{1} << 20;

  explicit LongMemory(std::size_t bytes)
      : bytes_(bytes), mapped_(bytes / kPeriod * kPeriod + kPeriod) {
    const Fd one(::memfd_create("bp test", MFD_CLOEXEC));
    if (one.get() < 0 || ::ftruncate(one.get(), kPeriod) != 0) std::abort();
    data_ = map(nullptr, mapped_, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    for (std::size_t at = 0; at < mapped_; at += kPeriod) {
      if (!is_own(at)) map(data_ + at, kPeriod, MAP_SHARED | MAP_FIXED, one.get());
    }
  }
  LongMemory(const LongMemory&) = delete;
  LongMemory& operator=(const LongMemory&) = delete;
  ~LongMemory() { ::munmap(data_, mapped_); }

  [[nodiscard]] std::span<std::uint8_t> bytes() const { return {data_, bytes_}; }

  static std::uint8_t value(std::size_t at, int seed) {
    const std::size_t inside = at % kPeriod;
    return static_cast<std::uint8_t>(inside * 131 + inside / 256 + static_cast<std::size_t>(seed));
  }
  void fill(int seed) const {
    for (const std::size_t at : places()) {
      for (std::size_t i = at; i < std::min(at + kPeriod, bytes_); ++i) data_[i] = value(i, seed);
    }
  }
  // Returns the index of the first byte that differs from value(index), or bytes().size() if none
  // does.
  template <class Value>
  [[nodiscard]] std::size_t first_wrong(const Value& value) const {
    for (const std::size_t at : places()) {
      for (std::size_t i = at; i < std::min(at + kPeriod, bytes_); ++i) {
        if (data_[i] != value(i)) return i;
      }
    }
    return bytes_;
  }
  [[nodiscard]] std::size_t first_wrong(int seed) const {
    return first_wrong([seed](std::size_t at) { return value(at, seed); });
  }

 private:
  [[nodiscard]] bool is_own(std::size_t at) const {
    for (const int power : {31, 32, 33}) {
      const std::size_t edge = std::size_t{1} << power;
      if (at == edge || at + kPeriod == edge) return true;
    }
    return at + kPeriod == mapped_;
  }
  // Returns the offsets at which the distinct pieces of memory begin.
  [[nodiscard]] std::vector<std::size_t> places() const {
    std::vector<std::size_t> result = {0};
    for (std::size_t at = kPeriod; at < mapped_; at += kPeriod) {
      if (is_own(at)) result.push_back(at);
    }
    return result;
  }
  static std::uint8_t* map(void* at, std::size_t bytes, int flags, int fd) {
    void* const mapped = ::mmap(at, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (mapped == MAP_FAILED) std::abort();
    return static_cast<std::uint8_t*>(mapped);
  }

  std::size_t bytes_;
  std::size_t mapped_;
  std::uint8_t* data_ = nullptr;
};

}  // namespace bp::test
