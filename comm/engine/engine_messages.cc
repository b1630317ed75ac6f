// The messages of an Engine: it hands them to Messages, those of device memory by way of host
// memory.
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/deadline.h"
#include "base/text.h"
#include "bp/collective.h"
#include "comm/backend/common/operation.h"
#include "comm/device/ask_until.h"
#include "comm/device/device_memory.h"
#include "comm/engine/engine.h"
#include "comm/engine/observe/work_state.h"

namespace bp {
namespace {

// A message from or to device memory. It travels through host memory that it allocates.
//
// Threads: any.
// A send is complete when its host memory may be freed, a receive when the data are on the device.
class DeviceMessage final : public Work::State {
 public:
  // `on_host` carries out the message in `host`. A receive writes *received, and *report from it.
  DeviceMessage(Operation on_device,
                std::shared_ptr<std::byte> host,
                std::shared_ptr<Work::State> on_host,
                std::shared_ptr<MessageStatus> received,
                MessageStatus* report)
      : on_device_(std::move(on_device)),
        host_(std::move(host)),
        on_host_(std::move(on_host)),
        received_(std::move(received)),
        report_(report) {}

  [[nodiscard]] bool done() override {
    if (!on_host_->done()) return false;
    finish();
    return true;
  }

  bool wait(std::optional<std::chrono::milliseconds> timeout) override {
    if (!on_host_->wait(timeout)) return false;
    finish();
    const std::lock_guard lock(mutex_);
    if (error_) std::rethrow_exception(error_);
    return true;
  }

 private:
  void finish() {
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

  const Operation on_device_;
  const std::shared_ptr<std::byte> host_;
  const std::shared_ptr<Work::State> on_host_;
  const std::shared_ptr<MessageStatus> received_;  // null: a send
  MessageStatus* const report_;                    // the caller's; may be null
  std::mutex mutex_;
  bool is_finished_ = false;  // guarded by mutex_, as error_ is
  std::exception_ptr error_;
};

// Allocates host memory for a message and, for a send, copies the data there.
std::shared_ptr<std::byte> stage_message(const Operation& on_device) {
  const Memory& memory = memory_of(on_device.device);
  auto host = memory.allocate_on_host(on_device.bytes());
  if (on_device.input.count > 0) {
    memory.read(host.get(), on_device.input.data, on_device.input.bytes());
  }
  return host;
}

// Returns the same operation on `host`.
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

bool is_on_device(const Operation& message) { return message.device.kind != Device::Kind::host; }

}  // namespace

void Engine::refuse_message_if_over(const Operation& operation) {
  const std::lock_guard lock(state_.mutex());
  refuse_if_over(&operation);
}

// A message does not go through the queue, so the caller's thread waits for its stream.
void Engine::wait_for_stream(const Operation& message) {
  const auto timeout = setup().timeout_of(message);
  if (ask_until(Deadline(timeout), state_.stop(), [&] { return message.after->reached(); })) return;
  refuse_message_if_over(message);
  throw Error(ErrorCode::timeout,
              concat(setup().own_text(), " waited ", timeout.count(), " ms in ", describe(message),
                     " for the work that its stream on ", name_of(message.device), " had before"));
}

std::shared_ptr<Work::State> Engine::start_send(Operation operation) {
  refuse_message_if_over(operation);
  if (!is_on_device(operation)) return messages_.start_send(std::move(operation));
  wait_for_stream(operation);
  auto host = stage_message(operation);
  auto started = messages_.start_send(message_on_host(operation, host.get()));
  return std::make_shared<DeviceMessage>(std::move(operation), std::move(host), std::move(started),
                                         nullptr, nullptr);
}

std::shared_ptr<Work::State> Engine::start_receive(Operation operation, MessageStatus* report) {
  refuse_message_if_over(operation);
  if (!is_on_device(operation)) return messages_.start_receive(std::move(operation), report);
  wait_for_stream(operation);
  auto host = stage_message(operation);
  auto received = std::make_shared<MessageStatus>();
  auto started = messages_.start_receive(message_on_host(operation, host.get()), received.get());
  return std::make_shared<DeviceMessage>(std::move(operation), std::move(host), std::move(started),
                                         std::move(received), report);
}

void Engine::send(Operation operation) {
  messages_.refuse_endless_send(operation);
  start_send(std::move(operation))->wait({});
}

MessageStatus Engine::receive(Operation operation) {
  messages_.refuse_endless_receive(operation);
  MessageStatus received;
  start_receive(std::move(operation), &received)->wait({});
  return received;
}

}  // namespace bp
