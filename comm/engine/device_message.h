// A message from or to device memory. It travels through host memory that it allocates.
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

// Allocates host memory for a message and, for a send, copies the data there.
[[nodiscard]] std::shared_ptr<std::byte> stage_message(const Operation& on_device);
// Returns the same operation on `host`.
[[nodiscard]] Operation message_on_host(Operation on_device, std::byte* host);

// A send is complete when its host memory may be freed, a receive when the data are on the device.
class DeviceMessage final : public Work::State {
 public:
  // `on_host` carries out the message in `host`. A receive writes *received, and *report from it.
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
  bool is_finished_ = false;  // guarded by mutex_, as error_ is
  std::exception_ptr error_;
};

}  // namespace bp
