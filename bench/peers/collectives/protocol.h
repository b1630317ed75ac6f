// How an all-reduce (sum, in place), or another collective, is timed and checked, the same for
// every system. comm_bench and gloo.py do just this in their own words; a change here is a change
// there.
//
// Times of a size: all ranks meet in a barrier of the system, each takes the time of its call, and
// the slowest rank's counts; the median of many. They meet again before they check and refill. With
// --touch every rank writes its input anew before each such barrier; else the call finds what the
// call before has left, in whatever caches that lies.
//
// Inputs are small whole numbers that repeat after a prime number of elements, so every sum is
// exact and a block in the wrong place is wrong. Without --touch each call multiplies what it finds
// by the number of ranks, a power of two, which is exact; inputs are restored before the exponent
// is full. What stands in the buffer then is compared with ==, and covers all calls since.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace peers {

struct Arguments {
  std::string op = "all_reduce";
  std::string type = "f32";  // f16, bf16
  std::vector<std::size_t> sizes;
  bool touch = false;
  double seconds = 0.1;  // at most so long a size, but kFewest calls
};

inline constexpr std::size_t kFewest = 5;
inline constexpr std::size_t kMost = 500;
inline constexpr int kBatch = 5;  // calls between two restorations without --touch

inline Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--touch") {
      arguments.touch = true;
      continue;
    }
    if (i + 1 == argc) throw std::runtime_error("no value after " + option);
    const std::string value = argv[++i];
    if (option == "--op") {
      arguments.op = value;
    } else if (option == "--dtype") {
      arguments.type = value;
    } else if (option == "--seconds") {
      arguments.seconds = std::stod(value);
    } else if (option == "--sizes") {
      for (std::size_t at = 0; at != std::string::npos; at = value.find(',', at)) {
        if (at > 0) ++at;
        arguments.sizes.push_back(std::stoull(value.substr(at)));
      }
    } else {
      throw std::runtime_error("unknown option " + option);
    }
  }
  return arguments;
}

// Elements of one type. Only whole numbers that the type holds exactly are ever encoded.
struct Type {
  std::string name;
  std::size_t bytes;
  int values;  // inputs are 1 to this

  void encode(float value, std::byte* to) const {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto half =
        static_cast<std::uint16_t>(name == "f16" ? (bits >> 13) - ((127 - 15) << 10) : bits >> 16);
    if (bytes == 4) {
      std::memcpy(to, &value, 4);
    } else {
      std::memcpy(to, &half, 2);
    }
  }
};

inline Type type_named(const std::string& name) {
  if (name == "f32") return {name, 4, 1000};
  if (name == "bf16") return {name, 2, 7};
  if (name == "f16") return {name, 2, 7};
  throw std::runtime_error("no type " + name);
}

inline constexpr std::size_t kPeriod = 4093;

inline int element(const Type& type, int rank, std::size_t j) {
  const std::uint64_t x = (j % kPeriod + 1) * 2654435761U + static_cast<unsigned>(rank) * 40503U;
  return 1 + static_cast<int>((x >> 8) % static_cast<unsigned>(type.values));
}

// One period of a rank's input, or of the sum of `ranks` inputs times 2^doublings.
inline std::vector<std::byte> input_period(const Type& type, int rank) {
  std::vector<std::byte> period(kPeriod * type.bytes);
  for (std::size_t j = 0; j < kPeriod; ++j) {
    type.encode(static_cast<float>(element(type, rank, j)), &period[j * type.bytes]);
  }
  return period;
}

inline std::vector<std::byte> sum_period(const Type& type, int ranks, int doublings) {
  std::vector<std::byte> period(kPeriod * type.bytes);
  for (std::size_t j = 0; j < kPeriod; ++j) {
    int sum = 0;
    for (int r = 0; r < ranks; ++r) sum += element(type, r, j);
    type.encode(std::ldexp(static_cast<float>(sum), doublings), &period[j * type.bytes]);
  }
  return period;
}

// Another collective than an all-reduce, on f32: the same call gives the same result each time.
struct Collective {
  std::size_t input = 0;   // elements
  std::size_t output = 0;  // elements; 0: the result takes the input's place
  std::function<void(float* input, float* output)> call;
  std::function<int(std::size_t i)> expected;  // element i of this rank's result
};

// A System has rank(), size(), barrier(), all_reduce(data, count) of the type it was made for, and
// largest(values): element by element over all ranks. If it has collective(op, count), it is also
// measured with those. `count` is that of comm_bench: what a rank has, or all ranks together if
// each has a share.
template <class System>
class Bench {
 public:
  Bench(System& system, const Arguments& arguments)
      : system_(system),
        arguments_(arguments),
        type_(type_named(arguments.type)),
        input_(input_period(type_, system.rank())) {
    if (system.size() != 1 && system.size() != 2 && system.size() != 4) {
      throw std::runtime_error("only 1, 2 and 4 ranks leave room for exact sums in every type");
    }
    doublings_ = std::bit_width(static_cast<unsigned>(system.size())) - 1;
  }

  void run() {
    for (const std::size_t bytes : arguments_.sizes) measure(bytes);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void measure(std::size_t bytes) {
    count_ = bytes / type_.bytes;
    if (arguments_.op != "all_reduce") {
      if constexpr (requires { system_.collective(arguments_.op, count_); }) {
        collective_ = system_.collective(arguments_.op, count_);
        count_ = collective_.input;
        output_ = memory(collective_.output * type_.bytes);
      } else {
        throw std::runtime_error("no collective but all_reduce");
      }
    }
    data_ = memory(count_ * type_.bytes);
    std::vector<double> seconds;
    double wrong = batch(1, seconds);  // to warm up
    seconds.clear();
    const auto begin = Clock::now();
    const auto enough = [&] {
      if (seconds.size() < kFewest) return false;
      const double spent = std::chrono::duration<double>(Clock::now() - begin).count();
      return seconds.size() >= kMost || system_.largest({spent})[0] >= arguments_.seconds;
    };
    while (!enough()) wrong += batch(arguments_.touch ? 1 : kBatch, seconds);
    seconds.push_back(wrong);
    report(bytes, system_.largest(seconds));
  }

  // Writes the input, makes `calls` timed calls, and counts the elements that are not right then.
  double batch(int calls, std::vector<double>& seconds) {
    restore();
    if (!arguments_.touch) call();
    for (int i = 0; i < calls; ++i) {
      system_.barrier();
      const auto begin = Clock::now();
      call();
      seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
    system_.barrier();  // or who shares our core would wait for our check within its call
    return wrong_after(calls + (arguments_.touch ? 0 : 1));
  }

  void call() {
    if (collective_.call) {
      collective_.call(floats(data_), floats(output_));
    } else {
      system_.all_reduce(data_.get(), count_);
    }
  }

  void restore() {
    if (output_) std::memset(output_.get(), 0xff, collective_.output * type_.bytes);
    const std::size_t bytes = count_ * type_.bytes;
    for (std::size_t at = 0; at < bytes; at += input_.size()) {
      std::memcpy(data_.get() + at, input_.data(), std::min(input_.size(), bytes - at));
    }
  }

  double wrong_after(int calls) const {
    if (collective_.call) return wrong_in_result();
    const std::vector<std::byte> right =
        sum_period(type_, system_.size(), (calls - 1) * doublings_);
    const std::size_t bytes = count_ * type_.bytes;
    double wrong = 0;
    for (std::size_t at = 0; at < bytes; at += right.size()) {
      const std::size_t length = std::min(right.size(), bytes - at);
      if (std::memcmp(data_.get() + at, right.data(), length) == 0) continue;
      for (std::size_t i = 0; i < length; i += type_.bytes) {
        wrong += std::memcmp(data_.get() + at + i, &right[i], type_.bytes) != 0;
      }
    }
    return wrong;
  }

  double wrong_in_result() const {
    const float* const result = floats(collective_.output > 0 ? output_ : data_);
    const std::size_t count = collective_.output > 0 ? collective_.output : count_;
    double wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
      wrong += result[i] != static_cast<float>(collective_.expected(i));
    }
    return wrong;
  }

  void report(std::size_t bytes, std::vector<double> seconds) const {
    if (system_.rank() != 0) return;
    const double wrong = seconds.back();
    seconds.pop_back();
    std::sort(seconds.begin(), seconds.end());
    std::printf("{\"bytes\":%zu,\"median_us\":%.3f,\"calls\":%zu,\"wrong\":%.0f}\n", bytes,
                seconds[(seconds.size() - 1) / 2] * 1e6, seconds.size(), wrong);
    std::fflush(stdout);
  }

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<std::byte[], Free>;

  static Memory memory(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    return Memory(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
  }
  static float* floats(const Memory& memory) { return reinterpret_cast<float*>(memory.get()); }

  System& system_;
  const Arguments arguments_;
  const Type type_;
  const std::vector<std::byte> input_;
  int doublings_ = 0;  // what one call does to what all ranks have alike
  std::size_t count_ = 0;
  Collective collective_;  // without a call: all_reduce
  Memory data_;
  Memory output_;
};

}  // namespace peers
