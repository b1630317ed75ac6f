// Each launcher's contract is one function that turns its variables into an Environment, and one
// line in Environment::current(); the first launcher whose variables are there is believed.
#include "bp/environment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "bp/error.h"
#include "comm/base/job_key.h"
#include "comm/base/text.h"
#include "comm/topology/foreign.h"

namespace bp {
namespace {

// What bprun sets, all or none of it. BP_HOST_NAMES is set too, but only messages need it.
constexpr std::array kOfBprun = {"RANK",     "WORLD_SIZE", "BP_LOCAL_SIZES",
                                 "BP_STORE", "BP_JOB",     "BP_KEY_FD"};

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  const char* value = std::getenv(name.c_str());
  throw Error(ErrorCode::invalid_argument,
              value == nullptr ? concat(name, " ", why) : concat(name, "=", value, ": ", why));
}

std::string required(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    const char* other = *std::find_if(kOfBprun.begin(), kOfBprun.end(), is_set);
    refuse(name, concat("is not set, but ", other,
                        " is: bprun sets them together. Start this program with bprun, or unset ",
                        other, " to run it alone"));
  }
  if (*value == '\0') {
    refuse(name, "is empty");
  }
  return value;
}

int required_number(const char* name, int least) {
  const std::string text = required(name);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < least) {
    refuse(name, concat("is not a whole number of at least ", least));
  }
  return number;
}

// Says which variable an Error of someone who does not know it is about.
template <class Read>
auto naming(const char* name, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    refuse(name, error.what());
  }
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> fields(1);
  for (const char c : text) {
    if (c == ',') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

Topology read_topology() {
  Topology topology;
  topology.rank = required_number("RANK", 0);
  const int size = required_number("WORLD_SIZE", 1);
  const std::string sizes = required("BP_LOCAL_SIZES");
  topology.local_sizes = naming("BP_LOCAL_SIZES", [&] { return parse_local_sizes(sizes); });
  if (topology.size() != size) {
    refuse("BP_LOCAL_SIZES",
           concat("adds up to ", topology.size(), " ranks, but WORLD_SIZE is ", size));
  }
  if (topology.rank >= size) {
    refuse("RANK", concat("is not below WORLD_SIZE, which is ", size));
  }
  if (is_set("BP_HOST_NAMES")) {
    topology.host_names = split_at_commas(required("BP_HOST_NAMES"));
    if (topology.host_names.size() != topology.local_sizes.size()) {
      refuse("BP_HOST_NAMES", concat("names ", topology.host_names.size(),
                                     " hosts, but BP_LOCAL_SIZES has ", topology.hosts()));
    }
  }
  return topology;
}

// "host:port" or "[::1]:port".
StoreAddress read_store_address() {
  const std::string text = required("BP_STORE");
  const std::size_t colon = text.rfind(':');
  StoreAddress address;
  if (colon != std::string::npos) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, address.port);
    if (error != std::errc{} || stop != end) {
      address.port = 0;
    }
    address.host = text.substr(0, colon);
    if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']') {
      address.host = address.host.substr(1, address.host.size() - 2);
    } else if (address.host.find_first_of("[]:") != std::string::npos) {
      address.host.clear();
    }
  }
  if (address.host.empty() || address.port < 1 ||
      address.port > std::numeric_limits<std::uint16_t>::max()) {
    refuse("BP_STORE", "is not host:port or [IPv6 address]:port");
  }
  return address;
}

Environment read_bprun() {
  Environment environment;
  environment.launcher = "bprun";
  for (const char* name : kOfBprun) {
    static_cast<void>(required(name));  // what is missing comes before what is wrong
  }
  environment.topology = read_topology();
  environment.job = required("BP_JOB");
  environment.store = read_store_address();
  const int key_fd = required_number("BP_KEY_FD", 0);
  environment.key = naming("BP_KEY_FD", [&] { return read_job_key(key_fd); });
  return environment;
}

Environment alone() {
  Environment environment;
  environment.launcher = "none";
  return environment;
}

}  // namespace

std::string StoreAddress::text() const {
  const bool v6 = host.find(':') != std::string::npos;
  return v6 ? concat("[", host, "]:", port) : concat(host, ":", port);
}

Environment Environment::current() {
  // RANK and WORLD_SIZE are also what PyTorch's launchers set, but never one without the other.
  const bool own = std::any_of(kOfBprun.begin() + 2, kOfBprun.end(), is_set);
  if (own || is_set("RANK") != is_set("WORLD_SIZE")) {
    return read_bprun();
  }
  refuse_foreign_launchers();
  return alone();
}

}  // namespace bp
