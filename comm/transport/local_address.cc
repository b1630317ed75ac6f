#include "comm/transport/local_address.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <set>

#include "bp/error.h"
#include "comm/base/fd.h"
#include "comm/base/text.h"

namespace bp {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// Null where the name has no address.
AddressList resolve(const std::string& host, const std::string& port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) found = nullptr;
  return {found, &::freeaddrinfo};
}

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

// Connecting a datagram socket sends nothing; it only picks the route.
std::string address_towards(const addrinfo& target) {
  const Fd socket(::socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own = {};
  socklen_t length = sizeof(own);
  auto* const own_address = reinterpret_cast<sockaddr*>(&own);
  char text[NI_MAXHOST] = {};
  if (!socket || ::connect(socket.get(), target.ai_addr, target.ai_addrlen) != 0 ||
      ::getsockname(socket.get(), own_address, &length) != 0 ||
      ::getnameinfo(own_address, length, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0) {
    return "";
  }
  return text;
}

}  // namespace

ListenOn listen_on(const std::string& wanted, const StoreAddress& store) {
  if (!wanted.empty()) {
    const std::set<std::string> known = interfaces();
    if (known.contains(wanted)) return {wanted, ""};
    if (resolve(wanted, "")) return {"", wanted};
    std::string text = concat("there is no network interface '", wanted,
                              "', nor is that an address; the interfaces are:");
    for (const std::string& name : known) text += concat(" ", name);
    throw Error(ErrorCode::invalid_argument, text);
  }
  const AddressList targets = resolve(store.host, concat(store.port));
  for (const addrinfo* target = targets.get(); target != nullptr; target = target->ai_next) {
    if (std::string found = address_towards(*target); !found.empty()) return {"", std::move(found)};
  }
  throw Error(ErrorCode::io, concat("no address of this machine reaches the store at ",
                                    store.text(), " (", error_text(errno), "); name an interface"));
}

}  // namespace bp
