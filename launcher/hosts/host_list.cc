#include "launcher/hosts/host_list.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "bp/error.h"
#include "comm/base/text.h"

namespace bp::launcher {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Where the name ends and ":slots" may begin.
std::size_t name_length(const std::string& entry, const std::string& where) {
  if (entry.front() == '[') {
    const std::size_t bracket = entry.find(']');
    if (bracket == std::string::npos) {
      throw Error(ErrorCode::invalid_argument,
                  concat(where, ": the bracket is not closed in '", entry, "'"));
    }
    return bracket + 1;
  }
  if (std::count(entry.begin(), entry.end(), ':') > 1) {
    throw Error(ErrorCode::invalid_argument,
                concat(where, ": write an IPv6 address in brackets, as [", entry, "]:1"));
  }
  return std::min(entry.find(':'), entry.size());
}

Host parse_entry(const std::string& entry, const std::string& where) {
  if (entry.empty()) {
    throw Error(ErrorCode::invalid_argument,
                concat(where, ": an entry between the commas is empty"));
  }
  const std::size_t length = name_length(entry, where);
  Host host;
  host.name = entry.front() == '[' ? entry.substr(1, length - 2) : entry.substr(0, length);
  check_host_name(host.name, where);
  if (length < entry.size()) {
    if (entry[length] != ':') {
      throw Error(ErrorCode::invalid_argument, concat(where, ": '", entry, "' is not host:slots"));
    }
    host.slots = parse_number(entry.substr(length + 1), concat("the slots of ", host.name), 1,
                              kMaxSlots, where);
  }
  return host;
}

}  // namespace

Hosts parse_host_list(const std::string& text) {
  const std::string where = "-H";
  Hosts hosts;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    add_host(hosts, parse_entry(std::string(trimmed(rest.substr(0, comma))), where), where);
    if (comma == std::string_view::npos) {
      return hosts;
    }
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace bp::launcher
