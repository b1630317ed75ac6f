// One client's connection, as the server sees it: frames in, frames out, and the proof that the
// client belongs to the job.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include "comm/store/handshake.h"
#include "comm/store/seal.h"
#include "comm/store/send_queue.h"
#include "comm/store/wire.h"

namespace bp {

// Threads: everything happens on the thread that runs the executor of `socket`. Nothing here
// blocks.
class StoreConnection : public std::enable_shared_from_this<StoreConnection> {
 public:
  using Id = std::uint64_t;

  // Whoever has the connections. Calls come from the event loop, never from inside a call of
  // send() or close(), and none after close().
  class Owner {
   public:
    virtual ~Owner() = default;
    // The client knows the key. Says why it may not join, if so.
    virtual std::optional<StoreRefusal> admit(const StoreConnection& connection) = 0;
    // It was admitted; messages to it can be sent from now on.
    virtual void joined(StoreConnection& connection) = 0;
    virtual void received(StoreConnection& connection, StoreMessage message) = 0;
    // The last call; admitted() says whether joined() came before it.
    virtual void lost(StoreConnection& connection, const std::string& why) = 0;
  };

  struct Settings {
    std::string job;
    JobKey key{};
    std::chrono::milliseconds handshake_timeout{};
    std::chrono::milliseconds silence{};  // that a network may cause without breaking it
  };

  // `owner` and `settings` must outlive the event loop.
  StoreConnection(Id id, asio::ip::tcp::socket socket, const Settings& settings, Owner& owner);

  void start();
  // Queues a message, whose last string is `value` where there is one. While kMaxUnsent bytes wait
  // for the client, its requests wait as well. What others do can still make messages for it: it is
  // lost once all that waits takes more than kMaxHeld bytes of memory.
  void send(StoreMessage message, SharedValue value = {});
  // Closes once what is queued is written; nothing more is read.
  void close();

  [[nodiscard]] Id id() const { return id_; }
  [[nodiscard]] int rank() const { return handshake_.rank(); }
  [[nodiscard]] bool admitted() const { return admitted_; }
  // Whether anything at all has come since the last call.
  [[nodiscard]] bool take_heard() { return std::exchange(heard_, false); }

  static constexpr std::size_t kMaxUnsent = std::size_t{1} << 20;
  static constexpr std::size_t kMaxHeld = std::size_t{64} << 20;

 private:
  enum class State : std::uint8_t { greeting, proving, admitted, closing, closed };

  void read();
  // Takes what has arrived, for one turn, and then sees to it that the rest is taken or read.
  void take_frames();
  void make_room(std::size_t next_frame);
  void take_frame(const FrameView& frame);
  void take_hello(std::string_view body);
  void take_proof(std::string_view body);
  void take_message(const FrameView& frame);
  void end(const std::string& why);  // tells the owner
  void refuse(StoreRefusal reason);  // closes without telling the owner
  void end_for_unread_messages();
  void start_writing();
  void write();
  void written(asio::error_code error);
  void close_now();

  const Id id_;
  asio::ip::tcp::socket socket_;
  asio::steady_timer handshake_timer_;
  const Settings& settings_;
  Owner& owner_;

  State state_ = State::greeting;
  bool admitted_ = false;
  bool heard_ = false;
  ServerHandshake handshake_;
  std::optional<FrameSeal> incoming_;
  std::optional<FrameSeal> outgoing_;

  std::string in_;  // its first in_used_ bytes have arrived, the first in_taken_ of them are taken
  std::size_t in_used_ = 0;
  std::size_t in_taken_ = 0;
  StoreSendQueue out_;
  bool writes_ = false;  // write() or written() comes
  bool paused_ = false;  // written() calls take_frames() once the client has read
  bool overflows_ = false;
};

}  // namespace bp
