// The smallest thing a collective needs: messages between ranks, matched by (peer, slot).
//
//   auto in = transport.post_receive(left, slot, space);   // receives first: a message is only put
//   auto out = transport.post_send(right, slot, data);     // on the wire once it has where to go
//   while (!in->wait(deadline, stop)) { ... }
//
// Messages of one (peer, slot) arrive in the order in which they were posted. Sender and receiver
// give the same number of bytes, zero included; who cannot be sure of that uses different slots
// (comm/engine/header.h makes sure). There is no buffering: a send is complete when its memory may
// be changed, which needs a receive on the other side.
//
// Threads: any number may post and wait; one Transfer belongs to one thread. wake() may come from
// any thread, but not from within a callback that holds a lock which a waiter needs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "base/deadline.h"
#include "bp/error.h"

namespace bp {

// What went wrong with a transfer, for whoever knows the operation to say so in full.
class TransportFailure : public std::runtime_error {
 public:
  TransportFailure(ErrorCode code, const std::string& reason)
      : std::runtime_error(reason), code_(code) {}
  [[nodiscard]] ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// One message on its way. Destroying it before it is complete abandons it: its memory is not
// touched any more, and the transport is of no further use towards that peer.
class Transfer {
 public:
  Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  virtual ~Transfer() = default;

  // True when complete. False at the deadline and when `stop` is set, at once or by a wake(): the
  // transfer goes on and may be waited for again. Throws TransportFailure.
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

  // The memory must live, and a sent one stay unchanged, until the transfer is complete or
  // destroyed. Transfers must not outlive the transport. Throws TransportFailure.
  [[nodiscard]] virtual std::unique_ptr<Transfer> post_receive(int peer,
                                                               std::uint64_t slot,
                                                               std::span<std::byte> into) = 0;
  [[nodiscard]] virtual std::unique_ptr<Transfer> post_send(int peer,
                                                            std::uint64_t slot,
                                                            std::span<const std::byte> from) = 0;

  // The same for a message of at most into.size() bytes. How many came is for its content to say.
  [[nodiscard]] virtual std::unique_ptr<Transfer> post_receive_at_most(int peer,
                                                                       std::uint64_t slot,
                                                                       std::span<std::byte> into) {
    return post_receive(peer, slot, into);
  }

  // Makes every waiter of this rank look at its `stop` again.
  virtual void wake() = 0;
};

}  // namespace bp
