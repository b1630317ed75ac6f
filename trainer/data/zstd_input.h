// Unpacks zstd data (RFC 8878).
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "trainer/data/compressed_input.h"

struct ZSTD_DCtx_s;

namespace bp::trainer {

class ZstdInput final : public CompressedInput {
 public:
  // Also recognizes a skippable frame, with which pzstd begins its files.
  [[nodiscard]] static bool recognizes(std::string_view start);

  // Reads frames one after the other, as zstd -d does. A frame may need up to 128 MiB of memory.
  explicit ZstdInput(std::unique_ptr<ByteInput> packed);

 private:
  Step unpack(std::string_view packed, std::span<char> room) override;
  [[nodiscard]] std::size_t padding(std::string_view) const override { return 0; }

  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
};

}  // namespace bp::trainer
