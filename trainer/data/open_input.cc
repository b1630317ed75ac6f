#include "trainer/data/open_input.h"

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "trainer/data/binary_kind.h"
#include "trainer/data/compressed_input.h"
#include "trainer/data/encoded_input.h"
#include "trainer/data/encoding.h"
#include "trainer/data/file_input.h"
#include "trainer/data/file_kind.h"

namespace bp::trainer {
namespace {

// Unpacks gzip data (RFC 1952).
class GzipInput final : public CompressedInput {
 public:
  [[nodiscard]] static bool recognizes(std::string_view start) {
    return start.starts_with("\x1F\x8B");
  }

  // Reads members one after the other and skips zeros behind them, as gzip -d does.
  explicit GzipInput(std::unique_ptr<ByteInput> packed)
      : CompressedInput(std::move(packed), "gzip") {
    constexpr int kGzipOnly = 16;
    if (::inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  GzipInput(const GzipInput&) = delete;
  GzipInput& operator=(const GzipInput&) = delete;
  ~GzipInput() override { ::inflateEnd(&stream_); }

 private:
  Step unpack(std::string_view packed, std::span<char> room) override {
    // zlib does not write to its input, but takes a pointer to bytes that are not const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = static_cast<uInt>(std::min(room.size(), std::size_t{1} << 30));
    const uInt wanted = stream_.avail_out;
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    Step step{.used = packed.size() - stream_.avail_in,
              .made = wanted - stream_.avail_out,
              .member_ends = result == Z_STREAM_END};
    if (step.member_ends) ::inflateReset(&stream_);
    // Z_BUF_ERROR only says that there are no packed bytes.
    if (result == Z_DATA_ERROR || result == Z_NEED_DICT || result == Z_STREAM_ERROR) {
      step.problem = stream_.msg == nullptr ? "no gzip data" : stream_.msg;
      step.no_member = step.problem == "incorrect header check";
    }
    return step;
  }
  [[nodiscard]] std::size_t padding(std::string_view packed) const override {
    return std::min(packed.find_first_not_of('\0'), packed.size());
  }

  z_stream stream_ = {};
};

// Unpacks zstd data (RFC 8878).
class ZstdInput final : public CompressedInput {
 public:
  // Also recognizes a skippable frame, with which pzstd begins its files.
  [[nodiscard]] static bool recognizes(std::string_view start) {
    if (start.starts_with("\x28\xB5\x2F\xFD")) return true;
    return start.size() >= 4 && (static_cast<unsigned char>(start[0]) & 0xF0U) == 0x50 &&
           start.substr(1, 3) == "\x2A\x4D\x18";
  }

  // Reads frames one after the other, as zstd -d does. A frame may need up to 128 MiB of memory.
  explicit ZstdInput(std::unique_ptr<ByteInput> packed)
      : CompressedInput(std::move(packed), "zstd") {
    if (!context_) throw std::bad_alloc();
  }

 private:
  Step unpack(std::string_view packed, std::span<char> room) override {
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
  [[nodiscard]] std::size_t padding(std::string_view /*packed*/) const override { return 0; }

  struct Free {
    void operator()(ZSTD_DCtx* context) const { ::ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_{::ZSTD_createDCtx()};
};

struct NamedInput {
  std::unique_ptr<ByteInput> bytes;
  std::string name;  // for errors about the content
};

// Returns the file, or what is packed in it.
NamedInput open_packed(const std::string& path) {
  std::unique_ptr<ByteInput> file = std::make_unique<FileInput>(path);
  const std::string unpacked = path + " (unpacked)";
  if (GzipInput::recognizes(file->start())) {
    return {std::make_unique<GzipInput>(std::move(file)), unpacked};
  }
  if (ZstdInput::recognizes(file->start())) {
    return {std::make_unique<ZstdInput>(std::move(file)), unpacked};
  }
  return {std::move(file), path};
}

}  // namespace

std::unique_ptr<ByteInput> open_input(const std::string& path, const std::string& encoding) {
  NamedInput opened = open_packed(path);
  std::unique_ptr<ByteInput> input = std::move(opened.bytes);
  const std::string& name = opened.name;
  refuse_binary_kinds(name, input->start());
  std::string found = encoding;
  if (encoding == kFindEncoding && has_utf16_mark(input->start())) found = "utf-16";
  if (found == kFindEncoding || found == "utf-8") {
    refuse_wide_text(name, input->start());
    refuse_binary_content(name, input->start());
  } else {
    input = std::make_unique<EncodedInput>(std::move(input), found);
  }
  refuse_json_array(name, input->start());
  return input;
}

std::string unpacked_name(const std::string& path) {
  constexpr std::array<std::string_view, 2> kSuffixes{".gz", ".zst"};
  const std::string lower = lower_case(path);
  for (const std::string_view suffix : kSuffixes) {
    const bool named = lower.size() > suffix.size() && path[path.size() - suffix.size() - 1] != '/';
    if (named && lower.ends_with(suffix)) return path.substr(0, path.size() - suffix.size());
  }
  return path;
}

}  // namespace bp::trainer
