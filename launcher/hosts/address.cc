#include "launcher/hosts/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include "base/text.h"

namespace bp::launcher {
namespace {

// These networks reach only one host or one link.
constexpr std::array kNotRoutable{"127.0.0.0/8", "169.254.0.0/16", "::1/128", "fe80::/10"};

bool is_routable(const std::string& address) {
  return !address.empty() && std::ranges::none_of(kNotRoutable, [&](const char* network) {
    return in_network(address, network);
  });
}

}  // namespace

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

std::optional<std::vector<unsigned char>> address_bytes(const std::string& text) {
  for (const auto& [family, size] : {std::pair{AF_INET, 4}, std::pair{AF_INET6, 16}}) {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(size));
    if (::inet_pton(family, text.c_str(), bytes.data()) == 1) {
      return bytes;
    }
  }
  return std::nullopt;
}

socklen_t socket_address(const std::string& text, int port, sockaddr_storage& into) {
  const auto bytes = address_bytes(text);
  const auto network_port = htons(static_cast<std::uint16_t>(port));
  if (bytes && bytes->size() == 4) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(into);
    v4.sin_family = AF_INET;
    v4.sin_port = network_port;
    std::memcpy(&v4.sin_addr, bytes->data(), 4);
    return sizeof v4;
  }
  if (bytes) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(into);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = network_port;
    std::memcpy(&v6.sin6_addr, bytes->data(), 16);
    return sizeof v6;
  }
  return 0;
}

std::vector<InterfaceAddress> own_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    return {};
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &::freeifaddrs);
  std::vector<InterfaceAddress> found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (std::string address = numeric(entry->ifa_addr); !address.empty()) {
      found.push_back({.interface = entry->ifa_name, .address = std::move(address)});
    }
  }
  return found;
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
  const auto [stop, error] = std::from_chars(network.data() + slash + 1, end, bits);
  if (error != std::errc{} || stop != end || bits > base->size() * 8) {
    return false;
  }
  for (std::size_t bit = 0; bit < bits; ++bit) {
    if ((((*base)[bit / 8] ^ (*bytes)[bit / 8]) & (0x80U >> (bit % 8))) != 0) {
      return false;
    }
  }
  return true;
}

bool matches(const InterfaceAddress& own, const std::string& wanted) {
  return own.interface == wanted || own.address == wanted || in_network(own.address, wanted);
}

std::vector<InterfaceAddress> candidates(const std::vector<InterfaceAddress>& all,
                                         const std::string& seen,
                                         const std::string& wanted) {
  std::vector<InterfaceAddress> found;
  const auto add = [&](const InterfaceAddress& entry) {
    const bool listed =
        std::ranges::find(found, entry.address, &InterfaceAddress::address) != found.end();
    if (!listed && is_routable(entry.address) && (wanted.empty() || matches(entry, wanted))) {
      found.push_back(entry);
    }
  };
  const auto known = std::ranges::find(all, seen, &InterfaceAddress::address);
  add(known == all.end() ? InterfaceAddress{.interface = "as ssh sees it", .address = seen}
                         : *known);
  for (const bool v6 : {false, true}) {
    for (const InterfaceAddress& entry : all) {
      if ((entry.address.find(':') != std::string::npos) == v6) {
        add(entry);
      }
    }
  }
  return found;
}

std::string list_text(const std::vector<InterfaceAddress>& addresses) {
  std::string text;
  for (const InterfaceAddress& entry : addresses) {
    text += concat(text.empty() ? "" : ", ", entry.interface, " ", entry.address);
  }
  return text.empty() ? "none" : text;
}

}  // namespace bp::launcher
