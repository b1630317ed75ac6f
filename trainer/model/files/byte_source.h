// Sources of bytes with random access: a file, or memory (in tests). Does not use LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/system/fd.h"

namespace bp::trainer {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  // Reads bytes [offset, offset + bytes) to `to`. Throws io if they reach beyond size().
  virtual void read(std::uint64_t offset, void* to, std::uint64_t bytes) const = 0;
};

class FileBytes : public ByteSource {
 public:
  // Opens the file. Throws io, naming `path`, as do all later errors.
  explicit FileBytes(std::string path);
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  void read(std::uint64_t offset, void* to, std::uint64_t bytes) const override;

 private:
  std::string path_;
  Fd file_;
  std::uint64_t size_ = 0;
};

class MemoryBytes : public ByteSource {
 public:
  explicit MemoryBytes(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  void read(std::uint64_t offset, void* to, std::uint64_t bytes) const override;

 private:
  std::vector<std::uint8_t> bytes_;
};

// Returns `bytes` bytes from `offset` on. Allocates memory only if the source has that many;
// otherwise throws io.
[[nodiscard]] std::string read_text(const ByteSource& source,
                                    std::uint64_t offset,
                                    std::uint64_t bytes);

// Returns the little-endian number of sizeof(T) bytes at `at`, which need not be aligned.
template <class T>
[[nodiscard]] T little_endian(const void* at) {
  const auto* bytes = static_cast<const unsigned char*>(at);
  std::uint64_t value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) value = value << 8 | bytes[i];
  return static_cast<T>(value);
}

// Returns a name from a file in the form for a message: shortened, without control characters and
// bytes beyond ASCII, which could control a terminal. in_quotes() also puts it between quotes.
[[nodiscard]] std::string printable(const std::string& name);
[[nodiscard]] std::string in_quotes(const std::string& name);

}  // namespace bp::trainer
