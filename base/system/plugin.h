// Shared libraries that a program opens only if it needs them: bp's plugins, and others of the
// system.
#pragma once

#include <initializer_list>
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

struct OpenedLibrary {
  void* handle = nullptr;    // null: it does not load
  std::string problem = {};  // why
};

// Opens a shared library by dlopen(). A path that leads to a pipe or a device is a problem, which
// dlopen() would read without end. Never closed by this code.
[[nodiscard]] OpenedLibrary open_library(const std::string& path, int flags);

struct OpenedPlugin {
  void* entry = nullptr;     // the address of the function; null: there is none
  std::string problem = {};  // why the library does not load
};

// Opens a plugin and finds the function by which it gives its table of functions. The library is
// never closed, because a device may still run its code.
[[nodiscard]] OpenedPlugin open_plugin(const std::string& path, const char* entry);

// A library of the system. It is never closed, because threads of its own may run until the process
// ends.
class SystemLibrary {
 public:
  // Opens the library that `variable` names. If that is not set, opens the first of `names` that
  // the program has loaded already, or else that the system finds. Throws `unavailable`, with
  // `hint`, if there is none. `what`: "NCCL".
  SystemLibrary(const char* what,
                const char* variable,
                std::initializer_list<const char*> names,
                const char* hint);

  [[nodiscard]] const std::string& path() const { return path_; }  // or its name
  // Throws `unavailable` if the library lacks the function.
  template <class Function>
  void find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(address_of(name));
  }

 private:
  [[nodiscard]] void* address_of(const char* name) const;

  void* handle_ = nullptr;
  std::string path_;
  const char* hint_;
};

}  // namespace bp
