// Shuffles instances that do not fit into memory. Each goes into one of many parts, drawn at
// random, and each part is shuffled in memory: every order of all instances is equally likely, as
// if the whole list were shuffled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trainer/prepare/spill_file.h"
#include "trainer/tasks/pretrain/draws.h"
#include "trainer/tasks/pretrain/instance.h"

namespace bp::trainer {

class ShuffledInstances {
 public:
  static constexpr std::size_t kParts = 64;

  // `folder`: for temporary files, which have no names. The largest part must fit into memory.
  ShuffledInstances(const std::string& folder, std::uint64_t seed, std::size_t parts = kParts);

  void add(const Instance& instance);  // throws io
  [[nodiscard]] std::int64_t size() const { return size_; }

  // Calls `take` with each instance that was added, once, in the shuffled order. Throws io. Add
  // nothing afterwards.
  void for_each(const std::function<void(const Instance&)>& take);

 private:
  struct Part {
    SpillFile file;
    std::vector<std::int32_t> waiting = {};  // to be written
    std::int64_t instances = 0;
  };
  [[nodiscard]] static std::vector<std::int32_t> read(const Part& part);

  Draws draws_;
  std::vector<Part> parts_;
  std::int64_t size_ = 0;
};

}  // namespace bp::trainer
