// Finds bp's plugins: shared libraries that a program opens only if it needs them.
#pragma once

#include <string>

namespace bp {

struct FoundPlugin {
  std::string path = {};   // empty: there is none
  std::string tried = {};  // the folders that lack it: "/usr/lib, /usr/bin"
};

// Searches the folder that BP_PLUGIN_DIR names, or else as find_library(). `name` is the file's,
// such as "libbp_gloo.so".
[[nodiscard]] FoundPlugin find_plugin(const char* name);
// Searches the folder of the library that contains this code, or those around the program.
[[nodiscard]] FoundPlugin find_library(const char* name);

struct OpenedPlugin {
  void* entry = nullptr;     // the address of the function; null: there is none
  std::string problem = {};  // why the library does not load
};

// Opens a plugin and finds the function by which it gives its table of functions. The library is
// never closed, because a device may still run its code.
[[nodiscard]] OpenedPlugin open_plugin(const std::string& path, const char* entry);

}  // namespace bp
