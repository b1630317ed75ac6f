#include "trainer/tasks/pretrain/shard_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

bool is_for_test(const std::string& path) {
  return fs::path(path).filename().string().find("test") != std::string::npos;
}

std::vector<std::string> shards_in(const fs::path& folder, const std::string& beginning) {
  std::vector<std::string> files;
  std::error_code error;  // a folder that cannot be read has none
  const fs::path place = folder.empty() ? fs::path(".") : folder;
  for (const fs::directory_entry& entry : fs::directory_iterator(place, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(beginning) && is_shard_name(name))
      files.push_back((folder / name).string());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

bool is_shard_name(const std::string& path) {
  return path.ends_with(".hdf5") || path.ends_with(".h5");
}

std::vector<std::string> shard_files(const std::string& path) {
  if (is_shard_name(path)) return {path};
  std::error_code error;
  if (fs::is_directory(path, error)) {
    std::vector<std::string> files = shards_in(path, "");
    if (!std::ranges::all_of(files, is_for_test)) std::erase_if(files, is_for_test);
    return files;
  }
  if (fs::exists(path, error)) return {};
  const std::string name = fs::path(path).filename().string();
  return name.empty() ? std::vector<std::string>() : shards_in(fs::path(path).parent_path(), name);
}

}  // namespace bp::trainer
