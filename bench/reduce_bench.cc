// Measures the reduction kernels against a copy of the same size. A sum reads two arrays and writes
// one, so it moves 1.5 times the bytes of a copy. `of_copy` is the kernel's bytes per second
// divided by those of the copy: 1 means as fast as memory allows. There are two sizes: one that
// stays in the cache, as a segment of a collective does, and one that does not.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "bp/types.h"
#include "comm/reduce/halves.h"
#include "comm/reduce/int8.h"
#include "comm/reduce/reduce.h"
#include "comm/torch/gradient_math.h"

namespace {

using bp::DataType;
using bp::ReduceOp;

constexpr std::size_t kInCache = std::size_t{256} << 10;
constexpr std::size_t kInMemory = std::size_t{64} << 20;

std::vector<std::byte> zeros(std::size_t bytes) { return std::vector<std::byte>(bytes); }

// Returns the bytes that memcpy reads and writes per second, in the best of several runs.
double copy_speed(std::size_t bytes) {
  const std::vector<std::byte> from = zeros(bytes);
  std::vector<std::byte> to = zeros(bytes);
  const std::size_t rounds = std::max<std::size_t>(kInMemory / bytes, 1);
  double best = 0;
  for (int run = 0; run < 10; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < rounds; ++i) {
      std::memcpy(to.data(), from.data(), bytes);
      benchmark::ClobberMemory();
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    best = std::max(best, 2.0 * static_cast<double>(bytes * rounds) / taken.count());
  }
  return best;
}

double copy_speed_once(std::size_t bytes) {
  static std::map<std::size_t, double> known;
  const auto [found, is_new] = known.try_emplace(bytes, 0.0);
  if (is_new) found->second = copy_speed(bytes);
  return found->second;
}

// Runs `kernel`, which moves `moved` bytes, and compares its speed with that of a copy of `bytes`.
template <class Kernel>
void run(benchmark::State& state, std::size_t bytes, std::size_t moved, const Kernel& kernel) {
  const double copy = copy_speed_once(bytes);
  const auto begin = std::chrono::steady_clock::now();
  for ([[maybe_unused]] auto _ : state) {
    kernel();
    benchmark::ClobberMemory();
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  const double speed =
      static_cast<double>(moved) * static_cast<double>(state.iterations()) / taken.count();
  state.counters["GB_moved_per_s"] = speed * 1e-9;
  state.counters["of_copy"] = speed / copy;
}

void reduce_in_place(benchmark::State& state, DataType type, ReduceOp op, std::size_t bytes) {
  std::vector<std::byte> into = zeros(bytes);
  const std::vector<std::byte> from = zeros(bytes);
  const std::size_t count = bytes / bp::size_of(type);
  run(state, bytes, 3 * bytes, [&] { bp::reduce(type, op, into.data(), from.data(), count); });
}

void widen(benchmark::State& state, DataType half, std::size_t bytes) {
  const std::vector<std::byte> from = zeros(bytes);
  std::vector<std::byte> to = zeros(2 * bytes);
  run(state, bytes, 3 * bytes, [&] { bp::widen(half, to.data(), from.data(), bytes / 2); });
}

void narrow(benchmark::State& state, DataType half, std::size_t bytes) {
  const std::vector<std::byte> from = zeros(2 * bytes);
  std::vector<std::byte> to = zeros(bytes);
  run(state, bytes, 3 * bytes, [&] { bp::narrow(half, to.data(), from.data(), bytes / 2); });
}

// To int8 with errors, and back into a sum, as between hosts.
void int8(benchmark::State& state, std::size_t bytes) {
  std::vector<std::byte> data = zeros(bytes);
  std::vector<std::byte> errors = zeros(bytes);
  const std::size_t count = bytes / sizeof(float);
  std::vector<std::byte> packed = zeros(bp::int8_bytes(count));
  run(state, bytes, 4 * bytes + 2 * packed.size(), [&] {
    bp::to_int8(packed.data(), data.data(), errors.data(), count);
    bp::add_int8(data.data(), packed.data(), count);
  });
}

void scale(benchmark::State& state, DataType type, std::size_t bytes) {
  std::vector<std::byte> data = zeros(bytes);
  run(state, bytes, 2 * bytes,
      [&] { bp::scale(type, data.data(), bytes / bp::size_of(type), 0.25); });
}

// The squares for the norm of a gradient, which each instruction set has in its own way.
void squares(benchmark::State& state, const bp::SquaresOfFloats& way, std::size_t bytes) {
  const std::vector<float> data(bytes / sizeof(float), 0.5F);
  run(state, bytes, bytes, [&] { benchmark::DoNotOptimize(way.sum(data.data(), data.size())); });
}

template <class Function, class... Arguments>
void add(const std::string& name, std::size_t bytes, Function function, Arguments... arguments) {
  const std::string full = name + (bytes == kInCache ? "/256K" : "/64M");
  benchmark::RegisterBenchmark(full.c_str(), [=](benchmark::State& state) {
    function(state, arguments..., bytes);
  })->UseRealTime();
}

void add_all(std::size_t bytes) {
  for (const DataType type : bp::kDataTypes) {
    for (const ReduceOp op : bp::kReduceOps) {
      if (!bp::can_reduce(op, type)) continue;
      add(std::string(name_of(op)) + '/' + std::string(name_of(type)), bytes, reduce_in_place, type,
          op);
    }
  }
  for (const DataType half : {DataType::f16, DataType::bf16}) {
    add("widen/" + std::string(name_of(half)), bytes, widen, half);
    add("narrow/" + std::string(name_of(half)), bytes, narrow, half);
  }
  add("int8/f32", bytes, int8);
  add("scale/f32", bytes, scale, DataType::f32);
  for (const bp::SquaresOfFloats& way : bp::ways_to_square_floats()) {
    if (way.is_supported)
      add(std::string("squares/f32/") + way.instruction_set, bytes, squares, way);
  }
}

}  // namespace

int main(int argc, char** argv) {
  add_all(kInCache);
  add_all(kInMemory);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
