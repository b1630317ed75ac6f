#include "bench/comm/options.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/options/option_set.h"
#include "base/options/value_text.h"
#include "base/text.h"
#include "bench/comm/task.h"
#include "comm/backend/common/algorithm.h"
#include "comm/backend/common/registry.h"

namespace bp::bench {
namespace {

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const DataType type : kDataTypes) names.emplace_back(name_of(type));
  return names;
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names = {std::string(kAutomaticBackend)};
  for (const BackendEntry& backend : backend_registry()) {
    names.emplace_back(backend.name);
  }
  return names;
}

// "What moves the data; shm: memory that ...; gloo: ..."
std::string backends_help() {
  std::string text = "What moves the data";
  for (const BackendEntry& backend : backend_registry()) {
    text += concat("; ", backend.name, ": ", backend.what);
  }
  return text;
}

constexpr double kLargestSize = double(std::uint64_t{1} << 40);

// A choice whose names are in its help.
OptionText naming(const std::string& name,
                  const std::string& help,
                  const std::vector<std::string>& names) {
  std::string listed;
  for (const std::string& one : names) listed += concat(listed.empty() ? ": " : ", ", one);
  return {name, help + listed, "", "NAME"};
}

// Returns why these options do not fit together, or nothing.
std::string contradiction(const Options& options) {
  const bool on_host = options.device == Device::Kind::host;
  if (options.min_bytes > options.max_bytes) {
    return concat("--min ", options.min_bytes, " is more than --max ", options.max_bytes);
  }
  if (options.backend == "nccl" && on_host) return "--backend nccl needs --device cuda";
  if (options.op == "message" && !on_host) return "messages of device memory do not exist yet";
  if (!on_host && (options.show_selection || !options.tune.empty())) {
    return "--tune and --show-selection are about host memory: leave out --device";
  }
  return {};
}

CommandLine refused(const std::string& why, const std::string& hint) {
  return {{}, 2, concat("comm_bench: ", why, "\nhint: ", hint, "\n")};
}

void add_size_options(OptionSet& set, Options& options) {
  set.size({"min", "Smallest size in bytes; K, M and G are 2^10 to 2^30", "4"}, options.min_bytes,
           1, kLargestSize);
  set.size({"max", "Largest size; each is twice the one before", "256M"}, options.max_bytes, 1,
           kLargestSize);
  set.value({"sizes", "These sizes instead, as 4,64K,16M", "", "SIZE,..."}, "",
            [&](const std::string& list) {
              for (const std::string& one : split_at_commas(list)) {
                const auto size = parse_size(one);
                if (!size || *size == 0 || double(*size) > kLargestSize) {
                  throw InputError(2, concat("--sizes: '", one, "' is not a size"),
                                   "bytes from 1 to 1024G, as 4, 64K, 16M or 1G");
                }
                options.sizes.push_back(*size);
              }
            });
}

void add_options(OptionSet& set, Options& options) {
  std::vector<std::pair<std::string, DataType>> types;
  for (const DataType type : kDataTypes) types.emplace_back(name_of(type), type);
  set.choice(naming("op", "Which collective", operation_names()), options.op, operation_names());
  set.choice({"backend", backends_help(), "", "NAME"}, options.backend, backend_names());
  set.choice(naming("algorithm", "Of all_reduce", algorithm_names()), options.algorithm,
             algorithm_names());
  set.choice(naming("dtype", "Type of the elements", type_names()), options.type, types);
  add_size_options(set, options);
  set.choice<Memory>({"memory", "The communicator's own, or any memory"}, options.memory,
                     {{"allocated", Memory::allocated}, {"any", Memory::any}});
  set.choice<Device::Kind>({"device", "Where the memory lies; cuda: the devices by turns"},
                           options.device,
                           {{"host", Device::Kind::host}, {"cuda", Device::Kind::cuda}});
  set.flag(
      {"touch", "Each rank writes its input again before every timed run, as a training step does"},
      options.touch);
  set.number({"iterations", "Timed runs a size", "by size"}, options.iterations, 1, 1'000'000);
  set.number({"seconds", "No longer a size than this, yet 5 timed runs", "as long as it takes"},
             options.seconds, 0.001, 3600);
  set.flag(
      {"show-selection", "Measure nothing: print which algorithm this job takes for which size"},
      options.show_selection);
  set.text({"tune",
            "Measure all_reduce by every algorithm and write to this file which is the fastest for "
            "which size; BP_SELECTION names it to later jobs",
            "", "FILE"},
           options.tune);
  set.text({"json", "Also write one JSON object a line to this file", "", "FILE"}, options.json);
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  Options options;
  OptionSet set("comm_bench",
                "Measures the collectives of bp, alone or under bprun. Every result is checked.\n"
                "bench/README.md says what the columns mean.");
  add_options(set, options);
  try {
    if (std::string text = set.parse({argv + 1, argv + argc}); !text.empty()) {
      return {{}, 0, std::move(text)};
    }
  } catch (const InputError& error) {
    return refused(error.what(), error.hint());
  }
  if (const std::string why = contradiction(options); !why.empty()) {
    return refused(why, set.help_hint());
  }
  return {options, 0, {}};
}

std::vector<std::size_t> sizes_of(const Options& options) {
  if (options.op == "barrier") return {0};
  if (!options.sizes.empty()) return options.sizes;
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = options.min_bytes; bytes <= options.max_bytes; bytes *= 2) {
    sizes.push_back(bytes);
  }
  return sizes;
}

Pace pace_for(const Options& options, std::size_t bytes) {
  Pace pace{.iterations = options.iterations, .seconds = options.seconds, .touch = options.touch};
  if (pace.iterations > 0) return pace;
  pace.iterations = bytes <= std::size_t{8} << 20 ? 50 : 15;
  if (bytes <= std::size_t{64} << 10) pace.iterations = 200;
  return pace;
}

}  // namespace bp::bench
