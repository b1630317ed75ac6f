// The messages of one communicator: those that this rank sends and receives, matched by
// comm/message/matching.h, beside the queue of its collectives.
//
// An eager message is copied into a packet. Until its receiver has received it, it counts against a
// window of kWindow messages and kWindowBytes, which bounds what a receiver has to keep of each
// sender. Any other message announces itself by a packet, and its data travel by transfers between
// the memory of both callers. The receiver posts its transfers when it matches the packet, or
// earlier, with the receive, where it knows that the two will match. The thread that waits for the
// Work waits for the transfers.
//
// Threads: any. The core's mutex guards all. Peers' threads bring packets, the callers' threads
// start and wait. It may be held while the engine's own mutex is taken, and never the other way
// round.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/pausable_timeout.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "comm/backend/operation.h"
#include "comm/engine/flight_recorder.h"
#include "comm/engine/work_state.h"
#include "comm/message/circle.h"
#include "comm/message/matching.h"
#include "comm/message/messenger.h"

namespace bp {

class Engine;
class Messages;

// The part of Messages that its Works share, since a Work may outlive Messages.
struct MessageCore {
  std::mutex mutex;
  std::condition_variable changed;
  Messages* owner = nullptr;  // guarded by mutex
};

struct MessageWork final : Work::State {
  enum class Phase : std::uint8_t { posted, moving, done };

  [[nodiscard]] bool done() override;
  bool wait(std::optional<std::chrono::milliseconds> timeout) override;

  std::shared_ptr<MessageCore> core;
  Operation operation;
  bool sends = false;
  int peer = kAnySource;            // in the communicator
  MessageStatus* report = nullptr;  // the caller's
  std::uint64_t number = 0;         // of the message that it sends
  FlightRecorder::Ticket ticket = 0;
  FlightRecorder::Clock::time_point begun;
  // Guarded by the core's mutex:
  Phase phase = Phase::posted;
  MessageStatus received;
  std::chrono::nanoseconds waited{0};
  OutgoingPacket announcement;
  // These move the data. Once they are posted, they belong to the thread that waits.
  std::deque<std::unique_ptr<Transfer>> transfers;
  bool expected = false;     // of a receive: the transfers were posted with it
  std::string broken;        // why the connection is of no use; empty while it is
  std::exception_ptr error;  // what wait() throws once it is done
};

class Messages final : public PacketListener {
 public:
  explicit Messages(Engine& engine);
  ~Messages() override;

  [[nodiscard]] std::shared_ptr<MessageWork> start_send(Operation operation);
  // Writes *report, unless it is null, before the receive is done.
  [[nodiscard]] std::shared_ptr<MessageWork> start_receive(Operation operation,
                                                           MessageStatus* report);
  // Throw invalid_argument where waiting for a message of this rank to itself would never end.
  void refuse_endless_send(const Operation& operation);
  void refuse_endless_receive(const Operation& operation);
  [[nodiscard]] bool is_done(MessageWork& work);
  [[nodiscard]] bool wait(MessageWork& work, std::optional<std::chrono::milliseconds> timeout);
  // Waits until all messages that this rank has started have been received.
  void finish();
  // The communicator has failed: those who wait look at that.
  void wake();

  // Returns what this rank is waiting for, as other ranks read it in the store.
  [[nodiscard]] WaitNote note(WaitNote::Kind kind, const MessageWork* work);
  // "10 f32 with tag 3 from rank 1": messages that came and that no receive has matched.
  [[nodiscard]] std::string unreceived_text();

 private:
  struct Peer {
    std::uint64_t sent = 0;                 // messages
    std::deque<OutgoingPacket> eager = {};  // not yet received
    std::size_t eager_bytes = 0;            // of these
    std::uint64_t eager_received = 0;       // messages of this rank that the peer has received
    std::uint64_t consumed = 0;             // and of the peer that this rank has
    std::uint64_t consumed_told = 0;        // the number that the peer was told
    std::size_t untold_bytes = 0;           // of the others
    bool wants_credit = false;              // at once
    std::string lost = {};                  // why
  };
  struct Arrived {
    int from = 0;
    PacketHeader header = {};
    std::span<const std::byte> payload = {};  // of an eager one
    std::vector<std::byte> kept = {};         // the same, while no receive is there
    std::shared_ptr<MessageWork> local =
        {};  // of this rank's own send, whose data did not move yet
    [[nodiscard]] int source() const { return from; }
    [[nodiscard]] int tag() const { return header.tag; }
  };
  struct Posted {
    std::shared_ptr<MessageWork> work;
    [[nodiscard]] int source() const { return work->peer; }
    [[nodiscard]] int tag() const { return work->operation.tag; }
  };
  using Lock = std::unique_lock<std::mutex>;
  static constexpr std::size_t kWindow = 32;
  static constexpr std::size_t kWindowBytes = std::size_t{512} << 10;

  void on_packet(int peer, const Packet& packet) override;
  void on_lost(int peer, const std::string& why) override;

  [[nodiscard]] Peer& at(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] int in_transport(int peer) const;
  void open(int peer);
  [[nodiscard]] std::shared_ptr<MessageWork> start(const std::shared_ptr<MessageWork>& work);
  [[nodiscard]] PacketHeader header_of(const MessageWork& work) const;
  // All below with the mutex held. What they return is a disagreement, to be declared without it.
  using Disagreement = std::optional<std::string>;
  [[nodiscard]] Disagreement send(const std::shared_ptr<MessageWork>& work);
  [[nodiscard]] Disagreement send_to_self(const std::shared_ptr<MessageWork>& work);
  void send_to_peer(MessageWork& work);
  [[nodiscard]] Disagreement post(const std::shared_ptr<MessageWork>& work);
  [[nodiscard]] Disagreement arrive(Arrived message);
  [[nodiscard]] Disagreement match(const std::shared_ptr<MessageWork>& work, Arrived& message);
  [[nodiscard]] bool knows_message(const Posted& receive) const;
  void post_receives(MessageWork& work, const MessageStatus& message, std::size_t bytes);
  void post_transfers(MessageWork& work, const MessageRoute& route);
  [[nodiscard]] std::string disagreement_text(const MessageWork& work,
                                              const Arrived& message) const;
  void consume(int peer, std::size_t bytes);
  static void tell_consumed(Peer& peer, PacketHeader& header);
  void give_credit(int peer);
  void complete(MessageWork& work);
  void end(MessageWork& work, std::exception_ptr error);
  [[nodiscard]] bool move(MessageWork& work, const Deadline& deadline, Lock& lock);
  [[noreturn]] void fail(MessageWork& work, const Error& error, Lock& lock);
  void wait_for_credits();
  [[nodiscard]] std::vector<int> peers_not_through() const;

  Engine& engine_;
  const std::uint64_t group_;
  Messenger* const messenger_;  // null where this rank is alone
  const std::shared_ptr<MessageCore> core_;
  std::vector<Peer> peers_;  // guarded by the core's mutex, as all below
  Matching<Posted, Arrived> matching_;
  std::set<std::shared_ptr<MessageWork>> in_flight_;
};

}  // namespace bp
