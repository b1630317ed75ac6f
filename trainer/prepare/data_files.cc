#include "trainer/prepare/data_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/common/look_up.h"
#include "trainer/input/open_input.h"
#include "trainer/prepare/task_data.h"

namespace bp::trainer {
namespace {

bool is_data_name(const std::string& path, const PrepareOptions& options) {
  constexpr std::array<std::string_view, 5> kSuffixes{".csv", ".tsv", ".tab", ".jsonl", ".ndjson"};
  if (options.format != TextFormat::automatic || options.task->has_own_format(path)) return true;
  const std::string name = lower_case(unpacked_name(path));
  return std::ranges::any_of(kSuffixes, [&](std::string_view end) { return name.ends_with(end); });
}

void require_data(const std::string& path, const PrepareOptions& options) {
  if (folder_exists(path)) {
    throw InputError(65, concat(path, " is a folder within a folder of data"),
                     "bert_train reads the files of one folder; name others with --also");
  }
  if (is_data_name(path, options)) return;
  throw InputError(65, concat(path, " is not a file of data by its name"),
                   "remove it from the folder; or name the files one by one with --also, or their "
                   "format with --format");
}

}  // namespace

std::vector<std::string> data_files(const std::string& path, const PrepareOptions& options) {
  if (std::vector<std::string> own = options.task->files_of(path); !own.empty()) return own;
  if (!folder_exists(path)) return {path};
  std::vector<std::string> files;
  for (const std::string& name : entries_of(path)) {
    if (name.starts_with('.')) continue;
    std::string file = concat(path, path.ends_with('/') ? "" : "/", name);
    if (folder_exists(file) && entries_of(file).empty()) continue;  // such as runs/ before a run
    files.push_back(std::move(file));
  }
  std::ranges::sort(files);
  for (const std::string& file : files) require_data(file, options);
  if (files.empty()) {
    throw InputError(66, concat("the folder ", path, " has no files"),
                     "name a file of data, or a folder with such files");
  }
  return files;
}

std::vector<std::string> data_files(const std::string& path,
                                    const std::vector<std::string>& more,
                                    const PrepareOptions& options) {
  std::vector<std::string> files = data_files(path, options);
  for (const std::string& other : more) {
    const std::vector<std::string> its = data_files(other, options);
    files.insert(files.end(), its.begin(), its.end());
  }
  std::set<std::string> seen;
  for (const std::string& file : files) {
    std::error_code ignored;
    const std::string real = std::filesystem::weakly_canonical(file, ignored).string();
    if (seen.insert(real.empty() ? file : real).second) continue;
    throw InputError(2, concat(file, " is given twice"), "its rows would count twice");
  }
  return files;
}

}  // namespace bp::trainer
