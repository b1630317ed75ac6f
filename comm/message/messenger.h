// Packets between the ranks of a job, for all of its communicators.
//
// Each peer with which this rank exchanges messages has a thread here, which waits for the peer's
// packets with kDepth receives posted in advance. With Gloo a thread can wait for only one transfer
// at a time, so one thread could not serve several peers.
//
// Threads: any. Listeners are called on the peers' threads, one call at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm/message/packet.h"
#include "comm/transport/transport.h"

namespace bp {

class PacketListener {
 public:
  PacketListener() = default;
  PacketListener(const PacketListener&) = delete;
  PacketListener& operator=(const PacketListener&) = delete;
  virtual ~PacketListener() = default;

  // `peer`: a rank in the transport.
  virtual void on_packet(int peer, const Packet& packet) = 0;
  // The connection to the peer is lost. No packet of it follows.
  virtual void on_lost(int peer, const std::string& why) = 0;
  // Waits until the peers have received what this listener has sent.
  virtual void finish() {}
};

// A packet in flight. The object must exist until the packet has arrived.
struct OutgoingPacket {
  std::unique_ptr<std::byte[]> memory = {};
  std::size_t payload = 0;                  // bytes
  std::unique_ptr<Transfer> transfer = {};  // destroyed before its memory
};

class Messenger {
 public:
  explicit Messenger(Transport& transport);
  ~Messenger();
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  // From now on packets of this group go to `listener`, beginning with those that came earlier.
  void add(std::uint64_t group, PacketListener& listener);
  // Waits until no call of the listener is in progress. Later packets of the group are dropped.
  void remove(std::uint64_t group);

  // Finishes all listeners, of which none may be removed meanwhile.
  void finish();

  // From now on this rank takes packets from the peer. The peer may have sent some before.
  void open(int peer);
  // Packets arrive in the order in which they are posted. Throws TransportFailure.
  [[nodiscard]] OutgoingPacket post(int peer, const Packet& packet);

  // Keeps a packet until it has arrived.
  void keep(int peer, OutgoingPacket packet);
  // Waits until all kept packets have arrived. Returns false at the deadline, or if `stop` is set.
  [[nodiscard]] bool wait_for_kept(const Deadline& deadline, const std::atomic<bool>& stop);

  // The number of packets that this rank has posted for the peer, and of the peer's that it has
  // handled.
  [[nodiscard]] std::uint64_t posted(int peer) const { return at(peer).posted; }
  [[nodiscard]] std::uint64_t handled(int peer) const { return at(peer).handled; }

 private:
  static constexpr std::size_t kDepth = 4;

  struct Peer {
    std::atomic<std::uint64_t> posted{0};
    std::atomic<std::uint64_t> handled{0};
    std::thread thread;               // guarded by opening_
    std::deque<OutgoingPacket> kept;  // guarded by keeping_
  };
  [[nodiscard]] Peer& at(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] const Peer& at(int peer) const { return peers_[static_cast<std::size_t>(peer)]; }
  void take_packets(int peer);
  void dispatch(int peer, std::span<const std::byte> bytes);
  void lose(int peer, const std::string& why);

  Transport& transport_;
  std::vector<Peer> peers_;
  std::atomic<bool> stop_{false};
  std::mutex opening_;
  std::mutex keeping_;

  struct Early {
    int peer = 0;
    std::vector<std::byte> bytes;
  };
  std::mutex mutex_;
  std::map<std::uint64_t, PacketListener*> listeners_;  // guarded by mutex_; null: removed
  std::map<std::uint64_t, std::vector<Early>>
      early_;                        // guarded by mutex_: for groups that add() has not named yet
  std::map<int, std::string> lost_;  // guarded by mutex_
};

// What decides the slots of the data of a rendezvous message. message_slot() returns the slot of
// its first transfer; the further transfers take the following slots. Messages with equal routes
// share slots in the order in which they are sent, which is also the order in which receives match
// them. A receiver that knows the route can post the receive of the data before the packet arrives.
struct MessageRoute {
  std::uint64_t group = 0;
  int sender = 0;  // a rank in the transport, like the receiver
  int receiver = 0;
  int tag = 0;
  std::size_t bytes = 0;
};
[[nodiscard]] std::uint64_t message_slot(const MessageRoute& route);

}  // namespace bp
