#include "launcher/protocol/munge.h"

#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "base/text.h"

namespace bp::launcher {
namespace {

// The functions of libmunge, as munge.h of version 0.5 declares them. Without a context they use
// the daemon at the default socket. Each returns 0 or the number of an error.
struct MungeLibrary {
  int (*encode)(char** credential, void* context, const void* text, int size) = nullptr;
  int (*decode)(const char* credential,
                void* context,
                void** text,
                int* size,
                uid_t* user,
                gid_t* group) = nullptr;
  const char* (*error)(int number) = nullptr;
};

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

template <class Function>
bool find_symbol(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

// Returns the library's functions, or null pointers. The library stays open.
const MungeLibrary& munge_library() {
  static const MungeLibrary kLibrary = [] {
    MungeLibrary found;
    void* const library = ::dlopen("libmunge.so.2", RTLD_NOW | RTLD_LOCAL);
    return library != nullptr && find_symbol(library, found.encode, "munge_encode") &&
                   find_symbol(library, found.decode, "munge_decode") &&
                   find_symbol(library, found.error, "munge_strerror")
               ? found
               : MungeLibrary{};
  }();
  return kLibrary;
}

}  // namespace

std::string vouch_by_munge(std::string_view text) {
  const MungeLibrary& munge = munge_library();
  char* credential = nullptr;
  if (munge.error == nullptr ||
      munge.encode(&credential, nullptr, text.data(), static_cast<int>(text.size())) != 0) {
    return "";
  }
  const std::unique_ptr<char, FreeMemory> owned(credential);
  return credential;
}

std::string doubt_by_munge(const std::string& credential, std::string_view text) {
  const MungeLibrary& munge = munge_library();
  if (munge.error == nullptr) return "munge is not installed here";
  void* found = nullptr;
  int size = 0;
  uid_t user = 0;
  gid_t group = 0;
  const int error = munge.decode(credential.c_str(), nullptr, &found, &size, &user, &group);
  const std::unique_ptr<void, FreeMemory> owned(found);
  if (error != 0) return concat("munge: ", munge.error(error));
  if (user != ::getuid()) return concat("munge names the user ", user, " and not ", ::getuid());
  const std::string_view made(static_cast<const char*>(found), static_cast<std::size_t>(size));
  return made == text ? "" : "munge vouches for another text";
}

}  // namespace bp::launcher
