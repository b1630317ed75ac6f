#include "launcher/hosts/hostfile.h"

#include <sstream>
#include <utility>

#include "bp/error.h"
#include "comm/base/text.h"

namespace bp::launcher {
namespace {

std::vector<int> parse_gpus(const std::string& text, const std::string& where) {
  std::vector<int> gpus;
  std::istringstream list(text);
  std::string number;
  while (std::getline(list, number, ',')) {
    gpus.push_back(parse_number(number, "each of gpus=", 0, 1023, where));
  }
  if (text.empty() || text.back() == ',') {
    throw Error(ErrorCode::invalid_argument, concat(where, ": gpus= wants numbers, as gpus=0,2"));
  }
  return gpus;
}

void set_field(Host& host,
               const std::string& key,
               const std::string& value,
               const std::string& where) {
  if (key == "slots") {
    host.slots = parse_number(value, "slots", 1, kMaxSlots, where);
  } else if (key == "max_slots") {
    host.max_slots = parse_number(value, "max_slots", 1, kMaxSlots, where);
  } else if (key == "gpus") {
    host.gpus = parse_gpus(value, where);
  } else if (key == "iface") {
    host.interface = value;
  } else if (key == "port") {
    host.port = parse_number(value, "port", 1, 65535, where);
  } else if (key == "user") {
    check_host_name(value, where);
    host.user = value;
  } else {
    throw Error(ErrorCode::invalid_argument,
                concat(where, ": '", key,
                       "' is not known here; slots, max_slots, gpus, iface, port and user are"));
  }
}

Host parse_line(std::istringstream& words, std::string name, const std::string& where) {
  Host host;
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') {
    name = name.substr(1, name.size() - 2);
  }
  check_host_name(name, where);
  host.name = std::move(name);
  std::string word;
  while (words >> word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals + 1 == word.size()) {
      throw Error(ErrorCode::invalid_argument, concat(where, ": '", word, "' is not key=value"));
    }
    set_field(host, word.substr(0, equals), word.substr(equals + 1), where);
  }
  if (host.max_slots && *host.max_slots < host.capacity()) {
    throw Error(ErrorCode::invalid_argument, concat(where, ": max_slots=", *host.max_slots,
                                                    " is less than its slots, ", host.capacity()));
  }
  return host;
}

}  // namespace

Hosts parse_hostfile(std::string_view text, const std::string& name) {
  Hosts hosts;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string where = concat(name, ":", number);
    std::istringstream words(line.substr(0, line.find('#')));
    std::string first;
    if (words >> first) {
      add_host(hosts, parse_line(words, first, where), where);
    }
  }
  if (hosts.empty()) {
    throw Error(ErrorCode::invalid_argument, concat(name, ": names no host"));
  }
  return hosts;
}

}  // namespace bp::launcher
