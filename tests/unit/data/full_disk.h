// A limit on the size of files stands in for a full disk.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "bp/error.h"
#include "tests/support/scratch.h"

namespace bp::trainer {

// Runs `body` in a child process whose files may each have at most `room` bytes. `body` must throw
// an Error (io). Returns the text of that error.
inline std::string error_on_full_disk(const Scratch& scratch,
                                      rlim_t room,
                                      const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{room, room};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      body();
    } catch (const Error& error) {
      scratch.write("error", error.what());
      ::_exit(error.code() == ErrorCode::io ? 0 : 2);
    }
    ::_exit(1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::string text = read_file(scratch.path("error"));
  std::filesystem::remove(scratch.path("error"));
  return text;
}

}  // namespace bp::trainer
