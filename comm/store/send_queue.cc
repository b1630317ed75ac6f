#include "comm/store/send_queue.h"

#include <cstdint>
#include <utility>

#include "base/check.h"

namespace bp {

void StoreSendQueue::push_frame(std::string frame) {
  const std::size_t size = frame.size();
  add({.frame = std::move(frame), .message = {}, .value = {}, .size = size, .held = size});
}

void StoreSendQueue::push(StoreMessage message, SharedValue value) {
  const std::size_t own = encoded_size(message);
  const std::size_t tail = value ? sizeof(std::uint32_t) + value->size() : 0;
  if (value && !queued_.empty() && queued_.back().value == value) {
    queued_.back().held -= tail;  // the value counts once, with the last message that carries it
    held_ -= tail;
  }
  add({.frame = {},
       .message = std::move(message),
       .value = std::move(value),
       .size = kFrameHeader + own + tail + kFrameMac,
       .held = own + tail});
}

void StoreSendQueue::add(Queued queued) {
  queued.held += sizeof(Queued);
  unsent_ += queued.size;
  held_ += queued.held;
  queued_.push_back(std::move(queued));
}

std::vector<std::string_view> StoreSendQueue::next_batch(FrameSeal* seal) {
  BP_CHECK(batch_.empty(), "next_batch() was called before batch_sent()");
  batch_.emplace_back();
  while (!queued_.empty() && batch_size_ < kBatch) {
    take_next(seal);
  }
  std::vector<std::string_view> views;
  for (const Piece& piece : batch_) {
    views.emplace_back(piece.bytes);
    if (piece.value) views.emplace_back(*piece.value);
  }
  return views;
}

void StoreSendQueue::take_next(FrameSeal* seal) {
  Queued& next = queued_.front();
  if (!next.frame.empty()) {
    batch_.back().bytes += next.frame;
  } else if (!next.value) {
    batch_.back().bytes += seal->seal(encode_message(next.message));
  } else {
    const auto frame =
        seal->seal_around(encode_message_before(next.message, next.value->size()), *next.value);
    batch_.back().bytes += frame.before;
    batch_.back().value = std::move(next.value);
    batch_.push_back({.bytes = frame.behind, .value = {}});
  }
  batch_size_ += next.size;
  batch_held_ += next.held;
  queued_.pop_front();
}

void StoreSendQueue::batch_sent() {
  unsent_ -= std::exchange(batch_size_, 0);
  held_ -= std::exchange(batch_held_, 0);
  batch_.clear();
}

}  // namespace bp
