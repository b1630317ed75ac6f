// The part of reading a compressed file that does not depend on its format. A compressed file is a
// sequence of members (gzip) or frames (zstd), each complete in itself. Their contents, one after
// the other, are the content of the file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/byte_input.h"

namespace bp::trainer {

class CompressedInput : public ByteInput {
 public:
  [[nodiscard]] const char* content_name() const override { return "the unpacked file"; }

 protected:
  // `program`, which also unpacks such files, has the name of the format: "gzip".
  CompressedInput(std::unique_ptr<ByteInput> packed, std::string program);

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
  std::size_t read_next(std::span<char> room) final;
  void fetch();
  void advance(std::size_t used);
  [[noreturn]] void fail() const;
  [[nodiscard]] std::string advice() const;

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

}  // namespace bp::trainer
