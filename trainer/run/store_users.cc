#include "trainer/run/store_users.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "base/system/fd.h"
#include "base/text.h"
#include "bp/error.h"
#include "bp/log.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/common/look_up.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

std::string list_path(const std::string& store) { return store + ".runs"; }

std::vector<std::string> listed_runs(const std::string& store) {
  std::vector<std::string> runs;
  std::ifstream in(list_path(store));
  for (std::string line; std::getline(in, line);) runs.push_back(line);
  return runs;
}

// Returns the real folder of the store, from which the list names the runs.
fs::path folder_of(const std::string& store) {
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(fs::absolute(store, error).parent_path(), error);
  return error ? fs::path() : folder;
}

}  // namespace

void list_store_user(const std::string& store, const std::string& run) {
  constexpr int kFileMode = 0644;
  std::error_code error;
  const std::string folder = fs::relative(run, folder_of(store), error).string();
  if (error || folder.empty() || folder.find('\n') != std::string::npos) return;
  if (std::ranges::count(listed_runs(store), folder) > 0) return;
  const std::string line = folder + '\n';
  const Fd file(
      ::open(list_path(store).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kFileMode));
  if (!file || write_all(file.get(), line.data(), line.size()) < line.size()) {
    log(LogLevel::debug, concat("cannot write ", list_path(store), ": ", error_text(errno)));
  }
}

std::string run_that_needs(const std::string& store, const std::string& identity) {
  const fs::path folder = folder_of(store);
  for (const std::string& listed : listed_runs(store)) {
    std::string run = (folder / listed).lexically_normal().string();
    if (identity_of_data(run) == identity) return run;
  }
  return "";
}

std::optional<std::string> identity_of_data(const std::string& run) {
  const CheckpointFolder checkpoints(run + "/checkpoints");
  for (const std::int64_t step : checkpoints.steps()) {
    try {
      return parse_state(text_in(checkpoints.of_step(step) + "/state.json")).store;
    } catch (const Error&) {
      continue;  // damaged: an older one may do
    }
  }
  return std::nullopt;
}

}  // namespace bp::trainer
