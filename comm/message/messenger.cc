#include "comm/message/messenger.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "base/mix.h"
#include "base/system/thread.h"
#include "base/text.h"

namespace bp {
namespace {

// A wait for packets ends by a packet, the loss of the peer or the end of the messenger.
constexpr std::chrono::hours kSlice{1};

// Credits and the like: more than are ever on their way at a time.
constexpr std::size_t kKept = 16;
constexpr std::chrono::milliseconds kNow{0};

std::uint64_t packet_slot() { return mix_hash("packets"); }

}  // namespace

std::uint64_t message_slot(const MessageRoute& route) {
  MixHash hash;
  hash.add("message");
  hash.add(route.group);
  hash.add(static_cast<std::uint64_t>(route.sender) << 32 |
           static_cast<std::uint32_t>(route.receiver));
  hash.add(static_cast<std::uint32_t>(route.tag));
  hash.add(route.bytes);
  return hash.value();
}

Messenger::Messenger(Transport& transport)
    : transport_(transport), peers_(static_cast<std::size_t>(transport.size())) {}

Messenger::~Messenger() {
  stop_.store(true, std::memory_order_release);  // read by the threads' waits
  transport_.wake();
  for (Peer& peer : peers_) {
    if (peer.thread.joinable()) peer.thread.join();
  }
}

void Messenger::add(std::uint64_t group, PacketListener& listener) {
  const std::lock_guard lock(mutex_);
  listeners_[group] = &listener;
  for (const auto& [peer, why] : lost_) listener.on_lost(peer, why);
  if (const auto early = early_.extract(group)) {
    for (const Early& one : early.mapped()) listener.on_packet(one.peer, read_packet(one.bytes));
  }
}

void Messenger::remove(std::uint64_t group) {
  const std::lock_guard lock(mutex_);
  listeners_[group] = nullptr;
}

// A listener waits for packets that come meanwhile.
void Messenger::finish() {
  std::map<std::uint64_t, PacketListener*> listeners;
  {
    const std::lock_guard lock(mutex_);
    listeners = listeners_;
  }
  for (const auto& [group, listener] : listeners) {
    if (listener != nullptr) listener->finish();
  }
}

void Messenger::open(int peer) {
  if (peer == transport_.rank()) return;
  const std::lock_guard lock(opening_);
  std::thread& thread = at(peer).thread;
  if (thread.joinable()) return;
  thread = start_thread(concat("bp message ", peer), [this, peer] {
    try {
      take_packets(peer);
    } catch (const TransportFailure& why) {
      lose(peer, why.what());
    }
  });
}

void Messenger::take_packets(int peer) {
  std::vector<std::byte> memory(kDepth * kPacketBytes);
  std::array<std::unique_ptr<Transfer>, kDepth> receives;
  const auto cell = [&](std::size_t i) {
    return std::span(memory).subspan(i * kPacketBytes, kPacketBytes);
  };
  const std::uint64_t slot = packet_slot();
  std::optional<TransportFailure> lost;  // the packets that came before are in the other cells
  const auto post = [&](std::size_t i) {
    receives[i].reset();
    try {
      if (!lost) receives[i] = transport_.post_receive_at_most(peer, slot, cell(i));
    } catch (const TransportFailure& why) {
      lost = why;
    }
  };
  for (std::size_t i = 0; i < kDepth; ++i) post(i);
  for (std::size_t i = 0; receives[i] && !stop_.load(std::memory_order_acquire);) {
    if (!receives[i]->wait(Deadline(kSlice), stop_)) continue;
    dispatch(peer, cell(i));
    post(i);
    i = (i + 1) % kDepth;
  }
  if (lost) throw *lost;
}

void Messenger::dispatch(int peer, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  const Packet packet = read_packet(bytes);
  const auto found = listeners_.find(packet.header.group);
  if (found == listeners_.end()) {
    const auto used = bytes.first(sizeof(PacketHeader) + packet.payload.size());
    early_[packet.header.group].push_back({peer, {used.begin(), used.end()}});
  } else if (found->second != nullptr) {
    found->second->on_packet(peer, packet);
  }
  ++at(peer).handled;
}

void Messenger::lose(int peer, const std::string& why) {
  const std::lock_guard lock(mutex_);
  lost_.emplace(peer, why);
  for (const auto& [group, listener] : listeners_) {
    if (listener != nullptr) listener->on_lost(peer, why);
  }
}

OutgoingPacket Messenger::post(int peer, const Packet& packet) {
  const std::size_t bytes = sizeof(PacketHeader) + packet.payload.size();
  OutgoingPacket outgoing{std::make_unique_for_overwrite<std::byte[]>(bytes), packet.payload.size(),
                          nullptr};
  std::memcpy(outgoing.memory.get(), &packet.header, sizeof(PacketHeader));
  if (!packet.payload.empty()) {
    std::memcpy(outgoing.memory.get() + sizeof(PacketHeader), packet.payload.data(),
                packet.payload.size());
  }
  outgoing.transfer =
      transport_.post_send(peer, packet_slot(), std::span(outgoing.memory.get(), bytes));
  ++at(peer).posted;
  return outgoing;
}

void Messenger::keep(int peer, OutgoingPacket packet) {
  if (!packet.transfer) return;
  const std::lock_guard lock(keeping_);
  std::deque<OutgoingPacket>& kept = at(peer).kept;
  kept.push_back(std::move(packet));
  try {
    while (kept.size() > kKept && kept.front().transfer->wait(Deadline(kNow), stop_)) {
      kept.pop_front();
    }
  } catch (const TransportFailure&) {
    kept.clear();
  }
}

bool Messenger::wait_for_kept(const Deadline& deadline, const std::atomic<bool>& stop) {
  for (Peer& peer : peers_) {
    std::deque<OutgoingPacket> all;
    {
      const std::lock_guard lock(keeping_);
      all.swap(peer.kept);
    }
    try {
      for (OutgoingPacket& packet : all) {
        if (!packet.transfer->wait(deadline, stop)) return false;
      }
    } catch (const TransportFailure&) {  // the peer is gone, and needs them no more
    }
  }
  return true;
}

}  // namespace bp
