#include "tests/support/last_operation.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "bp/collective.h"
#include "bp/communicator.h"

namespace bp::test {
namespace {

using Elements = std::vector<std::int32_t>;

constexpr std::array kOperations{"all_reduce", "broadcast", "reduce", "all_gather",
                                 "message",    "messages",  "group"};

Elements elements(std::size_t count, int first, int step) {
  Elements all(count);
  for (std::int32_t value = first; std::int32_t & element : all) {
    element = value;
    value += step;
  }
  return all;
}

bool sums(Communicator& comm, std::size_t count) {
  const int size = comm.size();
  Elements data = elements(count, comm.rank(), 1);
  all_reduce(comm, view(data));
  return data == elements(count, size * (size - 1) / 2, size);
}

bool sums_to_root(Communicator& world, std::size_t count) {
  const int size = world.size();
  Elements data = elements(count, world.rank(), 1);
  reduce(world, view(data));
  return world.rank() != 0 || data == elements(count, size * (size - 1) / 2, size);
}

bool broadcasts(Communicator& world, std::size_t count) {
  Elements data = elements(count, world.rank(), 1);
  broadcast(world, view(data));
  return data == elements(count, 0, 1);
}

bool gathers(Communicator& world, std::size_t count) {
  const Elements own = elements(count, world.rank(), 1);
  Elements all(count * static_cast<std::size_t>(world.size()));
  all_gather(world, const_view(own), view(all));
  Elements right;
  for (int rank = 0; rank < world.size(); ++rank) {
    const Elements part = elements(count, rank, 1);
    right.insert(right.end(), part.begin(), part.end());
  }
  return all == right;
}

bool sends(Communicator& world, std::size_t count, int messages) {
  std::vector<Elements> data;
  for (int k = 0; k < messages; ++k) data.push_back(elements(count, k * (world.rank() + 1), 1));
  std::vector<Work> sent;
  for (Elements& message : data) {
    for (int peer = 1; peer < world.size(); ++peer) {
      if (world.rank() == 0) sent.push_back(send_async(world, const_view(message), peer));
    }
    if (world.rank() != 0) receive(world, view(message), 0);
  }
  for (Work& work : sent) work.wait();
  bool right = true;
  for (int k = 0; k < messages; ++k) {
    right = right && data[static_cast<std::size_t>(k)] == elements(count, k, 1);
  }
  return right;
}

bool sums_in_group(Communicator& world, std::size_t count) {
  Communicator group = world.split(0);
  const bool right = sums(group, count);
  group.finish();
  return right;
}

bool is_right(const std::string& operation, Communicator& world, std::size_t count) {
  if (operation == "all_reduce") return sums(world, count);
  if (operation == "broadcast") return broadcasts(world, count);
  if (operation == "reduce") return sums_to_root(world, count);
  if (operation == "all_gather") return gathers(world, count);
  if (operation == "message") return sends(world, count, 1);
  if (operation == "messages") return sends(world, count, 4);
  if (operation == "group") return sums_in_group(world, count);
  std::fprintf(stderr, "no operation is called %s\n", operation.c_str());
  return false;
}

}  // namespace

int end_with(const std::string& operation, std::size_t count) {
  if (operation == "each") {
    const auto fails = [count](const char* one) { return end_with(one, count) != 0; };
    return std::ranges::any_of(kOperations, fails) ? 1 : 0;
  }
  CommunicatorOptions options;
  options.timeout = std::chrono::seconds(20);
  Communicator world = Communicator::create(options);
  barrier(world);
  const auto begin = std::chrono::steady_clock::now();
  const bool right = is_right(operation, world, count);
  std::printf("%s is over\n", operation.c_str());
  std::fflush(stdout);
  world.finish();
  const auto took = std::chrono::steady_clock::now() - begin;
  const auto shown = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  std::printf("%s ended after %lld ms\n", operation.c_str(), static_cast<long long>(shown));
  return right ? 0 : 1;
}

}  // namespace bp::test
