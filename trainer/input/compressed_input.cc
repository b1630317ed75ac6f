#include "trainer/input/compressed_input.h"

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace bp::trainer {
namespace {

// The part that does not depend on the format. A compressed file is a sequence of members (gzip) or
// frames (zstd), each complete in itself. Their contents, one after the other, are the content of
// the file.
class CompressedInput : public ByteInput {
 public:
  [[nodiscard]] const char* content_name() const override { return "the unpacked file"; }

 protected:
  // `program`, which also unpacks such files, has the name of the format: "gzip".
  CompressedInput(std::unique_ptr<ByteInput> packed, std::string program)
      : packed_(std::move(packed)), program_(std::move(program)), block_(std::size_t{1} << 16) {}

  struct Step {
    std::size_t used = 0;  // packed bytes that are no longer needed
    std::size_t made = 0;  // bytes written to `room`
    bool member_ends = false;
    bool no_member = false;    // a member was expected, and these bytes begin none
    std::string problem = {};  // why the packed bytes behind the used ones cannot be unpacked
    std::string hint = {};     // empty: the file is damaged
  };
  // Unpacks some of `packed` into `room`. Without packed bytes it writes what is left of earlier
  // ones.
  virtual Step unpack(std::string_view packed, std::span<char> room) = 0;
  // Returns how many of these bytes, which follow a complete member, are padding.
  [[nodiscard]] virtual std::size_t padding(std::string_view packed) const = 0;

 private:
  std::size_t read_next(std::span<char> room) final {
    for (;;) {
      if (!last_.problem.empty()) fail();
      if (rest_.empty() && !packed_ended_) fetch();
      if (!in_member_) {
        if (has_member_) advance(padding(rest_));
        if (rest_.empty() && packed_ended_) return 0;
        if (rest_.empty()) continue;
        member_ = offset_;
      }
      last_ = unpack(rest_, room);
      advance(last_.used);
      in_member_ = !last_.member_ends;
      has_member_ = has_member_ || last_.member_ends;
      if (last_.made > 0) return last_.made;
      if (last_.problem.empty() && in_member_ && rest_.empty() && packed_ended_) {
        throw BrokenInput(
            65, concat("the file ends inside its ", program_, " data, at offset ", offset_),
            concat("it was not copied or downloaded to its end; ", advice()));
      }
    }
  }
  void fetch() {
    const std::size_t count = packed_->read(block_);
    rest_ = {block_.data(), count};
    packed_ended_ = count == 0;
  }
  void advance(std::size_t used) {
    rest_.remove_prefix(used);
    offset_ += static_cast<std::int64_t>(used);
  }
  [[noreturn]] void fail() const {
    if (last_.no_member && has_member_) {
      throw BrokenInput(
          65, concat("other bytes follow its ", program_, " data, from offset ", member_),
          concat("remove them, or join only files that ", program_, " has compressed"));
    }
    if (!last_.hint.empty()) throw BrokenInput(65, last_.problem, last_.hint);
    throw BrokenInput(65,
                      concat("its ", program_, " data are damaged at offset ", offset_,
                             " of the file (", last_.problem, ")"),
                      advice());
  }
  [[nodiscard]] std::string advice() const {
    return concat("copy or download it again; ", program_, " -t FILE tests it");
  }

  std::unique_ptr<ByteInput> packed_;
  std::string program_;
  std::vector<char> block_;
  std::string_view rest_;  // what is not yet unpacked of block_
  bool packed_ended_ = false;
  bool in_member_ = false;
  bool has_member_ = false;  // one or more are complete
  Step last_;
  std::int64_t offset_ = 0;  // of rest_ in the file
  std::int64_t member_ = 0;  // offset of the current member in the file
};

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

template <class Packed>
bool unpack_as(std::unique_ptr<ByteInput>& input) {
  if (!Packed::recognizes(input->start())) return false;
  input = std::make_unique<Packed>(std::move(input));
  return true;
}

}  // namespace

bool unpack(std::unique_ptr<ByteInput>& input) {
  return unpack_as<GzipInput>(input) || unpack_as<ZstdInput>(input);
}

}  // namespace bp::trainer
