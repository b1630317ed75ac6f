#include "launcher/hosts/host.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "bp/error.h"
#include "comm/base/text.h"

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
  const bool good = !name.empty() && name.front() != '-' &&
                    std::all_of(name.begin(), name.end(), is_name_character);
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
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end || value < least || value > most) {
    throw Error(ErrorCode::invalid_argument, concat(where, ": ", what, " must be a number from ",
                                                    least, " to ", most, ", not '", text, "'"));
  }
  return value;
}

void add_host(Hosts& hosts, Host host, const std::string& where) {
  const auto same = [&host](const Host& other) { return other.name == host.name; };
  if (std::any_of(hosts.begin(), hosts.end(), same)) {
    throw Error(
        ErrorCode::invalid_argument,
        concat(where, ": host ", host.name, " stands there twice; give all its slots at once"));
  }
  hosts.push_back(std::move(host));
}

}  // namespace bp::launcher
