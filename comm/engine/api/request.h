// A collective that the caller asks for, while its arguments are checked. A wrong argument throws
// before this rank sends anything, and leaves the communicator usable.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bp/collective.h"
#include "comm/backend/common/operation.h"

namespace bp {

class Request {
 public:
  // `called`: the name of the function, if it is not that of the kind. Throws invalid_argument for
  // bad options.
  Request(Communicator& comm,
          Operation::Kind kind,
          const CollectiveOptions& options,
          std::string_view called = {});

  // Each throws invalid_argument: "all_gather 'x': output has 2 elements; it must have 4".
  // Also sets operation.device: all memory of an operation lies on one device, which one of the
  // communicator's backends serves.
  void check_memory(const char* what, const ConstView& memory);
  // For a reduction: its types have the operation asked for.
  void check_reducible(DataType type) const;
  void check_pair(const ConstView& input, const View& output);  // memory and types
  void check_count(const char* what, std::size_t given, std::size_t wanted) const;
  // There must be one count for each rank, and `memory` must have as many elements as their sum.
  void check_counts(const char* what,
                    std::span<const std::size_t> counts,
                    const char* memory_name,
                    const ConstView& memory) const;
  void check_rank(const char* what, int rank) const;
  void check_apart(const ConstView& input, const View& output) const;
  void check_apart(std::span<const View> tensors) const;
  // `block` may be this rank's block of `memory`, which the counts cut, and else lies apart from
  // it.
  void check_block(const char* block_name,
                   const ConstView& block,
                   const char* memory_name,
                   const ConstView& memory,
                   std::span<const std::size_t> counts) const;
  [[noreturn]] void refuse(const std::string& why) const;

  [[nodiscard]] int rank() const { return comm_.rank(); }
  [[nodiscard]] int ranks() const { return comm_.size(); }

  void run();
  [[nodiscard]] Work start();
  [[nodiscard]] int join() const;
  void send();
  [[nodiscard]] Work start_send();
  [[nodiscard]] MessageStatus receive();
  [[nodiscard]] Work start_receive(MessageStatus* report);

  Operation operation;  // the constructor sets kind, name and options

 private:
  void check_device(const char* what, const Device& device);
  // Notes what work of the device comes before the operation.
  void look_at_device();

  Communicator& comm_;
  void* stream_;
  bool has_memory_ = false;  // operation.device is that of memory that was checked
  std::string_view called_;
};

// Returns `count` once for each rank.
[[nodiscard]] std::vector<std::size_t> one_each(const Communicator& comm, std::size_t count);

// Returns the caller's counts, for the operation to keep.
[[nodiscard]] inline std::vector<std::size_t> copy_of(std::span<const std::size_t> counts) {
  return {counts.begin(), counts.end()};
}

// Returns true if they share a byte.
[[nodiscard]] bool overlap(const ConstView& a, const ConstView& b);

}  // namespace bp
