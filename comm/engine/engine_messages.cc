// The messages of an Engine: it hands them to Messages, those of device memory by way of host
// memory.
#include <utility>

#include "base/deadline.h"
#include "base/text.h"
#include "comm/device/ask_until.h"
#include "comm/engine/device_message.h"
#include "comm/engine/engine.h"

namespace bp {
namespace {

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
