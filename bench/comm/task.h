// The collectives that comm_bench measures. A task is one of them at one size: its memory, the
// call, and the right result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bench/comm/inputs.h"
#include "bp/communicator.h"
#include "bp/device.h"
#include "bp/types.h"

namespace bp::bench {

// The memory of a task's data: that of Communicator::allocate(), or any other.
enum class Memory { allocated, any };

struct Place {
  Memory memory = Memory::allocated;
  Device device = {};
};

class Space {
 public:
  Space() = default;
  Space(Communicator& comm, const Place& place, std::size_t bytes);
  [[nodiscard]] std::byte* data() const;
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] const Device& device() const { return device_; }
  // Copies from and to host memory.
  void write(const std::byte* host);
  [[nodiscard]] std::vector<std::byte> read() const;

 private:
  Buffer allocated_;
  std::shared_ptr<std::byte> any_;
  std::size_t bytes_ = 0;
  Device device_;
};

struct Task {
  std::size_t bytes = 0;      // S of bench/README.md, after rounding to whole elements
  double bus_factor = 0;      // bus bandwidth = algorithm bandwidth times this
  std::function<void()> run;  // the collective
  Space input;                // holds `original` after restore()
  Space output;               // empty if the collective works in place
  Pattern original;
  // Returns what the result must be after `runs` runs since restore(), as consecutive patterns.
  std::function<std::vector<Pattern>(int runs)> expected;
  int repeatable = std::numeric_limits<int>::max();  // most runs between the first and restore()
  DataType type = DataType::u8;
  Place place;  // of input and output

  void restore();
  [[nodiscard]] std::int64_t wrong_elements(int runs) const;
};

[[nodiscard]] std::vector<std::string> operation_names();

// `op` must be one of operation_names(). `bytes` is rounded down to whole elements, but at least
// one, or one for each rank if each has a share.
[[nodiscard]] Task make_task(Communicator& comm,
                             const std::string& op,
                             DataType type,
                             std::size_t bytes,
                             const Place& place = {});

}  // namespace bp::bench
