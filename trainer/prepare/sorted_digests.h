// Sorts the digests of any number of texts in bounded memory: what does not fit lies in a temporary
// file, as sorted runs that are merged at the end.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/common/hash.h"
#include "trainer/prepare/spill_file.h"

namespace bp::trainer {

struct NumberedDigest {
  Digest text;
  std::int64_t row = 0;
  auto operator<=>(const NumberedDigest&) const = default;  // NOLINT(modernize-use-nullptr)
};

class SortedDigests {
 public:
  static constexpr std::size_t kMostInMemory = std::size_t{1} << 20;  // 24 MiB

  // The temporary file, if one is needed, is in `folder`.
  explicit SortedDigests(std::string folder, std::size_t most_in_memory = kMostInMemory)
      : most_in_memory_(most_in_memory), file_(std::move(folder)) {}

  // Throws io if the temporary file cannot be written.
  void add(const NumberedDigest& digest);

  // Calls `body` with all digests in ascending order, those of one text by their rows. Nothing can
  // be added afterwards. Throws io if the temporary file cannot be written or read.
  void for_each(const std::function<void(const NumberedDigest&)>& body);

 private:
  void sort();
  void spill();
  void merge(const std::function<void(const NumberedDigest&)>& body);

  std::size_t most_in_memory_;
  std::vector<NumberedDigest> digests_;
  SpillFile file_;
  std::vector<std::int64_t> ends_;  // of the runs in file_
};

}  // namespace bp::trainer
