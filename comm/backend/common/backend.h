// Carries out the collectives of one communicator on some kinds of device.
//
// Threads: one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "bp/device.h"
#include "comm/backend/common/collective_call.h"
#include "comm/backend/common/operation.h"
#include "comm/device/device_memory.h"

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

// The backends of a communicator: at most one for each kind of device.
class BackendSet {
 public:
  // `backend` carries out the collectives on every kind of device that it serves. No other backend
  // of the set may serve one of them.
  void add(std::unique_ptr<Backend> backend) {
    for (const Device::Kind kind : kDeviceKinds) {
      if (!backend->serves(kind)) continue;
      Backend*& place = by_kind_[static_cast<std::size_t>(kind)];
      BP_CHECK(place == nullptr, "two backends of a communicator serve one kind of device");
      place = backend.get();
    }
    backends_.push_back(std::move(backend));
  }

  // Null for a kind that no backend serves.
  [[nodiscard]] Backend* find(Device::Kind kind) const {
    return by_kind_[static_cast<std::size_t>(kind)];
  }
  // The backend for memory that find() has been asked about.
  [[nodiscard]] Backend& on(const Device& device) const { return *find(device.kind); }
  // The backend of host memory, which every communicator has.
  [[nodiscard]] Backend& host() const { return *find(Device::Kind::host); }

  // Calls Backend::abandon() of each.
  void abandon() const {
    for (const auto& backend : backends_) backend->abandon();
  }

 private:
  std::vector<std::unique_ptr<Backend>> backends_;
  std::array<Backend*, kDeviceKinds.size()> by_kind_ = {};
};

}  // namespace bp
