// Texts and samples that a store takes at once: its writer commits one block after the other.
//
// The rows of each table lie in one run of bytes, in the form in which ContentHash hashes them. So
// a block is hashed by one call per table, and SQLite reads its rows from there (block_tables.h).
//
//   a text:   text_id, size, bytes
//   a sample: its columns (sample_columns()), of which bytes have their size before them
//
// Each number is an int64 or a double of the machine.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/store/sample_store.h"

namespace bp::trainer {

// Decides where a block ends. It depends on the texts alone, so that a store made with
// interruptions has the same bytes as one made at once.
class BlockSize {
 public:
  void add(std::string_view text) {
    ++texts_;
    bytes_ += text.size();
  }
  [[nodiscard]] bool full() const { return texts_ >= kMostTexts || bytes_ >= kMostBytes; }
  [[nodiscard]] std::int64_t texts() const { return texts_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  // A killed process loses what it has not committed.
  static constexpr std::int64_t kMostTexts = 1000;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  std::int64_t texts_ = 0;
  std::size_t bytes_ = 0;  // of the texts
};

class StoreBlock {
 public:
  // Adds a text, then its samples: one, or several if it was folded. `arrays`: in the order of the
  // store's schema, in its types.
  void add_text(Split split, std::int64_t text_id, std::string_view text);
  void add_sample(Split split,
                  std::int64_t text_id,
                  std::span<const std::int32_t> token_ids,
                  std::span<const ArrayView> arrays);
  // Removes everything, but keeps the memory for the next block.
  void clear();

  // Numbers the samples from `first` on, in the order in which they were added.
  void number_samples(std::int64_t first);

  [[nodiscard]] const BlockSize& size() const { return size_; }
  [[nodiscard]] std::int64_t samples() const { return samples_; }
  [[nodiscard]] std::string_view text_rows(Split split) const { return of(texts_, split); }
  [[nodiscard]] std::string_view sample_rows(Split split) const { return of(sample_rows_, split); }

 private:
  using Rows = std::array<std::string, 3>;  // indexed by split
  static std::string_view of(const Rows& rows, Split split) {
    return rows[static_cast<std::size_t>(split)];
  }

  BlockSize size_;
  std::int64_t samples_ = 0;
  Rows texts_;
  Rows sample_rows_;
  std::array<std::vector<std::size_t>, 3> sample_starts_;  // offsets in sample_rows_
};

// Empties a buffer for the next block, and frees it if long texts have made it large.
inline void empty_for_reuse(std::string& buffer) {
  constexpr std::size_t kMostKept = std::size_t{1} << 20;
  buffer.clear();
  if (buffer.capacity() > kMostKept) buffer.shrink_to_fit();
}

// Append a number or a sized run of bytes to `rows`.
template <class Number>
requires(sizeof(Number) == 8) void put_number(std::string& rows, Number number) {
  rows.append(reinterpret_cast<const char*>(&number), sizeof(number));
}
inline void put_bytes(std::string& rows, std::string_view bytes) {
  put_number(rows, static_cast<std::int64_t>(bytes.size()));
  rows.append(bytes);
}

// Takes a number or a sized run of bytes from the start of `rows`.
template <class Number = std::int64_t>
[[nodiscard]] Number take_number(std::string_view& rows) {
  Number number = 0;
  std::memcpy(&number, rows.data(), sizeof(number));
  rows.remove_prefix(sizeof(number));
  return number;
}
[[nodiscard]] inline std::string_view take_bytes(std::string_view& rows) {
  const auto size = static_cast<std::size_t>(take_number(rows));
  const std::string_view bytes = rows.substr(0, size);
  rows.remove_prefix(size);
  return bytes;
}

}  // namespace bp::trainer
