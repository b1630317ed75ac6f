#include "comm/peers/local_address.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <set>

#include "base/system/name_service.h"
#include "base/system/socket_address.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp {
ListenOn listen_on(const std::string& wanted, const StoreAddress& store, const Deadline& deadline) {
  std::string why;
  if (!wanted.empty()) {
    std::set<std::string> known;
    for (const InterfaceEntry& entry : interface_entries()) known.insert(entry.name);
    if (known.contains(wanted)) return {.interface = wanted};
    if (const Addresses found =
            resolve({.host = wanted, .port = "0", .socket_type = SOCK_DGRAM}, deadline, why)) {
      return {.address = SocketAddress(found->ai_addr, found->ai_addrlen).host()};
    }
    std::string text = concat("there is no network interface '", wanted,
                              "', and it is not an address (", why, "); the interfaces are:");
    for (const std::string& name : known) text += concat(" ", name);
    throw Error(ErrorCode::invalid_argument, text);
  }
  const Addresses targets = resolve(
      {.host = store.host, .port = concat(store.port), .socket_type = SOCK_DGRAM}, deadline, why);
  for (const addrinfo* target = targets.get(); target != nullptr; target = target->ai_next) {
    if (const auto found = source_address({target->ai_addr, target->ai_addrlen})) {
      return {.address = found.host()};
    }
    why = error_text(errno);
  }
  throw Error(ErrorCode::io, concat("no address of this machine reaches the store at ",
                                    store.text(), " (", why, "); name an interface"));
}

}  // namespace bp
