#include "launcher/hosts/host_map.h"

#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bp/error.h"
#include "comm/base/text.h"

namespace bp::launcher {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& where, const std::string& text) {
  throw Error(ErrorCode::invalid_argument, concat(where, ": ", text));
}

// The parser would silently keep the last of two equal keys.
Json parse_with_unique_keys(std::string_view text, const std::string& name) {
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto key = parsed.get<std::string>();
      if (!keys.back().insert(key).second) {
        refuse(name, concat("'", key, "' stands there twice"));
      }
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), check);
  } catch (const Json::out_of_range&) {
    refuse(name, "a number in it is out of all range");
  } catch (const Json::parse_error& error) {
    const std::size_t line =
        1 +
        static_cast<std::size_t>(std::count(
            text.begin(),
            text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size())), '\n'));
    refuse(concat(name, ":", line), "this is not JSON");
  }
}

int whole_number(
    const Json& value, const std::string& what, int least, int most, const std::string& where) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<std::uint64_t>() <= 1U << 20U);
  return parse_number(fits ? std::to_string(value.get<std::int64_t>()) : value.dump(), what, least,
                      most, where);
}

std::vector<int> gpu_list(const Json& value, const std::string& where) {
  if (!value.is_array()) {
    refuse(where, "gpus must be a list, as [0, 2]");
  }
  std::vector<int> gpus;
  for (const Json& gpu : value) {
    gpus.push_back(whole_number(gpu, "each of gpus", 0, 1023, where));
  }
  return gpus;
}

void read_fields(Host& host, const Json& fields, const std::string& where) {
  for (const auto& [key, value] : fields.items()) {
    if (key == "slots") {
      host.slots = whole_number(value, "slots", 1, kMaxSlots, where);
    } else if (key == "gpus") {
      if (!value.is_null()) {
        host.gpus = gpu_list(value, where);
      }
    } else {
      refuse(where, concat("'", key, "' is not known here; slots and gpus are"));
    }
  }
}

}  // namespace

Hosts parse_host_map(std::string_view text, const std::string& name) {
  const Json map = parse_with_unique_keys(text, name);
  if (!map.is_object() || map.empty()) {
    refuse(name, R"(must be an object that names a host or more, as {"a": 3, "b": 1})");
  }
  Hosts hosts;
  for (const auto& [host_name, value] : map.items()) {
    const std::string where = concat(name, ": ", host_name);
    Host host;
    host.name = host_name;
    check_host_name(host.name, name);
    if (value.is_number()) {
      host.slots = whole_number(value, "slots", 1, kMaxSlots, where);
    } else if (value.is_object()) {
      read_fields(host, value, where);
    } else if (!value.is_null()) {
      refuse(where, R"(must be a number of slots, null, or {"slots": 3, "gpus": [0, 2, 3]})");
    }
    add_host(hosts, host, name);
  }
  return hosts;
}

}  // namespace bp::launcher
