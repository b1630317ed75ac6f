// RTLD_DEEPBIND makes the plugin and Gloo prefer what they bring themselves, the C library's malloc
// included. Where the program runs with another one (jemalloc, tcmalloc, mimalloc by LD_PRELOAD),
// memory from one would be freed by the other: "free(): invalid pointer". So the plugin, whose
// symbols come first for Gloo, brings these: they go to whatever the program uses. operator new and
// delete need none: libstdc++ was there before and its malloc is the program's.
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
  // The program's own scope, preloaded libraries first; RTLD_DEFAULT would find ourselves.
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

// On first use, which may be an initializer of a library that was loaded with us.
const Allocator& program() {
  static const Allocator found = find_all();
  return found;
}

}  // namespace

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): with the system's names
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
