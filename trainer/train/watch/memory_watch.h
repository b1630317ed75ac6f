// Warns before memory runs out: of memory that grows step by step, and of a machine, or a control
// group, that is nearly full.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

namespace bp::trainer {

// In bytes; 0: unknown.
struct MemoryUse {
  std::uint64_t process = 0;  // resident memory of this process
  std::uint64_t used = 0;     // of `limit`, without what the kernel can take back
  std::uint64_t limit = 0;    // of the control group of this process, or else of the machine
};

// Reads /proc.
[[nodiscard]] MemoryUse machine_memory();
// Reads the control groups, too.
[[nodiscard]] MemoryUse memory_use();

class MemoryWatch {
 public:
  // Returns whether look() should be called after this step.
  [[nodiscard]] static bool due(std::int64_t step) { return step % kSteps == 0; }

  // Returns a warning, the first time that there is a reason for each, else "". The reasons: at
  // least kFull percent of the limit are used; or the process has grown by at least one percent in
  // each of the last kWindows windows of kSteps steps.
  [[nodiscard]] std::string look(std::int64_t step, const MemoryUse& use);

  static constexpr std::int64_t kSteps = 50;
  static constexpr std::size_t kWindows = 8;
  static constexpr std::uint64_t kFull = 95;

 private:
  struct Seen {
    std::int64_t step = 0;
    std::uint64_t process = 0;
  };
  [[nodiscard]] bool grows() const;

  std::deque<Seen> seen_;
  bool told_full_ = false;
  bool told_growth_ = false;
};

}  // namespace bp::trainer
