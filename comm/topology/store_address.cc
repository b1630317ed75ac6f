#include "comm/topology/store_address.h"

#include <cstdint>
#include <limits>

#include "base/number.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp {

std::string StoreAddress::text() const {
  const bool v6 = host.find(':') != std::string::npos;
  return v6 ? concat("[", host, "]:", port) : concat(host, ":", port);
}

StoreAddress parse_store_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  StoreAddress address;
  if (colon != std::string::npos) {
    address.port = number_in<int>(text.substr(colon + 1)).value_or(0);
    address.host = text.substr(0, colon);
    if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']') {
      address.host = address.host.substr(1, address.host.size() - 2);
    } else if (address.host.find(':') != std::string::npos) {
      address.host.clear();
    }
    if (address.host.find_first_of("[]") != std::string::npos) {
      address.host.clear();
    }
  }
  if (address.host.empty() || address.port < 1 ||
      address.port > std::numeric_limits<std::uint16_t>::max()) {
    throw Error(ErrorCode::invalid_argument, "is not host:port or [IPv6 address]:port");
  }
  return address;
}

}  // namespace bp
