// Measures the store: 10,000 pairs of set and get by one client, and 256 clients that wait for each
// other. Each client is one rank of a job. All of them, and the server, are threads of this
// process.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/keys/job_key.h"
#include "base/text.h"
#include "bp/store.h"
#include "comm/store/server.h"

namespace bp {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int kPairs = 10'000;
constexpr int kClients = 256;
constexpr auto kLimit = 60s;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Job {
 public:
  [[nodiscard]] std::unique_ptr<Store> join(int rank) const {
    return connect_store({.address = server_.address(),
                          .job = "bench",
                          .key = key_,
                          .rank = rank,
                          .connect_timeout = kLimit});
  }

 private:
  const JobKey key_ = random_job_key();
  const StoreServer server_{{.job = "bench", .key = key_, .world_size = kClients}, {}};
};

bool measure_set_get() {
  const Job job;
  const auto store = job.join(0);
  std::vector<double> seconds;
  bool right = true;
  const auto begin = Clock::now();
  for (int i = 0; i < kPairs; ++i) {
    const std::string value = concat(i);
    const auto before = Clock::now();
    store->set("key", value);
    seconds.push_back(seconds_since(before));
    right = store->get("key", kLimit) == value && right;
  }
  const double total = seconds_since(begin);
  const auto middle = seconds.begin() + kPairs / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  std::printf("set_get: %d pairs in %.3f s (target 1 s), median set %.1f us%s\n", kPairs, total,
              *middle * 1e6, right ? "" : ", WRONG VALUES");
  store->goodbye();
  return right;
}

void measure_rendezvous() {
  const Job job;
  std::vector<std::string> keys;
  for (int rank = 0; rank < kClients; ++rank) {
    keys.push_back(concat("here/", rank));
  }
  const auto begin = Clock::now();
  std::vector<std::thread> clients;
  for (int rank = 0; rank < kClients; ++rank) {
    clients.emplace_back([&, rank] {
      const auto store = job.join(rank);
      store->set(keys[static_cast<std::size_t>(rank)], "");
      store->wait(keys, kLimit);
      store->goodbye();
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  std::printf("rendezvous: %d clients connect, meet and leave in %.3f s (target: 2 s)\n", kClients,
              seconds_since(begin));
}

}  // namespace
}  // namespace bp

int main() {
  try {
    const bool right = bp::measure_set_get();
    bp::measure_rendezvous();
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "store_bench: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
