// Connections that a listener refused, for one line in the log however many there were.
#pragma once

#include <cstdint>
#include <string>

namespace bp {

class Refusals {
 public:
  // `why`: what the peer did, "it said nothing".
  void add(const std::string& from, const std::string& why);
  // Logs a warning, "WHO refused N connections ...", if any came since the last call.
  void log_as(const std::string& who);

  [[nodiscard]] std::int64_t count() const { return count_; }
  // "refused N connections that did not prove the job's key (the last from 10.0.0.7: it ...)"
  [[nodiscard]] std::string text() const;

 private:
  std::int64_t count_ = 0;
  std::int64_t logged_ = 0;
  std::string last_;
};

// The numeric address of a socket's other end, "10.0.0.7" (IPv4 as IPv4 on any socket), or "this
// machine" for a Unix socket.
[[nodiscard]] std::string peer_name_of(int socket);

}  // namespace bp
