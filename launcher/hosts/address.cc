#include "launcher/hosts/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/number.h"
#include "base/system/socket_address.h"
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

std::optional<std::vector<unsigned char>> address_bytes(const std::string& text) {
  for (const auto& [family, size] : {std::pair{AF_INET, 4}, std::pair{AF_INET6, 16}}) {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(size));
    if (::inet_pton(family, text.c_str(), bytes.data()) == 1) {
      return bytes;
    }
  }
  return std::nullopt;
}

std::vector<InterfaceAddress> own_addresses() {
  std::vector<InterfaceAddress> found;
  for (const InterfaceEntry& entry : interface_entries()) {
    if (!entry.address) continue;
    const std::string address = entry.address.host();
    found.push_back({.interface = entry.name, .address = address.substr(0, address.find('%'))});
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
  if (!read_number(network.substr(slash + 1), bits) || bits > base->size() * 8) {
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
