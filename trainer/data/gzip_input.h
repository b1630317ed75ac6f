// Unpacks gzip data (RFC 1952).
#pragma once

#include <zlib.h>

#include <memory>
#include <span>
#include <string_view>

#include "trainer/data/compressed_input.h"

namespace bp::trainer {

class GzipInput final : public CompressedInput {
 public:
  [[nodiscard]] static bool recognizes(std::string_view start) {
    return start.starts_with("\x1F\x8B");
  }

  // Reads members one after the other and skips zeros behind them, as gzip -d does.
  explicit GzipInput(std::unique_ptr<ByteInput> packed);
  ~GzipInput() override;

 private:
  Step unpack(std::string_view packed, std::span<char> room) override;
  [[nodiscard]] std::size_t padding(std::string_view packed) const override;

  z_stream stream_ = {};
};

}  // namespace bp::trainer
