// Turns a word into the ids of its pieces: what differs between byte-pair encoding and Unigram.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace bp::trainer {

// Threads: any number of threads may use it at once.
class PieceModel {
 public:
  virtual ~PieceModel() = default;
  // Appends the ids of one word, which is not empty.
  virtual void append(std::string_view word, std::vector<std::int32_t>& ids) const = 0;
};

}  // namespace bp::trainer
