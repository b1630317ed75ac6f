// Gloo's tcp/pair.h and tcp/context.h include a header that Debian's libgloo-dev leaves out. This
// one declares what they need of it: the two types that stand in the layout of their classes, as
// libgloo0 was built with them (commit 5b14351). It is used only where the system has none.
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
