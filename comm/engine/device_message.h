// A message from or to device memory: it travels through host memory of its own.
//
// Threads: any.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include "bp/collective.h"
#include "comm/backend/operation.h"
#include "comm/engine/work_state.h"

namespace bp {

// The host memory of a message, whose operation is on the device.
[[nodiscard]] std::shared_ptr<std::byte> stage_message(const Operation& on_device);
// Returns the same operation on that memory.
[[nodiscard]] Operation message_on_host(Operation on_device, std::byte* host);

// A send keeps its host memory until it is done; a receive is done once the data are on the device.
class DeviceMessage final : public Work::State {
 public:
  // `on_host` carries it out in `host`, and writes `received` of a receive.
  DeviceMessage(Operation on_device,
                std::shared_ptr<std::byte> host,
                std::shared_ptr<Work::State> on_host,
                std::shared_ptr<MessageStatus> received,
                MessageStatus* report);

  [[nodiscard]] bool done() override;
  bool wait(std::optional<std::chrono::milliseconds> timeout) override;

 private:
  void finish();

  const Operation on_device_;
  const std::shared_ptr<std::byte> host_;
  const std::shared_ptr<Work::State> on_host_;
  const std::shared_ptr<MessageStatus> received_;  // null: a send
  MessageStatus* const report_;                    // the caller's; may be null
  std::mutex mutex_;
  bool is_finished_ = false;  // guarded by the mutex, as the next
  std::exception_ptr error_;
};

}  // namespace bp
