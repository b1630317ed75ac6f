// The bytes of a file as they are.
#pragma once

#include <span>
#include <string>

#include "base/fd.h"
#include "trainer/data/byte_input.h"

namespace bp::trainer {

class FileInput final : public ByteInput {
 public:
  // Throws InputError (66) if the file cannot be opened or is not a regular file. Never waits for
  // another process.
  explicit FileInput(const std::string& path);

  [[nodiscard]] const char* content_name() const override { return "the file"; }

 private:
  std::size_t read_next(std::span<char> room) override;

  Fd fd_;
};

}  // namespace bp::trainer
