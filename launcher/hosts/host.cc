#include "launcher/hosts/host.h"

#include <algorithm>
#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_' || c == ':' || c == '%' || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

int Host::capacity() const {
  if (slots) {
    return *slots;
  }
  return gpus && !gpus->empty() ? static_cast<int>(gpus->size()) : 1;
}

void check_host_name(const std::string& name, const std::string& where) {
  // A single colon cannot be part of an IPv6 address: "a:3" is a host with slots, but only a name
  // is allowed here.
  const bool good = !name.empty() && name.front() != '-' &&
                    std::all_of(name.begin(), name.end(), is_name_character) &&
                    std::count(name.begin(), name.end(), ':') != 1;
  if (!good) {
    throw Error(ErrorCode::invalid_argument,
                concat(where, ": '", name, "' is not a host name or address"));
  }
}

int parse_number(const std::string& text,
                 const std::string& what,
                 int least,
                 int most,
                 const std::string& where) {
  int value = 0;
  if (!read_number(text, value) || value < least || value > most) {
    throw Error(ErrorCode::invalid_argument, concat(where, ": ", what, " must be a number from ",
                                                    least, " to ", most, ", not '", text, "'"));
  }
  return value;
}

void HostCollector::add(Host host, const std::string& where) {
  if (!names_.insert(host.name).second) {
    throw Error(ErrorCode::invalid_argument,
                concat(where, ": host ", host.name, " is named twice; give all its slots at once"));
  }
  if (hosts_.size() == kMostHosts) {
    throw Error(ErrorCode::invalid_argument, concat(where, ": more than ", kMostHosts, " hosts"));
  }
  hosts_.push_back(std::move(host));
}

}  // namespace bp::launcher
