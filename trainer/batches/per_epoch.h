// A value for each epoch, of which a user lists the first ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bp::trainer {

// The values of epochs 0, 1, ...; the last one also holds for all later epochs.
template <class Value>
class PerEpoch {
 public:
  PerEpoch(Value only) : values_{only} {}  // NOLINT(google-explicit-constructor): one for all
  explicit PerEpoch(std::vector<Value> values) : values_(std::move(values)) {}  // at least one

  [[nodiscard]] Value at(std::int64_t epoch) const {
    return values_[std::min(static_cast<std::size_t>(epoch), values_.size() - 1)];
  }
  [[nodiscard]] Value first() const { return values_.front(); }
  [[nodiscard]] Value least() const { return *std::ranges::min_element(values_); }
  [[nodiscard]] Value most() const { return *std::ranges::max_element(values_); }
  [[nodiscard]] const std::vector<Value>& values() const { return values_; }
  [[nodiscard]] std::vector<Value>& values() { return values_; }  // at least one
  bool operator==(const PerEpoch&) const = default;

 private:
  std::vector<Value> values_;
};

}  // namespace bp::trainer
