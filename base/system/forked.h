// Tells an object whether it is used in the process that made it, or in one that was forked from
// that. A forked process has none of the other's threads, but its sockets, its shared memory, and
// copies of its locks as another thread may have left them: it must not touch such an object.
#pragma once

#include <deque>
#include <string_view>
#include <utility>

namespace bp {

// Returns the number of forks by which this process descends from the one that loaded bp. An object
// cannot ask getpid() in each call, because that is a system call.
[[nodiscard]] unsigned fork_count();

class ProcessMark {
 public:
  // False in a process that was forked from the one that made this object.
  [[nodiscard]] bool is_here() const { return forks_ == fork_count(); }
  // Throws invalid_argument in such a process. `called`: "all_reduce"; `object`: "communicator".
  void refuse_elsewhere(std::string_view called, std::string_view object) const {
    if (!is_here()) refuse(called, object);
  }

 private:
  [[noreturn]] static void refuse(std::string_view called, std::string_view object);

  unsigned forks_ = fork_count();
};

// Keeps what a forked process must not destroy until the process ends.
template <class Owner>
void keep_undestroyed(Owner owner) {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static auto* const kKept = new std::deque<Owner>();
  kKept->push_back(std::move(owner));
}

}  // namespace bp
