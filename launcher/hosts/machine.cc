#include "launcher/hosts/machine.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "bp/error.h"
#include "comm/base/fd.h"
#include "comm/base/name_service.h"
#include "comm/base/text.h"

namespace bp::launcher {
namespace {

constexpr std::chrono::seconds kNameService{5};  // to answer for a host that ssh has found

struct InterfaceAddress {
  std::string interface;
  std::string address;
};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// The numeric form; empty for anything but IPv4 and IPv6.
std::string numeric(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address != nullptr && address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    ::inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
  } else if (address != nullptr && address->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
    ::inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
  }
  return text.data();
}

std::vector<InterfaceAddress> interface_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    return {};
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &::freeifaddrs);
  std::vector<InterfaceAddress> found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (std::string address = numeric(entry->ifa_addr); !address.empty()) {
      found.push_back({entry->ifa_name, std::move(address)});
    }
  }
  return found;
}

// An address as bytes: 4 or 16; nothing where the text is none.
std::optional<std::vector<unsigned char>> address_bytes(const std::string& text) {
  for (const auto& [family, size] : {std::pair{AF_INET, 4}, std::pair{AF_INET6, 16}}) {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(size));
    if (::inet_pton(family, text.c_str(), bytes.data()) == 1) {
      return bytes;
    }
  }
  return std::nullopt;
}

bool in_network(const std::string& address, const std::string& network) {
  const std::size_t slash = network.find('/');
  const auto base = address_bytes(network.substr(0, slash));
  const auto bytes = address_bytes(address);
  if (slash == std::string::npos || !base || !bytes || base->size() != bytes->size()) {
    return false;
  }
  std::size_t bits = 0;
  const char* end = network.data() + network.size();
  if (std::from_chars(network.data() + slash + 1, end, bits).ptr != end ||
      bits > base->size() * 8) {
    return false;
  }
  for (std::size_t bit = 0; bit < bits; ++bit) {
    if ((((*base)[bit / 8] ^ (*bytes)[bit / 8]) & (0x80U >> (bit % 8))) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

Machine Machine::own() {
  Machine machine;
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0') {
    const std::string full = lower_case(name.data());
    machine.names = {full, full.substr(0, full.find('.'))};
  }
  for (const InterfaceAddress& entry : interface_addresses()) {
    machine.addresses.insert(entry.address);
  }
  return machine;
}

bool Machine::is(const std::string& host) const {
  if (is_loopback(host) || names.contains(lower_case(host))) {
    return true;
  }
  // Through bytes, because one IPv6 address has many spellings; without "%eth0", because a
  // link-local one of ours is ours on whatever interface.
  const auto bytes = address_bytes(host.substr(0, host.find('%')));
  return bytes && std::any_of(addresses.begin(), addresses.end(),
                              [&](const std::string& own) { return address_bytes(own) == bytes; });
}

bool is_loopback(const std::string& host) {
  return lower_case(host) == "localhost" || in_network(host, "127.0.0.0/8") ||
         in_network(host, "::1/128");
}

std::string interface_address(const std::string& interface) {
  std::string there;
  for (const InterfaceAddress& entry : interface_addresses()) {
    if (entry.interface == interface || entry.address == interface ||
        in_network(entry.address, interface)) {
      return entry.address;
    }
    there += concat(there.empty() ? "" : ", ", entry.interface, " ", entry.address);
  }
  throw Error(ErrorCode::invalid_argument,
              concat("--interface ", interface,
                     ": this machine has none of that name, address or network; it has ", there));
}

std::string address_towards(const std::string& host) {
  std::string why;
  const Addresses list = resolve({host, "9", SOCK_DGRAM}, Deadline(kNameService), why);
  if (!list) {
    return "";
  }
  // Connecting a datagram socket asks the routing table and sends nothing.
  const Fd socket(::socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  auto* generic = reinterpret_cast<sockaddr*>(&own);
  if (!socket || ::connect(socket.get(), list->ai_addr, list->ai_addrlen) != 0 ||
      ::getsockname(socket.get(), generic, &size) != 0) {
    return "";
  }
  return numeric(generic);
}

}  // namespace bp::launcher
