// The messages that this rank sends and receives in one communicator, matched by
// comm/message/matching.h. They do not enter the queue of the collectives.
//
// The data of a message move in one of three ways, and a receive knows by the packet which one:
//   eager       The sender copies a short message into its packet
//   (comm/engine/messages/eager_window.h). rendezvous  Any other message announces itself by a
//   packet, and its data travel by transfers
//               between the memory of both callers. The receiver posts its transfers when it
//               matches the packet, or already with the receive if it knows that the two will
//               match. The thread that waits for the Work waits for the transfers.
//   local       A message of this rank to itself is copied when it matches.
//
// Threads: any. The core's mutex guards everything. Peers' threads bring packets; the callers'
// threads start operations and wait. The engine's mutex may be taken while the core's is held, and
// never the other way round.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bp/collective.h"
#include "bp/error.h"
#include "comm/backend/common/operation.h"
#include "comm/engine/messages/eager_window.h"
#include "comm/engine/messages/message_supervisor.h"
#include "comm/engine/messages/message_work.h"
#include "comm/message/circle.h"
#include "comm/message/matching.h"
#include "comm/message/messenger.h"

namespace bp {

class Messages final : public PacketListener {
 public:
  // `supervisor` must outlive this object.
  explicit Messages(MessageSupervisor& supervisor);
  ~Messages() override;

  [[nodiscard]] std::shared_ptr<MessageWork> start_send(Operation operation);
  // Writes *report, unless it is null, before the receive is done.
  [[nodiscard]] std::shared_ptr<MessageWork> start_receive(Operation operation,
                                                           MessageStatus* report);
  // Each throws invalid_argument if waiting for a message of this rank to itself would never end.
  void refuse_endless_send(const Operation& operation);
  void refuse_endless_receive(const Operation& operation);
  [[nodiscard]] bool is_done(MessageWork& work);
  // As Work::State::wait().
  [[nodiscard]] bool wait(MessageWork& work, std::optional<std::chrono::milliseconds> timeout);
  // Waits until all messages that this rank has started have been received.
  void finish() override;

  // Returns what this rank waits for, as other ranks read it in the store. `work` may be null.
  [[nodiscard]] WaitNote note(WaitNote::Kind kind, const MessageWork* work);

 private:
  struct Peer {
    std::uint64_t sent = 0;  // messages
    EagerWindow window = {};
    std::string lost = {};  // why; empty while the connection is not lost
  };
  struct Arrived {
    int from = 0;
    PacketHeader header = {};
    std::span<const std::byte> payload = {};  // of an eager message, in its packet
    std::vector<std::byte> kept = {};         // the same, until a receive matches it
    std::shared_ptr<MessageWork> local = {};  // of a long message of this rank to itself
    [[nodiscard]] int source() const { return from; }
    [[nodiscard]] int tag() const { return header.tag; }
    [[nodiscard]] const std::byte* data() const;  // of an eager or local one
  };
  struct Posted {
    std::shared_ptr<MessageWork> work;
    [[nodiscard]] int source() const { return work->peer; }
    [[nodiscard]] int tag() const { return work->operation.tag; }
  };
  using Lock = std::unique_lock<std::mutex>;

  void on_packet(int transport_rank, const Packet& packet) override;
  void on_lost(int transport_rank, const std::string& why) override;
  // The communicator has failed: wakes all threads that wait.
  void wake();

  [[nodiscard]] Peer& at(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] int size() const { return setup_.size(); }
  // Returns size() for a rank that is not a member.
  [[nodiscard]] int member_of(int transport_rank) const;
  [[nodiscard]] MessageRoute route(int sender, int receiver, int tag, std::size_t bytes) const;
  void open(int peer);
  [[nodiscard]] std::shared_ptr<MessageWork> start(const std::shared_ptr<MessageWork>& work);
  [[nodiscard]] PacketHeader header_of(const MessageWork& work) const;
  // All below with the mutex held. A disagreement that they return must be declared without it.
  using Disagreement = std::optional<std::string>;
  [[nodiscard]] Disagreement send(const std::shared_ptr<MessageWork>& work);
  [[nodiscard]] Disagreement send_to_self(const std::shared_ptr<MessageWork>& work);
  [[nodiscard]] bool copies_to_self(std::size_t bytes) const;  // a message that is sent now
  void send_to_peer(MessageWork& work);
  [[nodiscard]] Disagreement post(const std::shared_ptr<MessageWork>& work);
  [[nodiscard]] Disagreement arrive(Arrived message);
  [[nodiscard]] Disagreement match(const std::shared_ptr<MessageWork>& work, Arrived& message);
  [[nodiscard]] bool knows_message(const Posted& receive) const;
  void post_receives(MessageWork& work, const MessageRoute& route);
  void post_transfers(MessageWork& work, const MessageRoute& route);
  [[nodiscard]] std::string disagreement_text(const MessageWork& work,
                                              const Arrived& message) const;
  void post_control(int peer, PacketHeader::Kind kind);
  void give_credit(int peer);
  void complete(MessageWork& work);
  void end(MessageWork& work, std::exception_ptr error);
  [[nodiscard]] std::vector<int> peers_with_unreceived() const;

  // These release the mutex while they wait.
  [[nodiscard]] bool move(MessageWork& work, const Deadline& deadline, Lock& lock);
  [[nodiscard]] bool move_or_sleep(MessageWork& work, const Deadline& until, Lock& lock);
  [[noreturn]] void fail(MessageWork& work, const Error& error, Lock& lock);
  void wait_for_works();
  void wait_for_credits();
  [[nodiscard]] std::string unreceived_text();
  void note_user();  // the calling thread; with the mutex held

  MessageSupervisor& supervisor_;
  EngineState& state_;
  const EngineSetup& setup_;
  const std::uint64_t group_;
  Messenger* const messenger_;  // null if this rank is alone
  const std::shared_ptr<MessageCore> core_;
  std::vector<Peer> peers_;  // guarded by the core's mutex, as all below
  Matching<Posted, Arrived> matching_;
  std::set<std::shared_ptr<MessageWork>> in_flight_;
  std::thread::id user_ = {};  // the first thread that sent, received or waited
  bool has_several_users_ = false;
};

}  // namespace bp
