#include "comm/transport/gloo_plugin/buffer_list.h"

#include <gloo/common/error.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace bp::gloo_plugin {
namespace {

using gloo::transport::UnboundBuffer;

bool or_throw(bool complete) {
  if (!complete) throw gloo::IoException("called back");
  return true;
}

}  // namespace

// A buffer of Gloo that is on the list while it exists.
class BufferList::Listed : public UnboundBuffer {
 public:
  Listed(std::unique_ptr<UnboundBuffer> buffer, std::shared_ptr<State> state)
      : UnboundBuffer(buffer->ptr, buffer->size),
        buffer_(std::move(buffer)),
        state_(std::move(state)) {
    const std::lock_guard lock(state_->mutex);
    position_ = state_->buffers.insert(state_->buffers.end(), buffer_.get());
  }
  ~Listed() override {
    const std::lock_guard lock(state_->mutex);
    state_->buffers.erase(position_);
  }

  bool waitRecv(int* rank, std::chrono::milliseconds timeout) override {
    return or_throw(buffer_->waitRecv(rank, timeout));
  }
  bool waitSend(int* rank, std::chrono::milliseconds timeout) override {
    return or_throw(buffer_->waitSend(rank, timeout));
  }
  void abortWaitRecv() override { buffer_->abortWaitRecv(); }
  void abortWaitSend() override { buffer_->abortWaitSend(); }
  void send(int to, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    buffer_->send(to, slot, offset, bytes);
  }
  void recv(int from, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    buffer_->recv(from, slot, offset, bytes);
  }
  void recv(std::vector<int> from,
            std::uint64_t slot,
            std::size_t offset,
            std::size_t bytes) override {
    buffer_->recv(std::move(from), slot, offset, bytes);
  }

 private:
  const std::unique_ptr<UnboundBuffer> buffer_;
  const std::shared_ptr<State> state_;
  Buffers::iterator position_;
};

BufferList::BufferList(std::shared_ptr<gloo::transport::Context> transport)
    : gloo::transport::Context(transport->rank, transport->size), transport_(std::move(transport)) {
  setTimeout(transport_->getTimeout());
}

std::unique_ptr<gloo::transport::Pair>& BufferList::getPair(int peer) {
  return transport_->getPair(peer);
}

std::unique_ptr<gloo::transport::Pair>& BufferList::createPair(int peer) {
  return transport_->createPair(peer);
}

std::unique_ptr<UnboundBuffer> BufferList::createUnboundBuffer(void* data, std::size_t bytes) {
  return std::make_unique<Listed>(transport_->createUnboundBuffer(data, bytes), state_);
}

void BufferList::call_back() {
  const std::lock_guard lock(state_->mutex);
  for (UnboundBuffer* const buffer : state_->buffers) {
    buffer->abortWaitSend();
    buffer->abortWaitRecv();
  }
}

}  // namespace bp::gloo_plugin
