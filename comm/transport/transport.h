// Carries the messages of a collective between ranks, matched by (peer, slot).
//
//   auto in = transport.post_receive(left, slot, space);   // first, because a message is sent only
//   auto out = transport.post_send(right, slot, data);     // once its receive is posted
//   while (!in->wait(deadline, stop)) { ... }
//
// Messages of one (peer, slot) arrive in the order in which they were posted. Sender and receiver
// must give the same number of bytes, which may be 0; ranks that might disagree must use different
// slots (comm/engine/observe/header.h makes these). There is no buffering: a send is complete when
// its memory may be changed, and that needs a receive on the other side.
//
// Threads: any number may post and wait; one Transfer belongs to one thread. Any thread may call
// wake(), except while it holds a lock that a waiter needs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "base/deadline.h"
#include "bp/error.h"
#include "comm/transport/link_watch.h"

namespace bp {

// Why a transfer failed. The caller, which knows the operation, makes the complete error of it.
class TransportFailure : public std::runtime_error {
 public:
  TransportFailure(ErrorCode code, const std::string& reason)
      : std::runtime_error(reason), code_(code) {}
  [[nodiscard]] ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// A peer that does not have all bytes that it was sent.
struct Undelivered {
  int peer = -1;
  std::size_t bytes = 0;
};

// One message in flight. Its destructor abandons it if it is not complete: the transport then no
// longer accesses its memory, and can no longer be used with that peer.
class Transfer {
 public:
  Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  virtual ~Transfer() = default;

  // Blocks until the transfer is complete and returns true. Returns false at the deadline, or when
  // `stop` is set (before the call, or later with a wake()); the transfer then continues, and
  // wait() may be called again. Throws TransportFailure.
  [[nodiscard]] virtual bool wait(const Deadline& deadline, const std::atomic<bool>& stop) = 0;
};

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  // Starts a transfer. Its memory must exist, and that of a send must not change, until the
  // transfer is complete or destroyed. Transfers must not outlive the transport. Throws
  // TransportFailure.
  [[nodiscard]] virtual std::unique_ptr<Transfer> post_receive(int peer,
                                                               std::uint64_t slot,
                                                               std::span<std::byte> into) = 0;
  [[nodiscard]] virtual std::unique_ptr<Transfer> post_send(int peer,
                                                            std::uint64_t slot,
                                                            std::span<const std::byte> from) = 0;

  // The same for a message of at most into.size() bytes. The message itself must say how many bytes
  // it has.
  [[nodiscard]] virtual std::unique_ptr<Transfer> post_receive_at_most(int peer,
                                                                       std::uint64_t slot,
                                                                       std::span<std::byte> into) {
    return post_receive(peer, slot, into);
  }

  // Ends sending, once all transfers are complete: no other may be posted. Returns nothing once
  // each peer has all that it was sent, or has ended because it needs no more. Returns one that
  // does not have all of it at the deadline, or when `stop` is set; deliver() may then be called
  // again. Call it from one thread. Without it, destroying the transport loses nothing either, as
  // long as the kernel that has the bytes can still send them.
  [[nodiscard]] virtual std::optional<Undelivered> deliver(const Deadline&,
                                                           const std::atomic<bool>&) {
    return std::nullopt;
  }

  // Returns what is known of the connection to `peer`, from any thread; nothing if there is none.
  [[nodiscard]] virtual std::optional<LinkState> look(int) { return std::nullopt; }

  // The number of peers to which this rank has a connection. Of any thread.
  [[nodiscard]] virtual int connections() const { return 0; }

  // Makes every waiter of this rank read its `stop` flag again.
  virtual void wake() = 0;
};

}  // namespace bp
