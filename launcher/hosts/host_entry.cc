#include "launcher/hosts/host_entry.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "base/number.h"
#include "base/refuse.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/hosts/nodelist.h"

namespace bp::launcher {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

constexpr int kMostGpu = 1023;

// Splits at the colons that are not inside brackets.
std::vector<std::string> parts_of(const std::string& entry) {
  std::vector<std::string> parts(1);
  bool inside = false;
  for (const char c : entry) {
    if (c == '[' || c == ']') inside = c == '[';
    if (c == ':' && !inside) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool is_ipv6(const std::string& text) {
  in6_addr address = {};
  return ::inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), &address) == 1;
}

std::vector<int> parse_gpus(std::string text, const std::string& where) {
  if (text.size() > 1 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
  }
  std::vector<int> gpus;
  for (const std::string& range : split_entries(text, where)) {
    const std::size_t dash = range.find('-');
    const std::string last = dash == std::string::npos ? range : range.substr(dash + 1);
    const int begin = parse_number(range.substr(0, dash), "each of gpus", 0, kMostGpu, where);
    const int end = parse_number(last, "each of gpus", begin, kMostGpu, where);
    for (int gpu = begin; gpu <= end; ++gpu) {
      if (std::find(gpus.begin(), gpus.end(), gpu) != gpus.end()) {
        refuse(where, concat("gpus names ", gpu, " twice"));
      }
      gpus.push_back(gpu);
    }
  }
  return gpus;
}

double parse_weight(const std::string& text, const std::string& where) {
  const double weight = number_in<double>(text).value_or(0);
  if (weight >= 0.001 && weight <= 1000) return weight;
  refuse(where, concat("weight must be a number from 0.001 to 1000, not '", text,
                       "'; 0.5 is for ranks that take half the work of others"));
}

[[noreturn]] void refuse_field(const std::string& key, const std::string& where) {
  const std::string nearest =
      nearest_name(key, {"slots", "max_slots", "gpus", "iface", "port", "user", "weight"});
  refuse(where, concat("'", key, "' is not known here; ",
                       nearest.empty() ? "slots, max_slots, gpus, iface, port, user and weight are"
                                       : concat("did you mean ", nearest, "?")));
}

bool has_field(const Host& host, const std::string& key) {
  return (key == "slots" && host.slots) || (key == "max_slots" && host.max_slots) ||
         (key == "gpus" && host.gpus) || (key == "iface" && !host.interface.empty()) ||
         (key == "port" && host.port) || (key == "user" && !host.user.empty()) ||
         (key == "weight" && host.weight);
}

}  // namespace

void set_host_field(Host& host,
                    const std::string& key,
                    const std::string& value,
                    const std::string& where) {
  if (has_field(host, key)) {
    refuse(where, concat(key, " is given twice for host ", host.name, "; leave one"));
  }
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
  } else if (key == "weight") {
    host.weight = parse_weight(value, where);
  } else {
    refuse_field(key, where);
  }
}

void set_host_field(Host& host, const std::string& word, const std::string& where) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals + 1 == word.size()) {
    refuse(where, concat("'", word, "' is not key=value"));
  }
  set_host_field(host, word.substr(0, equals), word.substr(equals + 1), where);
}

void check_slots(const Host& host, const std::string& where) {
  if (host.max_slots && *host.max_slots < host.capacity()) {
    refuse(where,
           concat("max_slots=", *host.max_slots, " is less than its slots, ", host.capacity()));
  }
}

Hosts parse_host_name(const std::string& text, const std::string& where) {
  const std::size_t at = text.find('@');
  Host common;
  if (at != std::string::npos) {
    common.user = text.substr(0, at);
    check_host_name(common.user, where);
  }
  const std::string name = at == std::string::npos ? text : text.substr(at + 1);
  const bool ipv6 = name.size() > 2 && name.front() == '[' && name.find(':') != std::string::npos;
  if (ipv6 && name.find(']') + 1 != name.size()) {
    refuse(where, concat("'", name, "' is not an address in brackets"));
  }
  Hosts hosts;
  for (std::string& each :
       ipv6 ? std::vector{name.substr(1, name.size() - 2)} : expand_ranges(name, where)) {
    check_host_name(each, where);
    hosts.push_back(common);
    hosts.back().name = std::move(each);
  }
  return hosts;
}

Hosts parse_host_entry(const std::string& text, const std::string& where) {
  const auto parts = parts_of(text);
  if (is_ipv6(text)) {
    refuse(where, concat("write an IPv6 address in brackets, as [", text, "]:1"));
  }
  Hosts hosts = parse_host_name(parts.front(), where);
  for (Host& host : hosts) {
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (i > 1 || parts[i].find('=') != std::string::npos) {
        set_host_field(host, parts[i], where);
      } else {
        host.slots =
            parse_number(parts[i], concat("the slots of ", host.name), 1, kMaxSlots, where);
      }
    }
    check_slots(host, where);
  }
  return hosts;
}

Hosts parse_host_list(const std::string& text) {
  const std::string where = "-H";
  HostCollector hosts;
  for (const std::string& entry : split_entries(text, where)) {
    const std::string word = trimmed(entry);
    if (word.empty()) {
      throw Error(ErrorCode::invalid_argument,
                  concat(where, ": an entry between the commas is empty"));
    }
    for (Host& host : parse_host_entry(word, where)) hosts.add(std::move(host), where);
  }
  return hosts.take();
}

}  // namespace bp::launcher
