// Measures how fast these cores can move memory at best: copy_bench THREADS MIB. All threads copy
// at once, each from one buffer of its own to another: first with memcpy, then past the caches,
// with non-temporal stores, which do not read a line before they overwrite it. The buffers are on
// huge pages if the machine has them. Prints the bytes read and written per second, over all
// threads: the fastest of seven rounds of each way (0 if this processor has no such stores), and
// the faster way. No program on these cores can read and write as many bytes faster.
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <sys/mman.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

namespace {

constexpr int kRounds = 7;
using Clock = std::chrono::steady_clock;
using Copy = void (*)(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes);

// Copies pairs of cache lines: `bytes` must be a multiple of two lines, and both buffers must begin
// with a line.
#if defined(__x86_64__)
__attribute__((target("avx"))) void copy_past_caches(std::uint8_t* to,
                                                     const std::uint8_t* from,
                                                     std::size_t bytes) {
  const auto* in = reinterpret_cast<const __m256i*>(from);
  auto* out = reinterpret_cast<__m256i*>(to);
  for (std::size_t i = 0; i < bytes / sizeof(__m256i); i += 4) {
    const __m256i a = _mm256_load_si256(in + i);
    const __m256i b = _mm256_load_si256(in + i + 1);
    const __m256i c = _mm256_load_si256(in + i + 2);
    const __m256i d = _mm256_load_si256(in + i + 3);
    _mm256_stream_si256(out + i, a);
    _mm256_stream_si256(out + i + 1, b);
    _mm256_stream_si256(out + i + 2, c);
    _mm256_stream_si256(out + i + 3, d);
  }
  _mm_sfence();
}
bool can_copy_past_caches() { return __builtin_cpu_supports("avx") != 0; }
#else
constexpr Copy copy_past_caches = nullptr;
bool can_copy_past_caches() { return false; }
#endif

void copy_by_memcpy(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

class Pages {
 public:
  Pages(std::size_t bytes, int value)
      : bytes_(bytes),
        at_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (at_ == MAP_FAILED) throw std::bad_alloc();
    ::madvise(at_, bytes, MADV_HUGEPAGE);
    std::memset(at_, value, bytes);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::munmap(at_, bytes_); }
  [[nodiscard]] std::uint8_t* data() const { return static_cast<std::uint8_t*>(at_); }

 private:
  std::size_t bytes_;
  void* at_;
};

double gigabytes_a_second(int threads, std::size_t bytes, Copy copy) {
  std::vector<Clock::time_point> ticks;
  // The last thread to arrive records the time.
  std::barrier barrier(threads, [&ticks]() noexcept { ticks.push_back(Clock::now()); });
  ticks.reserve(kRounds + 2);
  const auto copy_all = [&] {
    const Pages from(bytes, 1);
    const Pages to(bytes, 2);
    for (int round = 0; round < kRounds + 1; ++round) {
      barrier.arrive_and_wait();
      copy(to.data(), from.data(), bytes);
    }
    barrier.arrive_and_wait();
  };
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(copy_all);
  for (std::thread& thread : all) thread.join();
  auto least = Clock::duration::max();
  for (std::size_t i = 2; i < ticks.size(); ++i) {  // the first round warms up
    least = std::min(least, ticks[i] - ticks[i - 1]);
  }
  return 2e-9 * static_cast<double>(bytes) * threads / std::chrono::duration<double>(least).count();
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc == 3 ? std::atoi(argv[1]) : 0;
  const int mebibytes = argc == 3 ? std::atoi(argv[2]) : 0;
  if (threads < 1 || mebibytes < 1) {
    std::fprintf(stderr, "usage: copy_bench THREADS MIB\n");
    return 2;
  }
  const std::size_t bytes = static_cast<std::size_t>(mebibytes) << 20;
  const double plain = gigabytes_a_second(threads, bytes, copy_by_memcpy);
  const double past_caches =
      can_copy_past_caches() ? gigabytes_a_second(threads, bytes, copy_past_caches) : 0;
  std::printf(
      "{\"threads\":%d,\"bytes\":%zu,\"memcpy_gbps\":%.3f,\"past_caches_gbps\":%.3f,"
      "\"most_gbps\":%.3f}\n",
      threads, bytes, plain, past_caches, std::max(plain, past_caches));
}
