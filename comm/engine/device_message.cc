#include "comm/engine/device_message.h"

#include <utility>

#include "comm/device/device.h"

namespace bp {

std::shared_ptr<std::byte> stage_message(const Operation& on_device) {
  const Memory& memory = memory_of(on_device.device);
  auto host = memory.allocate_on_host(on_device.bytes());
  if (on_device.input.count > 0) {
    memory.read(host.get(), on_device.input.data, on_device.input.bytes());
  }
  return host;
}

Operation message_on_host(Operation on_device, std::byte* host) {
  on_device.device = {};
  on_device.after = nullptr;
  if (on_device.input.count > 0)
    on_device.input = {host, on_device.input.count, on_device.input.type};
  if (on_device.output.count > 0) {
    on_device.output = {host, on_device.output.count, on_device.output.type};
  }
  return on_device;
}

DeviceMessage::DeviceMessage(Operation on_device,
                             std::shared_ptr<std::byte> host,
                             std::shared_ptr<Work::State> on_host,
                             std::shared_ptr<MessageStatus> received,
                             MessageStatus* report)
    : on_device_(std::move(on_device)),
      host_(std::move(host)),
      on_host_(std::move(on_host)),
      received_(std::move(received)),
      report_(report) {}

bool DeviceMessage::done() {
  if (!on_host_->done()) return false;
  finish();
  return true;
}

bool DeviceMessage::wait(std::optional<std::chrono::milliseconds> timeout) {
  if (!on_host_->wait(timeout)) return false;
  finish();
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  return true;
}

void DeviceMessage::finish() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_finished_, true) || !received_) return;
  try {
    const std::size_t bytes = received_->count * size_of(on_device_.output.type);
    memory_of(on_device_.device).write(on_device_.output.data, host_.get(), bytes);
    if (report_ != nullptr) *report_ = *received_;
  } catch (const std::exception&) {
    error_ = std::current_exception();
  }
}

}  // namespace bp
