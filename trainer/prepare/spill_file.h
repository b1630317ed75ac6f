// A file without a name, for what does not fit into memory. It disappears with its owner, however
// the process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/system/fd.h"

namespace bp::trainer {

class SpillFile {
 public:
  // Opens no file yet. `folder` "" is the current one.
  explicit SpillFile(std::string folder) : folder_(std::move(folder)) {}

  // Throws io: "cannot write a temporary file in runs: No space left on device".
  void append(const void* data, std::size_t size);
  // Reads `size` bytes at `offset`, which must have been appended. Throws io.
  void read(std::int64_t offset, void* data, std::size_t size) const;
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string folder_;
  Fd file_;
  std::int64_t size_ = 0;
};

}  // namespace bp::trainer
