// Packets between the ranks of a job, for all of its communicators.
//
// Each peer that this rank exchanges messages with has a thread, which waits for its packets with
// kDepth receives posted in advance: Gloo lets a thread wait for one transfer only.
//
// Threads: any. Listeners are called on the peers' threads, one call at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
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
  // The connection to the peer is lost; nothing more comes from it.
  virtual void on_lost(int peer, const std::string& why) = 0;
};

// A packet on its way. It must live until the packet has arrived.
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

  // Packets of this group go to `listener` from now on, those that came earlier first.
  void add(std::uint64_t group, PacketListener& listener);
  // Waits for a call of the listener to end. Later packets of the group are dropped.
  void remove(std::uint64_t group);

  // From now on this rank takes packets from the peer, which may send some before.
  void open(int peer);
  // Packets arrive in the order in which they are posted. Throws TransportFailure.
  [[nodiscard]] OutgoingPacket post(int peer, const Packet& packet);

  // Keeps a packet until it has arrived.
  void keep(int peer, OutgoingPacket packet);
  // False where not all that is kept has arrived by the deadline.
  [[nodiscard]] bool wait_for_kept(const Deadline& deadline, const std::atomic<bool>& stop);

  // How many packets this rank has posted for the peer, and how many of the peer's it has handled.
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
  std::map<std::uint64_t, std::vector<Early>> early_;   // likewise: for groups not yet added
  std::map<int, std::string> lost_;                     // likewise
};

// Where the data of rendezvous messages travel: the slot of their first segments, the others
// follow. Messages that agree in all of this share a slot, in the order in which they were sent:
// that is also the order in which receives match them. A receiver that knows all of it can post the
// receive of the data before the message has announced itself.
struct MessageRoute {
  std::uint64_t group = 0;
  int sender = 0;  // as the receiver, a rank in the transport
  int receiver = 0;
  int tag = 0;
  std::size_t bytes = 0;
};
[[nodiscard]] std::uint64_t message_slot(const MessageRoute& route);

}  // namespace bp
