#include "launcher/hosts/host_map.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/joined.h"
#include "base/refuse.h"
#include "base/text.h"
#include "launcher/hosts/host_entry.h"
#include "launcher/hosts/nodelist.h"

namespace bp::launcher {
namespace {

using Json = nlohmann::ordered_json;

// Refuses duplicate keys; the parser alone would silently keep the last of them.
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
        refuse(name, concat("'", key, "' is given twice"));
      }
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), check);
  } catch (const Json::out_of_range&) {
    refuse(name, "it has a number that is out of range");
  } catch (const Json::parse_error& error) {
    const std::size_t line =
        1 +
        static_cast<std::size_t>(std::count(
            text.begin(),
            text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size())), '\n'));
    refuse(concat(name, ":", line), "this is not JSON");
  }
}

std::string array_text(const Json& list) {
  return concat("[", joined(list, ",", [](const Json& item) { return item.dump(); }), "]");
}

// Sets the fields as a hostfile does. set_host_field() refuses values of the wrong kind.
void read_fields(Host& host, const Json& fields, const std::string& where) {
  for (const auto& [key, value] : fields.items()) {
    const bool words = key == "gpus" || key == "iface" || key == "user";
    if (key == "gpus" && value.is_null()) continue;  // all GPUs of the host
    if (key == "gpus" && !value.is_array() && !value.is_string()) {
      refuse(where, "gpus must be a list, as [0, 2]");
    }
    set_host_field(host, key,
                   value.is_array()             ? array_text(value)
                   : words && value.is_string() ? value.get<std::string>()
                                                : value.dump(),
                   where);
  }
}

}  // namespace

Hosts parse_host_map(std::string_view text, const std::string& name) {
  const Json map = parse_with_unique_keys(text, name);
  if (!map.is_object() || map.empty()) {
    refuse(name, R"(must be an object that names a host or more, as {"a": 3, "b": 1})");
  }
  HostCollector hosts;
  for (const auto& [host_name, value] : map.items()) {
    const std::string where = concat(name, ": ", host_name);
    static_cast<void>(split_entries(host_name, name));  // checks that the brackets match
    for (Host& host : parse_host_name(host_name, name)) {
      if (value.is_number()) {
        set_host_field(host, "slots", value.dump(), where);
      } else if (value.is_object()) {
        read_fields(host, value, where);
      } else if (!value.is_null()) {
        refuse(where, R"(must be a number of slots, null, or {"slots": 3, "gpus": [0, 2, 3]})");
      }
      check_slots(host, where);
      hosts.add(std::move(host), name);
    }
  }
  return hosts.take();
}

}  // namespace bp::launcher
