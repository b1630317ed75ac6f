// Cuts a long operation into short ones, so that the copies of one piece to and from a device
// overlap with the operation on another.
#pragma once

#include <algorithm>
#include <cstddef>

#include "comm/backend/common/operation.h"

namespace bp {

class Pieces {
 public:
  // A piece has at most `bytes` (0: no limit), but at least one element. `whole` must outlive this
  // object.
  Pieces(const Operation& whole, std::size_t bytes)
      : whole_(whole), most_(std::max<std::size_t>(1, bytes / size_of(whole.output.type))) {
    const bool cut = bytes > 0 && can_be_cut(whole) && whole.output.count > most_;
    count_ = cut ? (whole.output.count + most_ - 1) / most_ : 1;
  }

  // Only operations that work in place, element by element, can be cut.
  [[nodiscard]] static bool can_be_cut(const Operation& operation) {
    using Kind = Operation::Kind;
    return operation.kind == Kind::all_reduce || operation.kind == Kind::reduce ||
           operation.kind == Kind::broadcast;
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] Operation at(std::size_t piece) const {
    Operation one = whole_;
    if (count_ == 1) return one;
    View& output = one.output;
    output.data += piece * most_ * size_of(output.type);
    output.count = std::min(most_, output.count - piece * most_);
    return one;
  }

 private:
  const Operation& whole_;
  std::size_t most_;  // elements
  std::size_t count_ = 1;
};

}  // namespace bp
