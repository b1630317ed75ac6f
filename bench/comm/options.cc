#include "bench/comm/options.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include <CLI/CLI.hpp>

#include "base/help_text.h"
#include "base/text.h"
#include "bench/comm/task.h"
#include "bp/version.h"
#include "comm/backend/algorithm.h"
#include "comm/backend/registry.h"

namespace bp::bench {
namespace {

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  names.reserve(kDataTypes.size());
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

DataType type_named(const std::string& name) {
  for (const DataType type : kDataTypes) {
    if (name_of(type) == name) return type;
  }
  return DataType::f32;
}

constexpr std::size_t kLargestSize = std::size_t{1} << 40;

// Replaces "64K" by "65536". Returns what is wrong with the text, or nothing.
std::string read_size(std::string& text) {
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, value);
  constexpr std::string_view kUnits = "KMG";
  if (error == std::errc() && at != end && kUnits.find(*at) != std::string_view::npos) {
    const auto shift = 10 * (kUnits.find(*at++) + 1);
    value = value <= kLargestSize >> shift ? value << shift : kLargestSize + 1;
  }
  if (error != std::errc() || at != end || value == 0 || value > kLargestSize) {
    return concat("'", text, "' is no size; give bytes from 1 to 1024G, as 4, 64K, 16M or 1G");
  }
  text = std::to_string(value);
  return {};
}

const std::map<std::string, Memory> kMemories = {{"allocated", Memory::allocated},
                                                 {"any", Memory::any}};

const std::map<std::string, Device::Kind> kDevices = {{"host", Device::Kind::host},
                                                      {"cuda", Device::Kind::cuda}};

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

CommandLine refused(const std::string& why) {
  return {{}, 2, concat("comm_bench: ", why, "\nhint: comm_bench --help lists the options\n")};
}

void describe_sizes(CLI::App& app, Options& options) {
  const CLI::Validator sizes(read_size, "", "size");
  app.add_option("--min", options.min_bytes, "Smallest size in bytes; K, M and G are 2^10 to 2^30")
      ->transform(sizes);
  app.add_option("--max", options.max_bytes, "Largest size; each is twice the one before")
      ->default_str("256M")
      ->transform(sizes);
  app.add_option("--sizes", options.sizes, "These sizes instead, as 4,64K,16M")
      ->delimiter(',')
      ->transform(sizes)
      ->default_str("");
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  Options options;
  std::string type(name_of(options.type));
  std::string memory = "allocated";
  std::string device = "host";
  CLI::App app(
      "Measures the collectives of bp, alone or under bprun. Every result is checked.\n"
      "bench/README.md says what the columns mean.",
      "comm_bench");
  app.set_version_flag("--version", "comm_bench " BP_VERSION);
  app.option_defaults()->always_capture_default();
  app.add_option("--op", options.op, "Which collective")->check(CLI::IsMember(operation_names()));
  app.add_option("--backend", options.backend, backends_help())
      ->check(CLI::IsMember(backend_names()));
  app.add_option("--algorithm", options.algorithm, "Of all_reduce")
      ->check(CLI::IsMember(algorithm_names()));
  app.add_option("--dtype", type, "Type of the elements")->check(CLI::IsMember(type_names()));
  describe_sizes(app, options);
  app.add_option("--memory", memory, "The communicator's own, or any memory")
      ->check(CLI::IsMember(kMemories));
  app.add_option("--device", device, "Where the memory lies; cuda: the devices by turns")
      ->check(CLI::IsMember(kDevices));
  app.add_flag("--touch", options.touch,
               "Each rank writes its input again before every timed run, as a training step does")
      ->default_str("");
  app.add_option("--iterations", options.iterations, "Timed runs a size (default: by size)")
      ->check(CLI::Range(1, 1'000'000))
      ->default_str("");
  app.add_option("--seconds", options.seconds,
                 "No longer a size than this, yet 5 timed runs (default: as long as it takes)")
      ->check(CLI::Range(0.001, 3600.0))
      ->default_str("");
  app.add_flag("--show-selection", options.show_selection,
               "Measure nothing: print which algorithm this job takes for which size")
      ->default_str("");
  app.add_option(
      "--tune", options.tune,
      "Measure all_reduce by every algorithm and write to this file which is the fastest "
      "for which size; BP_SELECTION names it to later jobs");
  app.add_option("--json", options.json, "Also write one JSON object a line to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream text;
    app.exit(success, text, text);
    return {{}, 0, wrap_help(text.str())};
  } catch (const CLI::ParseError& error) {
    return refused(error.what());
  }
  options.type = type_named(type);
  options.memory = kMemories.at(memory);
  options.device = kDevices.at(device);
  if (const std::string why = contradiction(options); !why.empty()) return refused(why);
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
