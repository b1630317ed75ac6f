// Gloo's tcp/pair.h and tcp/context.h include this header, which Debian's libgloo-dev lacks. This
// one declares what they need of it: the two types that the layout of their classes contains, as in
// the Gloo that libgloo0 was built from (commit 5b14351). It is used only if the system has no such
// header.
#pragma once

#include <memory>

namespace gloo {

template <typename T>
class NonOwningPtr final {
  std::shared_ptr<T> ptr_;
};

template <typename T>
class WeakNonOwningPtr final {
  std::weak_ptr<T> ptr_;
};

}  // namespace gloo
