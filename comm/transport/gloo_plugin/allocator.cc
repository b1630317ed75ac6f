// With RTLD_DEEPBIND the plugin and Gloo prefer the symbols of their own libraries, including the C
// library's malloc. If the program uses another allocator (jemalloc, tcmalloc or mimalloc by
// LD_PRELOAD), one would free memory of the other: "free(): invalid pointer". The plugin's symbols
// come first for Gloo, so the plugin defines these functions and forwards them to the program's.
// operator new and delete need no such function: libstdc++ was loaded before, and calls the
// program's malloc.
#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>

namespace {

struct Allocator {
  void* (*malloc)(std::size_t);
  void (*free)(void*);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
};

template <class Function>
void find(void* program, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(program, name));
  if (function == nullptr) std::abort();
}

Allocator find_all() {
  // Searches the program's scope, where preloaded libraries come first. RTLD_DEFAULT would find the
  // functions of this file.
  void* const program = ::dlopen(nullptr, RTLD_LAZY);
  if (program == nullptr) std::abort();
  Allocator found = {};
  find(program, "malloc", found.malloc);
  find(program, "free", found.free);
  find(program, "calloc", found.calloc);
  find(program, "realloc", found.realloc);
  find(program, "posix_memalign", found.posix_memalign);
  find(program, "aligned_alloc", found.aligned_alloc);
  return found;
}

// Found at the first use, which may be in an initializer of a library that is loaded with the
// plugin.
const Allocator& program() {
  static const Allocator kFound = find_all();
  return kFound;
}

}  // namespace

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the system's have other names
#pragma GCC visibility push(default)
extern "C" {
void* malloc(std::size_t size) noexcept { return program().malloc(size); }
void free(void* memory) noexcept { program().free(memory); }
void* calloc(std::size_t count, std::size_t size) noexcept { return program().calloc(count, size); }
void* realloc(void* memory, std::size_t size) noexcept { return program().realloc(memory, size); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  return program().posix_memalign(memory, alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return program().aligned_alloc(alignment, size);
}
}
#pragma GCC visibility pop
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
