#include "base/refusals.h"

#include <netdb.h>
#include <sys/socket.h>

#include "base/text.h"
#include "bp/log.h"

namespace bp {

void Refusals::add(const std::string& from, const std::string& why) {
  ++count_;
  last_ = concat(from, ": ", why);
}

std::string Refusals::text() const {
  return concat("refused ", count_, count_ == 1 ? " connection" : " connections",
                " that did not prove the job's key (", count_ == 1 ? "from " : "the last from ",
                last_, ")");
}

void Refusals::log_as(const std::string& name) {
  if (count_ == logged_) return;
  logged_ = count_;
  log(LogLevel::warn, concat(name, " ", text()));
}

std::string peer_name_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::getpeername(socket, generic, &size) != 0) return "a peer that has disconnected";
  if (address.ss_family == AF_UNIX) return "this machine";
  char host[NI_MAXHOST] = {};
  if (::getnameinfo(generic, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) {
    return "an unknown address";
  }
  constexpr std::string_view kMapped = "::ffff:";
  const std::string text = host;
  return text.starts_with(kMapped) ? text.substr(kMapped.size()) : text;
}

}  // namespace bp
