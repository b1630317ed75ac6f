// The server's end of one client's connection. It receives and sends frames, and has the client
// prove that it belongs to the job.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include "comm/store/handshake.h"
#include "comm/store/seal.h"
#include "comm/store/send_queue.h"
#include "comm/store/store_wire.h"

namespace bp {

// Threads: only the thread that runs the executor of `socket`. No function blocks.
class StoreConnection : public std::enable_shared_from_this<StoreConnection> {
 public:
  using Id = std::uint64_t;

  // The owner of the connections. The event loop calls it, never from within send() or close(), and
  // never after close().
  class Owner {
   public:
    virtual ~Owner() = default;
    // The client has proved the key. Returns why it may not join, or nothing if it may.
    virtual std::optional<StoreRefusal> admit(const StoreConnection& connection) = 0;
    // The client was admitted. From now on send() works.
    virtual void joined(StoreConnection& connection) = 0;
    virtual void received(StoreConnection& connection, StoreMessage message) = 0;
    // The connection has ended. This is the last call; joined() came before it if admitted().
    virtual void lost(StoreConnection& connection, const std::string& why) = 0;
  };

  struct Settings {
    std::string job;
    JobKey key{};
    std::chrono::milliseconds handshake_timeout{};
    std::chrono::milliseconds silence{};  // a network outage of this length breaks no connection
  };

  // `owner` and `settings` must outlive the event loop.
  StoreConnection(Id id, asio::ip::tcp::socket socket, const Settings& settings, Owner& owner);

  void start();
  // Queues a message, whose last string is `value` unless that is null. While kMaxUnsent bytes wait
  // to be sent, the client's requests wait too. Other clients and the owner can still cause
  // messages to it; once those take more than kMaxHeld bytes of memory, the connection ends.
  void send(StoreMessage message, SharedValue value = {});
  // Reads no more, and closes the connection once all queued messages are written.
  void close();

  [[nodiscard]] Id id() const { return id_; }
  [[nodiscard]] int rank() const { return handshake_.rank(); }
  [[nodiscard]] bool admitted() const { return admitted_; }
  // Returns whether anything has arrived since the last call.
  [[nodiscard]] bool take_heard() { return std::exchange(heard_, false); }

  static constexpr std::size_t kMaxUnsent = std::size_t{1} << 20;
  static constexpr std::size_t kMaxHeld = std::size_t{64} << 20;

 private:
  enum class State : std::uint8_t { greeting, proving, admitted, closing, closed };

  void read();
  // Handles the frames that have arrived, for at most kTurn, and schedules the rest or the next
  // read.
  void take_frames();
  void make_room(std::size_t next_frame);
  void take_frame(const FrameView& frame);
  void take_hello(std::string_view body);
  void take_proof(std::string_view body);
  void take_message(const FrameView& frame);
  void end(const std::string& why);  // closes at once and calls Owner::lost()
  void refuse(StoreRefusal reason);  // sends the refusal, calls Owner::lost() and closes
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

  // The first in_used_ bytes have arrived; the first in_taken_ of these have been handled.
  std::string in_;
  std::size_t in_used_ = 0;
  std::size_t in_taken_ = 0;
  StoreSendQueue out_;
  bool writes_ = false;     // a call of write() or written() is scheduled
  bool paused_ = false;     // written() calls take_frames() once the client has read
  bool overflows_ = false;  // more than kMaxHeld bytes wait; end() is scheduled
};

}  // namespace bp
