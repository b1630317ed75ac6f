// What a shared library of bp shows. Everything is compiled hidden; a public header opens its
// namespace as `namespace BP_API bp`, so that what it declares is seen from outside, and hides
// again what a class only names: `class BP_HIDDEN Impl;`.
#pragma once

#define BP_API [[gnu::visibility("default")]]
#define BP_HIDDEN [[gnu::visibility("hidden")]]
