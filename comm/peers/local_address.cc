#include "comm/peers/local_address.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <set>

#include "base/system/fd.h"
#include "base/system/name_service.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

std::set<std::string> interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  std::set<std::string> names;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    names.insert(entry->ifa_name);
  }
  return names;
}

std::string numeric(const sockaddr* address, socklen_t length) {
  char text[NI_MAXHOST] = {};
  const int error = ::getnameinfo(address, length, text, sizeof(text), nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? text : "";
}

// Connecting a datagram socket sends nothing. It only makes the kernel choose the route.
std::string address_towards(const addrinfo& target) {
  const Fd socket(::socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own = {};
  socklen_t length = sizeof(own);
  auto* const own_address = reinterpret_cast<sockaddr*>(&own);
  if (!socket || ::connect(socket.get(), target.ai_addr, target.ai_addrlen) != 0 ||
      ::getsockname(socket.get(), own_address, &length) != 0) {
    return "";
  }
  return numeric(own_address, length);
}

}  // namespace

ListenOn listen_on(const std::string& wanted, const StoreAddress& store, const Deadline& deadline) {
  std::string why;
  if (!wanted.empty()) {
    const std::set<std::string> known = interfaces();
    if (known.contains(wanted)) return {.interface = wanted};
    if (const Addresses found =
            resolve({.host = wanted, .port = "0", .socket_type = SOCK_DGRAM}, deadline, why)) {
      return {.address = numeric(found->ai_addr, found->ai_addrlen)};
    }
    std::string text = concat("there is no network interface '", wanted,
                              "', and it is not an address (", why, "); the interfaces are:");
    for (const std::string& name : known) text += concat(" ", name);
    throw Error(ErrorCode::invalid_argument, text);
  }
  const Addresses targets = resolve(
      {.host = store.host, .port = concat(store.port), .socket_type = SOCK_DGRAM}, deadline, why);
  for (const addrinfo* target = targets.get(); target != nullptr; target = target->ai_next) {
    if (std::string found = address_towards(*target); !found.empty()) {
      return {.address = std::move(found)};
    }
    why = error_text(errno);
  }
  throw Error(ErrorCode::io, concat("no address of this machine reaches the store at ",
                                    store.text(), " (", why, "); name an interface"));
}

}  // namespace bp
