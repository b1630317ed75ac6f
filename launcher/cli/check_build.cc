#include "launcher/cli/check_build.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "bp/features.h"
#include "comm/topology/launcher.h"
#include "launcher/process/program.h"
#include "launcher/protocol/hello.h"

namespace bp::launcher {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLibTorch = BP_LIBTORCH_VERSION;  // empty: built without LibTorch

// The programs of bp in the folder of this bprun.
std::vector<std::string> programs() {
  std::vector<std::string> found;
  const auto folder = std::filesystem::path(own_program()).parent_path();
  for (const char* name : {"bprun", "comm_bench", "bert_train"}) {
    std::error_code ignored;
    if (std::filesystem::exists(folder / name, ignored)) {
      found.emplace_back(name);
    }
  }
  return found;
}

// "CUDA      13.0 (libcudart.so.13)", "NCCL      not available: ..."
std::string line_of(const LibraryState& library) {
  std::string text = concat("  ", library.name, std::string(10 - library.name.size(), ' '));
  if (library.problem.empty()) return text + library.found + "\n";
  text += library.found.empty() ? "not available" : library.found + ", not usable";
  return concat(text, ": ", library.problem, "\n");
}

std::string json_of(const std::vector<BackendState>& backends,
                    const std::vector<LibraryState>& libraries) {
  Json launchers = Json::array();
  const std::string names = launcher_names();
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(", ", at), names.size());
    launchers.push_back(names.substr(at, end - at));
    at = end + 2;
  }
  Json there = Json::array();
  for (const BackendState& backend : backends) {
    there.push_back({{"name", backend.name}, {"problem", backend.problem}});
  }
  Json opened = Json::array();
  for (const LibraryState& library : libraries) {
    opened.push_back(
        {{"name", library.name}, {"found", library.found}, {"problem", library.problem}});
  }
  const Json build = {{"version", own_version()},
                      {"build", own_build()},
                      {"backends", std::move(there)},
                      {"libraries", std::move(opened)},
                      {"engines", std::move(launchers)},
                      {"libtorch", *kLibTorch == '\0' ? Json() : Json(kLibTorch)},
                      {"programs", programs()}};
  return build.dump(2) + "\n";
}

}  // namespace

std::string check_build(bool json) {
  const auto backends = backend_states();
  const auto libraries = library_states();
  if (json) {
    return json_of(backends, libraries);
  }
  std::string text = concat("bprun ", own_version(), "\n  build     ", own_build(), "\n");
  for (const BackendState& backend : backends) {
    text += concat("  backend   ", backend.name,
                   backend.problem.empty() ? "" : ": not available: ", backend.problem, "\n");
  }
  for (const LibraryState& library : libraries) {
    text += line_of(library);
  }
  text += concat("  launchers bprun, ", launcher_names(), "\n");
  text += concat("  LibTorch  ", *kLibTorch == '\0' ? "built without" : kLibTorch, "\n  programs ");
  for (const std::string& program : programs()) {
    text += concat(" ", program);
  }
  return text + "\n";
}

}  // namespace bp::launcher
