// Converts the content of a file to UTF-8.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/byte_input.h"

namespace bp::trainer {

class EncodedInput final : public ByteInput {
 public:
  // `encoding` is a name that iconv knows; see parse_encoding(). A byte that is not valid in it is
  // an error.
  EncodedInput(std::unique_ptr<ByteInput> source, std::string encoding);

  [[nodiscard]] const char* content_name() const override { return "the file in UTF-8"; }

 private:
  struct Close {
    void operator()(void* converter) const;
  };

  std::size_t read_next(std::span<char> room) override;
  // Writes at least one byte to `room`, which holds any character, unless the end is reached.
  std::size_t convert(std::span<char> room);
  void fetch();
  [[noreturn]] void fail(const std::string& problem) const;

  std::unique_ptr<ByteInput> source_;
  std::string encoding_;
  std::unique_ptr<void, Close> converter_;
  std::vector<char> block_;
  std::span<char> rest_;     // what is not yet converted of block_
  std::int64_t offset_ = 0;  // of rest_ in the source
  bool source_ended_ = false;
  std::string characters_;    // for callers with room for less than a character
  std::string_view pending_;  // of characters_
};

}  // namespace bp::trainer
