#include "trainer/run/run_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <thread>
#include <vector>

#include "base/input_error.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/look_up.h"
#include "trainer/common/whole_file.h"
#include "trainer/input/open_input.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLease = "lease";
constexpr const char* kWrittenLast = "report.html";

std::string lease_path(const std::string& run) { return concat(run, "/", kLease); }

// config.yaml is written before the first step. A run that was killed before that has left at most
// a lease.
bool is_run_folder(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return false;
  if (fs::exists(path + "/config.yaml", error)) return true;
  return std::ranges::all_of(entries_of(path), [](const std::string& name) {
    return name.starts_with(kLease) || name.ends_with(".part");
  });
}

// Blocks until a lease that is no longer renewed expires. A lease that is renewed belongs to
// another run, which gets the time of two renewals to end.
std::unique_ptr<Lease> take_lease(const std::string& run, const LeaseTimes& times) {
  auto lease = std::make_unique<Lease>(lease_path(run), times);
  const Deadline ended(2 * times.renewal);
  const Deadline deadline(times.expiry + times.renewal);
  while (!lease->try_take()) {
    if (deadline.passed() || (ended.passed() && lease->holder_is_alive())) {
      throw InputError(
          2, concat(lease->holder(), " is using ", run),
          concat("choose another folder with --run, or end it: bert_train stop ", run));
    }
    std::this_thread::sleep_for(times.renewal / 20);
  }
  return lease;
}

// Removes the folders up to the first that is not empty. Begins with the innermost.
void remove_empty(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) ::rmdir(folder.c_str());
}

// Returns whether a process works on the run. Whoever may not write there can only read the lease.
bool is_active(const std::string& run, const LeaseTimes& times) {
  Lease lease(lease_path(run), times);
  try {
    // try_take() removes the lease of a dead process.
    return !lease.try_take() && path_exists(lease_path(run));
  } catch (const Error&) {
    return lease.seems_held();
  }
}

[[noreturn]] void refuse_place(const std::string& run, const std::string& text) {
  const std::string name = fs::path(run).filename().string();
  throw InputError(70, text,
                   concat("name a place where you may write: --run ", writable_place(name)));
}

}  // namespace

std::string default_run(const std::string& data) {
  const std::string path = without_slashes(unpacked_name(data));
  return (fs::path("runs") / fs::path(path).stem()).string();
}

RunFolder RunFolder::open(const std::string& path, IfExists if_exists, const LeaseTimes& times) {
  std::error_code error;
  if (fs::exists(path, error)) {
    if (!is_run_folder(path)) {
      throw InputError(2, concat(path, " already exists and is not a run's folder"),
                       "choose another with --run");
    }
    if (if_exists == IfExists::refuse) {
      throw InputError(2, concat("the run's folder ", path, " already exists"),
                       "choose another with --run, or leave out --resume to resume it");
    }
  }
  try {
    std::vector<std::string> made = make_folders(path);
    try {
      return {path, take_lease(path, times), std::move(made)};
    } catch (...) {
      remove_empty(made);
      throw;
    }
  } catch (const fs::filesystem_error& problem) {
    refuse_place(path,
                 concat("cannot create the run's folder ", path, ": ", problem.code().message()));
  } catch (const Error& problem) {
    refuse_place(path, concat("cannot use the run's folder ", path, ": ", problem.what()));
  }
}

bool RunFolder::finished() const { return path_exists(file(kWrittenLast)); }

void RunFolder::remove_results(const std::vector<std::string>& of_task) const {
  if (finished()) {  // first, and on disk, since it says that the others are complete
    std::error_code ignored;
    fs::remove_all(file(kWrittenLast), ignored);
    sync_folder(path_);
  }
  std::vector<fs::path> unneeded = {file("summary.json"), file("predictions.csv"),
                                    stop_file(path_)};
  for (const std::string& name : of_task) unneeded.push_back(file(name));
  for (const std::string& name : entries_of(path_)) {
    const bool unfinished = name.ends_with(".part") || name.starts_with("model.part-") ||
                            name.starts_with("model.old-");
    if (unfinished) unneeded.push_back(file(name));
  }
  for (const fs::path& one : unneeded) {
    std::error_code ignored;  // writing the file will tell
    fs::remove_all(one, ignored);
  }
}

void RunFolder::require_lease() const {
  if (!lease_->lost()) return;
  throw Error(ErrorCode::aborted,
              concat("another process has taken over ", path_, " while this one was suspended"));
}

void RunFolder::remove_if_empty() {
  lease_.reset();
  ::rmdir(path_.c_str());  // fails if the folder is not empty
  remove_empty(made_);
}

std::string stop_file(const std::string& run) { return run + "/stop"; }

bool seems_in_use(const std::string& run) { return Lease(lease_path(run)).seems_held(); }

bool is_finished(const std::string& run) { return path_exists(concat(run, "/", kWrittenLast)); }

void ask_to_stop(const std::string& run, const LeaseTimes& times) {
  if (!folder_exists(run) || !is_run_folder(run)) {
    throw InputError(66, concat(run, " is not a run's folder"), "bert_train stop RUN");
  }
  if (!is_active(run, times)) {
    throw InputError(
        66, concat("no run is active in ", run),
        "a run that has ended needs no stopping; the same command as before resumes it");
  }
  try {
    write_whole_file(stop_file(run), "");
  } catch (const Error& error) {
    throw InputError(2, concat("cannot ask the run in ", run, " to stop: ", error.what()),
                     concat("only who may write there can stop it; ls -ld ", quote_shell_word(run),
                            " shows who may"));
  }
}

std::string model_folder(const std::string& source) {
  for (const std::string& folder : {source + "/model", source, source + "/checkpoints/latest"}) {
    for (const char* file : {"/config.json", "/adapter_config.json"}) {
      if (path_exists(folder + file)) return folder;
    }
  }
  throw InputError(66, concat("no model in ", source),
                   "a run's folder with model/, or a folder with config.json, model.safetensors "
                   "and vocab.txt");
}

}  // namespace bp::trainer
