// How fast these cores copy memory: copy_bench THREADS MIB. Each thread copies a buffer of its own
// into another, all at once. Prints bytes read and written a second, over all threads: the median
// of seven.
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr int kRounds = 7;
using Clock = std::chrono::steady_clock;

double gigabytes_a_second(int threads, std::size_t bytes) {
  std::vector<Clock::time_point> ticks;
  // The last to come writes down when that was.
  std::barrier meeting(threads, [&ticks]() noexcept { ticks.push_back(Clock::now()); });
  ticks.reserve(kRounds + 2);
  const auto copy = [&] {
    const auto from = std::make_unique<std::byte[]>(bytes);
    const auto to = std::make_unique<std::byte[]>(bytes);
    std::memset(from.get(), 1, bytes);
    std::memset(to.get(), 2, bytes);
    for (int round = 0; round < kRounds + 1; ++round) {
      meeting.arrive_and_wait();
      std::memcpy(to.get(), from.get(), bytes);
    }
    meeting.arrive_and_wait();
  };
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(copy);
  for (std::thread& thread : all) thread.join();
  std::vector<double> seconds;
  for (std::size_t i = 2; i < ticks.size(); ++i) {  // the first round warms up
    seconds.push_back(std::chrono::duration<double>(ticks[i] - ticks[i - 1]).count());
  }
  std::ranges::nth_element(seconds, seconds.begin() + kRounds / 2);
  return 2e-9 * static_cast<double>(bytes) * threads / seconds[kRounds / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc == 3 ? std::atoi(argv[1]) : 0;
  const int mebibytes = argc == 3 ? std::atoi(argv[2]) : 0;
  if (threads < 1 || mebibytes < 1) {
    std::fprintf(stderr, "usage: copy_bench THREADS MIB\n");
    return 2;
  }
  std::printf("{\"threads\":%d,\"bytes\":%zu,\"copy_gbps\":%.3f}\n", threads,
              static_cast<std::size_t>(mebibytes) << 20,
              gigabytes_a_second(threads, static_cast<std::size_t>(mebibytes) << 20));
}
