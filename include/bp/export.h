// What a shared library of bp shows. Everything is compiled hidden; a public header opens its
// namespace as `namespace BP_API bp`, so that what it declares is seen from outside, and hides
// again what a class only names: `class BP_HIDDEN Impl;`.
#pragma once

#if __cplusplus <= 201703L
#error "bp needs C++20: compile with -std=c++20 (CMake: CMAKE_CXX_STANDARD 20)"
// There is no such file: the compilation ends here, before errors that say less.
#include <bp/needs_cxx20>
#endif

#define BP_API [[gnu::visibility("default")]]
#define BP_HIDDEN [[gnu::visibility("hidden")]]
