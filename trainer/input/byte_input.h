// The content of a file, read once from its first byte to its last. A subclass may unpack or
// convert it on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "base/input_error.h"
#include "base/system/fd.h"

namespace bp::trainer {

// Why a ByteInput cannot continue. The text names neither the file nor the row. The reader of rows
// knows both, and makes an InputError of it.
class BrokenInput : public InputError {
 public:
  using InputError::InputError;
};

// About one row. Its reader can go on behind the row.
class BadRow : public InputError {
 public:
  explicit BadRow(const InputError& error) : InputError(error) {}
};

class ByteInput {
 public:
  ByteInput() = default;
  ByteInput(const ByteInput&) = delete;
  ByteInput& operator=(const ByteInput&) = delete;
  virtual ~ByteInput() = default;

  // Returns the first 16 KiB; fewer bytes if the content ends or is broken before. Does not consume
  // them: read() returns them again. Must be called before the first read(), or not at all. Never
  // throws BrokenInput.
  [[nodiscard]] std::string_view start();

  // Reads at least one byte and at most `room.size()` bytes, which must not be 0. Returns their
  // number, or 0 at the end. Throws BrokenInput where the file is broken. How many of the last
  // bytes before that place are returned may depend on the sizes of the reads (zstd).
  [[nodiscard]] std::size_t read(std::span<char> room);

  // Returns what offsets in the content are relative to: "the file", "the unpacked file".
  [[nodiscard]] virtual const char* content_name() const = 0;
  // Returns what helps if the content is not UTF-8.
  [[nodiscard]] virtual const char* encoding_hint() const {
    return "name the file's encoding, for instance --encoding windows-1252";
  }
  // Returns "byte 0xE4 at offset 12 of the file".
  [[nodiscard]] std::string name_of_byte(char byte, std::int64_t offset) const;

 protected:
  // As read().
  virtual std::size_t read_next(std::span<char> room) = 0;

 private:
  std::string start_;
  std::size_t start_used_ = 0;
  std::exception_ptr failure_;  // met by start()
};

// The bytes of a file as they are.
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
