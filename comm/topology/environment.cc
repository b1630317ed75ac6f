#include "bp/environment.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/keys/job_key.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/topology/environment_reader.h"
#include "comm/topology/launcher.h"
#include "comm/topology/store_address.h"

namespace bp {
namespace {

// bprun sets all of these variables. It also sets BP_HOST_NAMES, which only messages need.
constexpr std::array kOfBprun = {"RANK",     "WORLD_SIZE", "BP_LOCAL_SIZES",
                                 "BP_STORE", "BP_JOB",     "BP_KEY_FD"};

// Calls `read`, and adds the variable's name to an Error that it throws.
template <class Read>
auto naming(const Contract& bprun, const char* name, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    bprun.variables().refuse(name, error.what());
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

Topology read_topology(const Contract& bprun) {
  const Variables& variables = bprun.variables();
  Topology topology;
  topology.rank = bprun.required_number("RANK", 0);
  const int size = bprun.required_number("WORLD_SIZE", 1);
  const std::string sizes = bprun.required("BP_LOCAL_SIZES");
  topology.local_sizes = naming(bprun, "BP_LOCAL_SIZES", [&] { return parse_local_sizes(sizes); });
  if (topology.size() != size) {
    variables.refuse("BP_LOCAL_SIZES",
                     concat("adds up to ", topology.size(), " ranks, but WORLD_SIZE is ", size));
  }
  if (topology.rank >= size) {
    variables.refuse("RANK", concat("is not below WORLD_SIZE, which is ", size));
  }
  if (variables.has("BP_HOST_NAMES")) {
    topology.host_names = split_at_commas(bprun.required("BP_HOST_NAMES"));
    if (topology.host_names.size() != topology.local_sizes.size()) {
      variables.refuse("BP_HOST_NAMES",
                       concat("names ", topology.host_names.size(),
                              " hosts, but BP_LOCAL_SIZES has ", topology.hosts()));
    }
  }
  return topology;
}

Environment read_bprun(const Variables& variables, const std::string& sign) {
  const Contract bprun(variables, sign,
                       concat("bprun sets them together. Start this program with bprun, or unset ",
                              sign, " to run it alone"));
  Environment environment;
  environment.launcher = "bprun";
  environment.found_by = concat(sign, "=", variables.text(sign));
  for (const char* name : kOfBprun) {
    (void)bprun.required(name);  // so that a missing variable is reported before a wrong one
  }
  environment.topology = read_topology(bprun);
  environment.job = bprun.required("BP_JOB");
  const std::string store = bprun.required("BP_STORE");
  environment.store = naming(bprun, "BP_STORE", [&] { return parse_store_address(store); });
  const int key_fd = bprun.required_number("BP_KEY_FD", 0);
  environment.key = naming(bprun, "BP_KEY_FD", [&] { return read_job_key(key_fd); });
  return environment;
}

}  // namespace

Environment read_environment(const Variables& variables) {
  const std::string asked = variables.text("BP_ENGINE");
  if (asked == "bprun") return read_bprun(variables, "BP_ENGINE");
  if (asked.empty()) {
    // RANK and WORLD_SIZE do not count, because PyTorch's launchers set them too.
    const auto* const own = std::find_if(kOfBprun.begin() + 2, kOfBprun.end(),
                                         [&](const char* name) { return variables.has(name); });
    if (own != kOfBprun.end()) return read_bprun(variables, *own);
  }
  if (const auto rank = find_launcher(variables)) return environment_of(*rank);
  Environment environment;
  environment.launcher = "none";
  return environment;
}

Environment environment_of(const LaunchedRank& rank) {
  Environment environment;
  environment.launcher = rank.launcher;
  environment.found_by = rank.found_by;
  environment.topology.rank = rank.rank;
  environment.topology.local_sizes.assign(static_cast<std::size_t>(rank.size), 1);
  environment.job = rank.job;
  return environment;
}

Environment Environment::current() { return read_environment(Variables::of_this_process()); }

}  // namespace bp
