#include "comm/rendezvous/own_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include <memory>

#include "base/text.h"
#include "bp/error.h"
#include "comm/peers/local_address.h"

namespace bp {
namespace {

// Returns whether other hosts can use the address: it is neither loopback nor link-local.
bool is_for_others(const std::string& address) {
  return !address.empty() && !address.starts_with("127.") && address != "::1" &&
         !address.starts_with("fe80:");
}

// Returns the first address of the interface `name`. If `name` is empty, returns the first address
// of any interface that other hosts can use. IPv4 comes before IPv6. Returns "" if there is none.
std::string address_of_interface(const std::string& name) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family ||
          (entry->ifa_flags & IFF_UP) == 0 || (!name.empty() && name != entry->ifa_name)) {
        continue;
      }
      char text[NI_MAXHOST] = {};
      const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
      if (::getnameinfo(entry->ifa_addr, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) ==
              0 &&
          (is_for_others(text) || !name.empty())) {
        return text;
      }
    }
  }
  return "";
}

}  // namespace

std::string own_address(const std::string& wanted,
                        const std::string& towards,
                        const Deadline& deadline) {
  std::string found;
  if (!wanted.empty()) {
    const ListenOn listen = listen_on(wanted, {}, deadline);
    found = listen.address.empty() ? address_of_interface(listen.interface) : listen.address;
  } else {
    if (!towards.empty()) found = listen_on("", {.host = towards, .port = 9}, deadline).address;
    if (!is_for_others(found)) found = address_of_interface("");
  }
  if (found.empty()) {
    throw Error(ErrorCode::io,
                concat("no network interface", wanted.empty() ? "" : " " + wanted,
                       " has an address that other hosts could reach; set BP_INTERFACE to the "
                       "name of one that has, or to an address"));
  }
  return found;
}

}  // namespace bp
