// A wall clock that jumps, for whole programs by LD_PRELOAD. It is ahead by the seconds in the file
// that BP_TEST_CLOCK names, an int64 that a test may rewrite at any time.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#define BP_REPLACES [[gnu::visibility("default")]]

namespace {

constexpr std::int64_t kNone = 0;

const volatile std::int64_t* map_jump() {
  const char* const path = std::getenv("BP_TEST_CLOCK");
  const int file = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return &kNone;
  void* const place = ::mmap(nullptr, sizeof kNone, PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  return place == MAP_FAILED ? &kNone : static_cast<const volatile std::int64_t*>(place);
}

std::int64_t jump() {
  static const volatile std::int64_t* const kJump = map_jump();
  return *kJump;
}

}  // namespace

extern "C" {

BP_REPLACES int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, now);
  const bool is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (result == 0 && is_wall) now->tv_sec += jump();
  return static_cast<int>(result);
}

BP_REPLACES int timespec_get(timespec* now, int base) noexcept {
  return base == TIME_UTC && ::clock_gettime(CLOCK_REALTIME, now) == 0 ? base : 0;
}

BP_REPLACES int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  *now = {time.tv_sec, time.tv_nsec / 1000};
  return 0;
}

BP_REPLACES time_t time(time_t* to) noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (to != nullptr) *to = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
