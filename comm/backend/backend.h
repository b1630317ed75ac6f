// Carries out the collectives of one communicator on some kinds of device.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "bp/device.h"
#include "comm/backend/collective_call.h"
#include "comm/backend/operation.h"
#include "comm/device/device.h"

namespace bp {

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;  // "gloo"
  // Returns what would carry out such an operation, for reports: "ring", "direct".
  [[nodiscard]] virtual std::string_view algorithm_of(Operation::Kind kind,
                                                      std::size_t bytes) const = 0;
  // Returns whether it takes memory of such devices.
  [[nodiscard]] virtual bool serves(Device::Kind kind) const { return kind == Device::Kind::host; }
  // Returns what the ranks must agree on beside the operation: `chosen` is the algorithm that the
  // communicator was created with.
  [[nodiscard]] virtual std::string_view agreed_algorithm(const Operation& /*operation*/,
                                                          std::string_view chosen) const {
    return chosen;
  }
  // All memory of `operation` lies on operation.device, which this backend serves. On host memory
  // run() returns when this rank's output is complete. On a device that orders work in streams,
  // run() may return earlier: when all of its work is enqueued, in the order of these calls. Throws
  // Error, after which the content of the output is undefined.
  virtual void run(const Operation& operation, CollectiveCall& call) = 0;

  // run() may return although other ranks have not begun the operation, if this one needs nothing
  // of them. Then is_settled() is false until the next run(), or settle(), has found that all ranks
  // have begun it. `call`: of that same operation.
  [[nodiscard]] virtual bool is_settled() const { return true; }
  virtual void settle(CollectiveCall& /*call*/) {}

  // comm/backend/perform.h uses the functions below for operations on devices, of which run() is
  // only a part.
  //
  // Returns whether begin(), run() and end() only enqueue work on a stream, in the order of the
  // calls. Such an operation may begin while earlier ones still run.
  [[nodiscard]] virtual bool enqueues(const Operation& /*operation*/) const { return false; }
  // Returns whether run() applies operation.prescale.
  [[nodiscard]] virtual bool prescales(const Operation& /*operation*/) const { return false; }
  // Returns memory for the steps before and after run(). Its calls come after the work that the
  // caller's stream had, and are ordered with run() as they are made.
  [[nodiscard]] virtual const Memory& begin(const Operation& operation, CollectiveCall& call) {
    call.wait_for_device();
    return memory_of(operation.device);
  }
  // Called after the last step of an operation for which enqueues() is true.
  virtual void end(CollectiveCall& /*call*/) {}
  // Returns memory of a device that this backend serves, as Memory::allocate() does. Threads: any.
  [[nodiscard]] virtual std::shared_ptr<std::byte> allocate(std::size_t bytes,
                                                            const Device& device) {
    return memory_of(device).allocate(bytes);
  }
  // Ends operations that still run on devices, and what would wait for other ranks, because the
  // communicator has failed.
  virtual void abandon() {}
};

}  // namespace bp
