// An instance as bytes, in which it travels as the field of a row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/tasks/pretrain/instance.h"

namespace bp::trainer {

// Replaces the content of `bytes`. They are for the same process only.
void pack(const Instance& instance, std::string& bytes);

// Holds the numbers of an instance that was packed.
class PackedInstance {
 public:
  // Throws invalid_argument for bytes that pack() cannot have made.
  void read(std::string_view bytes);
  // Valid until the next read().
  [[nodiscard]] const Instance& instance() const { return instance_; }

 private:
  std::vector<std::int32_t> numbers_;
  Instance instance_;
};

}  // namespace bp::trainer
