// Runs a part of a test without the rights of root, whom the modes of files do not bind.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bp {

// Gives a process of root the rights of the user nobody. Ends the process if that fails.
inline void drop_root() {
  constexpr uid_t kNobody = 65534;
  constexpr int kCannot = 99;
  if (::geteuid() == 0 && (::setresgid(kNobody, kNobody, kNobody) != 0 ||
                           ::setresuid(kNobody, kNobody, kNobody) != 0)) {
    ::_exit(kCannot);
  }
}

// Runs `body` in a child process that is not root. A failure there fails the test.
template <class Body>
void as_nobody(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    drop_root();
    body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace bp
