// Memory of devices: a collective takes views of one device, which a backend of the communicator
// must serve.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "bp/collective.h"
#include "bp/error.h"
#include "comm/backend/common/backend.h"
#include "tests/support/refusal.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

constexpr Device kSecondGpu{Device::Kind::cuda, 1};

View on(const Device& device, View view) {
  view.device = device;
  return view;
}

class Devices : public testing::TestWithParam<Wire> {};
INSTANTIATE_TEST_SUITE_P(Wires, Devices, testing::Values(Wire::inproc, Wire::shm));

// This program finds no CUDA, whatever the machine has.
const int kWithoutCuda = ::setenv("BP_CUDA_RUNTIME", "/nowhere/libcudart.so", 1);

// docs/acceptance.md, Devices: Without a device or its library the error says why.
TEST_P(Devices, MemoryThatIsNotThereIsRefusedBeforeAnythingIsSent) {
  ASSERT_EQ(kWithoutCuda, 0);
  const std::string why =
      " lies on cuda:1, but BP_CUDA_RUNTIME names no library that loads: /nowhere/libcudart.so: "
      "cannot open shared object file: No such file or directory";
  run_ranks(2,
            [&](Communicator& comm) {
              std::vector<float> data(4, 1);
              std::vector<float> other(8);
              const View there = on(kSecondGpu, view(data));
              const View all_there = on(kSecondGpu, view(other));
              EXPECT_EQ(error_of([&] { all_reduce(comm, there, {.name = "x"}); }),
                        "invalid_argument: all_reduce 'x': data" + why);
              EXPECT_EQ(error_of([&] { broadcast(comm, there); }),
                        "invalid_argument: broadcast: data" + why);
              EXPECT_EQ(error_of([&] { all_gather(comm, there, all_there); }),
                        "invalid_argument: all_gather: input" + why);
              EXPECT_EQ(error_of([&] { send(comm, there, 1 - comm.rank()); }),
                        "invalid_argument: send: data" + why);
              all_reduce(comm, view(data));  // the communicator stays usable
              EXPECT_THAT(data, testing::Each(2));
            },
            {.wire = GetParam()});
}

TEST_P(Devices, MemoryOfTwoDevicesIsRefused) {
  run_ranks(
      2,
      [&](Communicator& comm) {
        std::vector<float> input(4);
        std::vector<float> output(8);
        const std::string why =
            " lies on cuda:1, and the memory before it on host; all memory of one operation must "
            "lie on one device";
        EXPECT_EQ(
            error_of([&] { all_gather(comm, const_view(input), on(kSecondGpu, view(output))); }),
            "invalid_argument: all_gather: output" + why);
        const std::vector<View> tensors = {view(input), on(kSecondGpu, view(output))};
        EXPECT_EQ(error_of([&] { all_reduce_grouped(comm, tensors); }),
                  "invalid_argument: all_reduce_grouped: tensor 1" + why);
      },
      {.wire = GetParam()});
}

TEST_P(Devices, BuffersSayWhereTheyLie) {
  run_ranks(2,
            [&](Communicator& comm) {
              EXPECT_EQ(comm.allocate(10).device(), Device{});
              EXPECT_THAT(error_of([&] { static_cast<void>(comm.allocate(10, kSecondGpu)); }),
                          testing::StartsWith("unavailable: BP_CUDA_RUNTIME names no library"));
            },
            {.wire = GetParam()});
}

// A backend of one kind of device that says what it is.
class OnlyOn : public Backend {
 public:
  explicit OnlyOn(Device::Kind kind) : kind_(kind) {}
  [[nodiscard]] std::string_view name() const override { return name_of(kind_); }
  [[nodiscard]] std::string_view algorithm_of(Operation::Kind, std::size_t) const override {
    return "none";
  }
  [[nodiscard]] bool serves(Device::Kind kind) const override { return kind == kind_; }
  void run(const Operation&, CollectiveCall&) override {}

 private:
  Device::Kind kind_;
};

TEST(BackendSets, HaveOneBackendForEachKindOfDevice) {
  BackendSet set;
  set.add(std::make_unique<OnlyOn>(Device::Kind::host));
  EXPECT_EQ(set.find(Device::Kind::cuda), nullptr);
  set.add(std::make_unique<OnlyOn>(Device::Kind::cuda));
  EXPECT_EQ(set.on(kSecondGpu).name(), "cuda");
  EXPECT_EQ(set.host().name(), "host");
}

}  // namespace
}  // namespace bp::test
