#include "trainer/data/zstd_input.h"

#include <zstd.h>
#include <zstd_errors.h>

#include <new>
#include <span>
#include <utility>

namespace bp::trainer {

bool ZstdInput::recognizes(std::string_view start) {
  if (start.starts_with("\x28\xB5\x2F\xFD")) return true;
  return start.size() >= 4 && (static_cast<unsigned char>(start[0]) & 0xF0U) == 0x50 &&
         start.substr(1, 3) == "\x2A\x4D\x18";
}

ZstdInput::ZstdInput(std::unique_ptr<ByteInput> packed)
    : CompressedInput(std::move(packed), "zstd"), context_(::ZSTD_createDCtx()) {
  if (!context_) throw std::bad_alloc();
}

void ZstdInput::Free::operator()(ZSTD_DCtx_s* context) const { ::ZSTD_freeDCtx(context); }

CompressedInput::Step ZstdInput::unpack(std::string_view packed, std::span<char> room) {
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  ZSTD_outBuffer out{room.data(), room.size(), 0};
  const std::size_t result = ::ZSTD_decompressStream(context_.get(), &out, &in);
  Step step{.used = in.pos, .made = out.pos, .member_ends = result == 0};
  if (::ZSTD_isError(result) == 0) return step;
  const ZSTD_ErrorCode code = ::ZSTD_getErrorCode(result);
  if (code == ZSTD_error_memory_allocation) throw std::bad_alloc();
  step.problem = ::ZSTD_getErrorName(result);
  step.no_member = code == ZSTD_error_prefix_unknown;
  if (code == ZSTD_error_frameParameter_windowTooLarge) {
    step.problem = "its zstd data were compressed with a window of more than 128 MiB";
    step.hint = "unpack it first: zstd -dc --long=31 OLD > NEW";
  }
  return step;
}

}  // namespace bp::trainer
