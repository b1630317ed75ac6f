#include "base/system/plugin.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/system/regular_file.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

// Returns the shared library that contains this code, or nothing if the program contains it.
std::filesystem::path own_library() {
  ::Dl_info found{};
  ::link_map* object = nullptr;
  const bool known = ::dladdr1(reinterpret_cast<const void*>(&own_library), &found,
                               reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) != 0;
  return known && object != nullptr ? object->l_name : "";
}

// They are relative to the library or the program, so that an installed tree can be moved.
std::vector<std::filesystem::path> own_folders() {
  if (const auto library = own_library(); !library.empty()) {
    return {library.parent_path()};
  }
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return {program.parent_path(), program.parent_path() / BP_LIBRARIES_FROM_PROGRAMS,
          BP_INSTALLED_LIBRARIES};
}

FoundPlugin find_in(const std::vector<std::filesystem::path>& folders, const char* name) {
  FoundPlugin found;
  for (const auto& folder : folders) {
    std::error_code ignored;
    if (std::filesystem::exists(folder / name, ignored)) {
      found.path = (folder / name).string();
      break;
    }
    found.tried += concat(found.tried.empty() ? "" : ", ", folder.string());
  }
  return found;
}

}  // namespace

FoundPlugin find_plugin(const char* name) {
  if (const char* const asked = std::getenv("BP_PLUGIN_DIR"); asked != nullptr && *asked != '\0') {
    return find_in({asked}, name);
  }
  return find_library(name);
}

FoundPlugin find_library(const char* name) { return find_in(own_folders(), name); }

OpenedLibrary open_library(const std::string& path, int flags) {
  const bool is_path = path.find('/') != std::string::npos;  // else a name that the system finds
  const OpenedFile file = is_path ? open_regular_file(path) : OpenedFile();
  const bool is_other = file.error == 0 && !file.problem.empty();
  if (is_other) return {nullptr, concat(path, ": ", file.problem)};
  void* const handle = ::dlopen(path.c_str(), flags);
  return {handle, handle == nullptr ? ::dlerror() : ""};
}

OpenedPlugin open_plugin(const std::string& path, const char* entry) {
  OpenedLibrary library = open_library(path, RTLD_NOW | RTLD_LOCAL);
  if (library.handle == nullptr) return {nullptr, std::move(library.problem)};
  return {::dlsym(library.handle, entry)};
}

SystemLibrary::SystemLibrary(const char* what,
                             const char* variable,
                             std::initializer_list<const char*> names,
                             const char* hint)
    : hint_(hint) {
  if (const char* const asked = std::getenv(variable); asked != nullptr && *asked != '\0') {
    path_ = asked;
    const OpenedLibrary library = open_library(path_, RTLD_NOW | RTLD_LOCAL);
    handle_ = library.handle;
    if (handle_ != nullptr) return;
    throw Error(ErrorCode::unavailable,
                concat(variable, " names no library that loads: ", library.problem));
  }
  std::string tried;
  for (const int loaded : {RTLD_NOLOAD, 0}) {
    tried.clear();
    for (const char* const name : names) {
      path_ = name;
      handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | loaded);
      if (handle_ != nullptr) return;
      tried += concat(tried.empty() ? "" : ", ", name);
    }
  }
  throw Error(ErrorCode::unavailable, concat(what, " is not found (", tried, ")", hint));
}

void* SystemLibrary::address_of(const char* name) const {
  if (void* const found = ::dlsym(handle_, name)) return found;
  throw Error(ErrorCode::unavailable, concat(path_, " has no ", name, hint_));
}

}  // namespace bp
