// Messages of device memory, which go through host memory.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include "bp/collective.h"
#include "tests/ranks/device_copy.h"
#include "tests/ranks/device_numbers.h"
#include "tests/ranks/program_stream.h"
#include "tests/support/fake_cuda/use.h"
#include "tests/support/refusal.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;

// docs/acceptance.md, Devices: Messages go from host or device memory to either.
TEST(DeviceMessages, GoFromAnyMemoryToAny) {
  for (const std::size_t count : {std::size_t{10}, std::size_t{50'000}}) {
    run_ranks(2, [&](Communicator& comm) {
      const int peer = 1 - comm.rank();
      std::vector<float> host = numbers(count, static_cast<float>(comm.rank()));
      const OnDevice own(const_view(host));
      const OnDevice other(const_view(host));
      for (const int from_device : {0, 1}) {
        for (const int to_device : {0, 1}) {
          std::vector<float> got(count);
          Work sent = send_async(comm, from_device != 0 ? own.view() : view(host), peer);
          const MessageStatus status =
              receive(comm, to_device != 0 ? other.view() : view(got), peer);
          EXPECT_EQ(status.count, count);
          sent.wait();
          if (to_device != 0) got = values_of(other, count);
          EXPECT_EQ(got, numbers(count, static_cast<float>(peer)));
        }
      }
    });
  }
}

// docs/acceptance.md, Devices: Messages come after the work of their stream.
TEST(DeviceMessages, ComeAfterTheWorkOfTheirStream) {
  run_ranks(2, [](Communicator& comm) {
    const ProgramStream stream;
    const OnDevice data(const_view(std::vector<float>(100, -1)));
    if (comm.rank() == 0) {
      stream.pause(30);
      stream.write(data.view(), std::vector<float>(100, 2));
      send(comm, data.view(), 1, {.stream = stream.get()});
    } else {
      const OnDevice longer(const_view(std::vector<float>(200, -1)));
      MessageStatus status;
      Work work = receive_async(comm, longer.view(), 0, {.at_most = true}, &status);
      while (!work.done()) std::this_thread::sleep_for(1ms);
      EXPECT_EQ(status.count, 100U);
      std::vector<float> expected(100, 2);
      expected.resize(200, -1);
      EXPECT_EQ(values_of(longer, 200), expected);
    }
  });
}

TEST(DeviceMessages, AStreamThatDoesNotEndIsATimeout) {
  run_ranks(1, [](Communicator& comm) {
    const ProgramStream stream;
    const OnDevice data(const_view(std::vector<float>(1)));
    stream.pause(500);
    EXPECT_EQ(error_of([&] {
                static_cast<void>(
                    send_async(comm, data.view(), 0, {.timeout = 50ms, .stream = stream.get()}));
              }),
              "timeout: rank 0 waited 50 ms in message of 1 f32 from rank 0 to rank 0 for the work "
              "that its stream on cuda:0 had before");
  });
}

}  // namespace
}  // namespace bp::test
