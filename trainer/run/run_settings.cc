#include "trainer/run/run_settings.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string_view>
#include <system_error>

#include <yaml-cpp/yaml.h>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/common/whole_file.h"
#include "trainer/prepare/plan.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStartedIn = "# Paths are relative to: ";
constexpr std::string_view kFromRun = "# As seen from this file: ";

// The options that name a file which the run reads. --also has commas between its files.
constexpr std::array<std::string_view, 9> kPaths{"data",  "also",  "dev",     "test",     "store",
                                                 "vocab", "model", "teacher", "label-map"};

// Where the run was started. The second path remains right when both folders move together.
struct StartedIn {
  std::string folder = {};
  std::string from_run = {};
};

StartedIn read_place(const std::string& run) {
  StartedIn place;
  std::ifstream in(run + "/config.yaml");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(kStartedIn)) place.folder = line.substr(kStartedIn.size());
    if (line.starts_with(kFromRun)) place.from_run = line.substr(kFromRun.size());
  }
  return place;
}

using Exists = std::function<bool(const std::string&)>;

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string find_path(const std::string& run,
                      const StartedIn& place,
                      const std::string& path,
                      const Exists& exists) {
  if (path.empty() || path.starts_with('/') || exists(path)) return path;
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(run, error);
  std::vector<fs::path> begins;
  if (!error && !place.from_run.empty()) begins.push_back(folder / place.from_run);
  if (!place.folder.empty()) begins.emplace_back(place.folder);
  for (const fs::path& begin : begins) {
    std::string found = (begin / path).lexically_normal().string();
    if (exists(found)) return found;
  }
  return path;
}

// The store of the data is enough for a run whose text file is gone.
Exists exists_for(std::string_view key, const std::vector<Setting>& settings) {
  if (key != "data" || !value_of(settings, "store").empty()) return is_there;
  return [](const std::string& data) {
    PrepareOptions options;
    options.source = data;
    return is_there(data) || is_there(store_path(options));
  };
}

std::string place_comments(const std::string& run) {
  std::error_code error;
  const std::string here = fs::current_path(error).string();
  if (error || here.find('\n') != std::string::npos) return "";
  const fs::path folder = fs::weakly_canonical(run, error);
  if (error) return "";
  const std::string from_run = fs::path(here).lexically_relative(folder).string();
  return concat(kStartedIn, here, "\n", kFromRun, from_run, "\n");
}

}  // namespace

std::string settings_yaml(const std::vector<Setting>& settings) {
  YAML::Emitter out;
  out << YAML::Comment("The options of this run, each with where its value comes from.");
  out << YAML::BeginMap;
  for (const Setting& setting : settings) {
    out << YAML::Key << setting.key << YAML::Value << setting.value
        << YAML::Comment(setting.origin);
  }
  out << YAML::EndMap << YAML::Newline;
  return out.c_str();
}

std::vector<Setting> read_settings(const std::string& path) {
  try {
    std::vector<Setting> settings;
    for (const auto& entry : YAML::LoadFile(path)) {
      settings.push_back({entry.first.as<std::string>(), entry.second.as<std::string>(""), path});
    }
    return settings;
  } catch (const YAML::Exception& error) {
    throw InputError(65, concat(path, ": ", error.what()), "it was written by bert_train as YAML");
  }
}

std::vector<Setting> read_settings_with_origins(const std::string& path) {
  std::map<std::string, std::string> origins;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const std::size_t mark = line.rfind("  # ");
    if (mark != std::string::npos) {
      origins[line.substr(0, line.find(':'))] = line.substr(mark + 4);
    }
  }
  std::vector<Setting> settings = read_settings(path);
  for (Setting& setting : settings) setting.origin = origins[setting.key];
  return settings;
}

void write_run_settings(const std::string& run, const std::vector<Setting>& settings) {
  write_whole_file(run + "/config.yaml", settings_yaml(settings) + place_comments(run));
}

std::string path_of_run(const std::string& run, const std::string& path) {
  return find_path(run, read_place(run), path, is_there);
}

std::vector<Setting> with_paths_of_run(const std::string& run, std::vector<Setting> settings) {
  const StartedIn place = read_place(run);
  for (Setting& setting : settings) {
    if (std::ranges::count(kPaths, setting.key) == 0) continue;
    const Exists exists = exists_for(setting.key, settings);
    std::string paths;
    for (std::size_t begin = 0; begin <= setting.value.size();) {
      const bool list = setting.key == "also";
      const std::size_t end = list ? std::min(setting.value.find(',', begin), setting.value.size())
                                   : setting.value.size();
      const std::string path = setting.value.substr(begin, end - begin);
      paths += concat(begin == 0 ? "" : ",", find_path(run, place, path, exists));
      begin = end + 1;
    }
    setting.value = paths;
  }
  return settings;
}

std::vector<Setting> read_run_settings(const std::string& run) {
  const std::string config = run + "/config.yaml";
  return is_there(config) ? with_paths_of_run(run, read_settings(config)) : std::vector<Setting>();
}

}  // namespace bp::trainer
