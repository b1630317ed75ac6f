#include "comm/shared/process_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "base/system/fd.h"
#include "comm/transport/transport.h"
#include "tests/support/open_memory.h"

namespace bp::test {
namespace {

using testing::HasSubstr;

constexpr std::size_t kPage = 4096;

// Memory of which a child has a copy at the same address.
class Child {
 public:
  Child() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) != 0) std::abort();
    parent_ = Fd(ends[0]);
    process_ = ::fork();
    if (process_ == 0) {
      char end = 0;
      parent_ = Fd();
      const bool ended = ::read(ends[1], &end, 1) == 0;
      ::_exit(ended ? 0 : 1);
    }
    ::close(ends[1]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }
  void end() {
    parent_ = Fd();
    if (process_ > 0) ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  [[nodiscard]] pid_t process() const { return process_; }

 private:
  Fd parent_;
  pid_t process_;
};

std::uint64_t address_of(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

template <class Action>
std::string failure_of(const Action& action, ErrorCode code) {
  try {
    action();
  } catch (const TransportFailure& failure) {
    EXPECT_EQ(failure.code(), code);
    return failure.what();
  }
  return "no failure";
}

class ProcessMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kernel_opens_memory()) return;
    GTEST_SKIP() << "the kernel lets no process access the memory of another";
  }
  void TearDown() override { ::munmap(pages_, 2 * kPage); }
  // The second page cannot be accessed.
  std::byte* map_pages() {
    void* const pages =
        ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(pages, MAP_FAILED);
    EXPECT_EQ(::mprotect(static_cast<std::byte*>(pages) + kPage, kPage, PROT_NONE), 0);
    return static_cast<std::byte*>(pages);
  }

  std::byte* const pages_ = map_pages();
  std::array<std::byte, 2 * kPage> own_{};
};

TEST_F(ProcessMemoryTest, ReadsAndWritesAnotherProcess) {
  pages_[5] = std::byte{1};
  const Child child;
  const ProcessMemory memory(child.process());
  pages_[5] = std::byte{2};
  own_[0] = std::byte{3};
  memory.write(address_of(pages_ + 6), own_.data(), 1);
  memory.read(own_.data(), address_of(pages_ + 5), 2);
  EXPECT_EQ(own_[0], std::byte{1});
  EXPECT_EQ(own_[1], std::byte{3});
  EXPECT_EQ(pages_[6], std::byte{0});
}

TEST_F(ProcessMemoryTest, KnowsWhatItCanRead) {
  std::uint64_t shown = 42;
  const Child child;
  const ProcessMemory::Sample sample{address_of(&shown), 42};
  EXPECT_TRUE(ProcessMemory(child.process()).can_read(sample));
  EXPECT_FALSE(ProcessMemory(child.process()).can_read({sample.address, 43}));
  EXPECT_FALSE(ProcessMemory(child.process()).can_read({address_of(pages_ + kPage), 0}));
  EXPECT_FALSE(ProcessMemory().can_read(sample));
}

TEST_F(ProcessMemoryTest, ForeignAddressesAreAnError) {
  const Child child;
  const ProcessMemory memory(child.process());
  // The first page is transferred, and then the call fails.
  EXPECT_THAT(
      failure_of([&] { memory.read(own_.data(), address_of(pages_), own_.size()); }, ErrorCode::io),
      HasSubstr("cannot read its memory: Bad address"));
  EXPECT_THAT(failure_of([&] { memory.write(address_of(pages_), own_.data(), own_.size()); },
                         ErrorCode::io),
              HasSubstr("cannot write to its memory: Bad address"));
}

TEST_F(ProcessMemoryTest, AnEndedProcessIsLost) {
  Child child;
  const ProcessMemory memory(child.process());
  child.end();
  EXPECT_EQ(
      failure_of([&] { memory.read(own_.data(), address_of(pages_), 1); }, ErrorCode::peer_lost),
      "its process has ended");
}

}  // namespace
}  // namespace bp::test
