#include "trainer/checkpoint/checkpoint_folder.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>

#include "base/options/value_text.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/common/look_up.h"
#include "trainer/common/whole_file.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";

// Returns -1 for another name.
std::int64_t step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return -1;
  return number_in<std::int64_t>(std::string_view(name).substr(kPrefix.size())).value_or(-1);
}

template <class Action>
void as_io_error(const std::string& path, const Action& action) {
  try {
    action();
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::io, concat("cannot change ", path, ": ", error.code().message(), " (",
                                      error.path1().string(), ")"));
  }
}

}  // namespace

std::string CheckpointFolder::of_step(std::int64_t step) const {
  return concat(path_, "/", kPrefix, step);
}

std::vector<std::int64_t> CheckpointFolder::steps() const {
  std::vector<std::int64_t> steps;
  for (const std::string& name : entries_of(path_)) {
    const std::int64_t step = step_of(name);
    if (step >= 0) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end(), std::greater<>());
  return steps;
}

CheckpointFolder::Found CheckpointFolder::newest_complete() const {
  Found found;
  for (const std::int64_t step : steps()) {
    const std::string damage = damage_of(of_step(step));
    if (damage.empty()) {
      found.step = step;
      return found;
    }
    found.skipped.push_back(concat(of_step(step), ": ", damage));
  }
  return found;
}

void CheckpointFolder::resume_after(std::int64_t step, std::span<const std::int64_t> best) const {
  remove_leftovers();
  as_io_error(path_, [&] {
    for (const std::int64_t later : steps()) {
      if (later > step) fs::rename(of_step(later), concat(path_, "/.dropped-", kPrefix, later));
    }
    set_link("latest", step);
    if (!set_best_link(best)) fs::remove_all(path_ + "/best");
  });
  sync_folder(path_);
}

void CheckpointFolder::remove_leftovers() const {
  as_io_error(path_, [&] {
    if (fs::exists(path_)) remove_hidden();
  });
}

void CheckpointFolder::remove_hidden() const {
  std::vector<fs::path> hidden;
  for (const auto& entry : fs::directory_iterator(path_)) {
    if (entry.path().filename().string().starts_with(".")) hidden.push_back(entry.path());
  }
  for (const fs::path& path : hidden) fs::remove_all(path);
}

std::string CheckpointFolder::begin(std::int64_t step) const {
  std::string part = concat(path_, "/.part-", kPrefix, step);
  as_io_error(path_, [&] {
    fs::remove_all(part);
    make_folders(path_);
    fs::create_directory(part);
  });
  return part;
}

void CheckpointFolder::publish(const Published& what) const {
  const std::string part = concat(path_, "/.part-", kPrefix, what.step);
  write_manifest(part);
  as_io_error(path_, [&] { fs::rename(part, of_step(what.step)); });
  sync_folder(path_);
  as_io_error(path_, [&] {
    set_link("latest", what.step);
    (void)set_best_link(what.best);
  });
  sync_folder(path_);
  remove_all_but(what);
}

// Hides the folders first and puts that on disk. So neither a kill nor a power cut during the
// removal leaves a step-N with some of its files.
void CheckpointFolder::remove_all_but(const Published& what) const {
  bool hid = false;
  as_io_error(path_, [&] {
    remove_hidden();
    int kept = 0;
    for (const std::int64_t step : steps()) {
      const bool stays = kept++ < what.keep.last || std::ranges::count(what.best, step) > 0 ||
                         (what.keep.every > 0 && step % what.keep.every == 0);
      if (stays) continue;
      fs::rename(of_step(step), concat(path_, "/.old-", kPrefix, step));
      hid = true;
    }
  });
  if (!hid) return;
  sync_folder(path_);
  as_io_error(path_, [&] { remove_hidden(); });
}

void CheckpointFolder::abandon(std::int64_t step) const noexcept {
  std::error_code ignored;
  fs::remove_all(concat(path_, "/.part-", kPrefix, step), ignored);
}

// Links to the first of `best` that exists. Returns false if none does.
bool CheckpointFolder::set_best_link(std::span<const std::int64_t> best) const {
  const auto found =
      std::ranges::find_if(best, [this](std::int64_t step) { return fs::exists(of_step(step)); });
  if (found == best.end()) return false;
  set_link("best", *found);
  return true;
}

// A rename replaces the old link, so the link exists at any time. (Where a copy of the run followed
// the links, a folder has the link's name.)
void CheckpointFolder::set_link(const std::string& link, std::int64_t step) const {
  const std::string new_link = concat(path_, "/.", link);
  fs::remove(new_link);
  fs::create_directory_symlink(concat(kPrefix, step), new_link);
  const std::string old_link = concat(path_, "/", link);
  if (fs::is_directory(fs::symlink_status(old_link))) fs::remove_all(old_link);
  fs::rename(new_link, old_link);
}

}  // namespace bp::trainer
