#include "launcher/hosts/machine.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/system/name_service.h"
#include "base/system/socket_address.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/hosts/address.h"

namespace bp::launcher {
namespace {

// the limit for resolving a host that ssh has already reached
constexpr std::chrono::seconds kNameService{5};

}  // namespace

Machine Machine::own() {
  Machine machine;
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0') {
    const std::string full = lower_case(name.data());
    machine.names = {full, full.substr(0, full.find('.'))};
  }
  for (const InterfaceAddress& entry : own_addresses()) {
    machine.addresses.insert(entry.address);
  }
  return machine;
}

bool Machine::is(const std::string& host) const {
  if (is_loopback(host) || names.contains(lower_case(host))) {
    return true;
  }
  // Compares bytes, because one IPv6 address has many spellings, and ignores "%eth0", because a
  // link-local address of this machine belongs to it on every interface.
  const auto bytes = address_bytes(host.substr(0, host.find('%')));
  return bytes && std::any_of(addresses.begin(), addresses.end(),
                              [&](const std::string& own) { return address_bytes(own) == bytes; });
}

bool is_loopback(const std::string& host) {
  return lower_case(host) == "localhost" || in_network(host, "127.0.0.0/8") ||
         in_network(host, "::1/128");
}

std::string interface_address(const std::string& interface) {
  const auto own = own_addresses();
  const auto found = std::ranges::find_if(
      own, [&](const InterfaceAddress& entry) { return matches(entry, interface); });
  if (found == own.end()) {
    throw Error(ErrorCode::invalid_argument,
                concat("--interface ", interface,
                       ": this machine has no interface of that name, address or "
                       "network; it has ",
                       list_text(own)));
  }
  return found->address;
}

std::string address_towards(const std::string& host) {
  std::string why;
  const Addresses list =
      resolve({.host = host, .port = "9", .socket_type = SOCK_DGRAM}, Deadline(kNameService), why);
  if (!list) {
    return "";
  }
  const std::string own = source_address({list->ai_addr, list->ai_addrlen}).host();
  return own.substr(0, own.find('%'));
}

}  // namespace bp::launcher
