#include "base/keys/job_key.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace bp {
namespace {

TEST(JobKey, IsFreshEachTime) { EXPECT_NE(random_job_key(), random_job_key()); }

TEST(JobKey, CanBeReadAnyNumberOfTimes) {
  const JobKey key = random_job_key();
  const Fd fd = share_job_key(key);
  EXPECT_EQ(read_job_key(fd.get()), key);
  EXPECT_EQ(read_job_key(fd.get()), key);
}

TEST(JobKey, SurvivesExec) {
  const Fd fd = share_job_key(random_job_key());
  EXPECT_EQ(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(JobKey, CanNoLongerBeChanged) {
  const Fd fd = share_job_key(random_job_key());
  const char byte = 0;
  EXPECT_EQ(::pwrite(fd.get(), &byte, 1, 0), -1);
  EXPECT_NE(::ftruncate(fd.get(), 0), 0);
  EXPECT_NE(::ftruncate(fd.get(), 64), 0);
  EXPECT_EQ(::mmap(nullptr, 32, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0), MAP_FAILED);
  EXPECT_NE(::fcntl(fd.get(), F_ADD_SEALS, 0), 0);
}

}  // namespace
}  // namespace bp
