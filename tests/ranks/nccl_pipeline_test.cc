// Operations of NCCL that run on the device while the program or the next operation goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bp/collective.h"
#include "bp/error.h"
#include "tests/ranks/nccl_ranks.h"
#include "tests/ranks/program_stream.h"
#include "tests/support/refusal.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::HasSubstr;

// The device does all of these by itself, so the program's thread waits for none of them.
TEST(NcclOrder, WaitOfAStreamDoesNotBlockWhereTheDeviceComputes) {
  run_ranks(
      3,
      [](Communicator& comm) {
        take_own_device(comm);
        all_reduce(comm, Floats({0}).view());  // connects
        const ProgramStream stream(test_device);
        Floats data(std::vector<float>(100, 6));
        Floats other(std::vector<float>(20'000, 3));
        const auto runs = [&](const auto& start) {
          std::vector<int> was_early = {0};
          for (int pause = 100; was_early[0] == 0 && pause < 10'000; pause *= 2) {
            stream.pause(pause);
            const auto before = stream.record();
            start().wait(stream.get());
            was_early[0] = before->reached() ? 0 : 1;
            static_cast<void>(stream.finished(1));
            all_reduce(comm, bp::view(was_early), {.op = ReduceOp::min});
          }
          return was_early[0] == 1;
        };
        EXPECT_TRUE(runs([&] {
          return all_reduce_async(comm, data.view(),
                                  {.op = ReduceOp::average, .stream = stream.get()});
        }));
        EXPECT_THAT(data.values(), Each(6));
        EXPECT_TRUE(runs([&] {
          return all_reduce_async(comm, data.view(),
                                  {.op = ReduceOp::average,
                                   .prescale = 3,
                                   .postscale = 1.0 / 3,
                                   .stream = stream.get()});
        }));
        EXPECT_THAT(data.values(), Each(6));
        const std::vector<View> group = {data.view(), other.view()};
        EXPECT_TRUE(runs([&] {
          return all_reduce_grouped_async(comm, group,
                                          {.op = ReduceOp::average, .stream = stream.get()});
        }));
        EXPECT_THAT(data.values(), Each(6));
        EXPECT_THAT(other.values(), Each(3));
      },
      with_nccl());
}

// The first operation waits for its stream, and the second is with NCCL meanwhile.
TEST(NcclPipeline, TheNextOperationIsEnqueuedWhileTheLastOneRuns) {
  run_ranks(
      2,
      [](Communicator& comm) {
        take_own_device(comm);
        Floats data(std::vector<float>(100, 1));
        all_reduce(comm, data.view());
        const ProgramStream stream(test_device);
        std::vector<int> overlapped = {0};
        int rounds = 0;
        for (int pause = 200; overlapped[0] == 0 && pause < 10'000; pause *= 2, ++rounds) {
          const int before = nccl_calls("ncclAllReduce");
          barrier(comm);
          stream.pause(pause);
          const auto held = stream.record();
          Work first = all_reduce_async(comm, data.view(), {.stream = stream.get()});
          Work second = all_reduce_async(comm, data.view());
          const auto begun = [&] { return nccl_calls("ncclAllReduce") >= before + 4; };
          while (!begun() && !held->reached()) std::this_thread::sleep_for(1ms);
          overlapped[0] = held->reached() || first.done() || second.done() ? 0 : 1;
          second.wait();
          EXPECT_TRUE(first.done());
          barrier(comm);
          all_reduce(comm, bp::view(overlapped), {.op = ReduceOp::min});
        }
        EXPECT_EQ(overlapped[0], 1);
        EXPECT_THAT(data.values(), Each(1 << (1 + 2 * rounds)));
      },
      with_nccl());
}

TEST(NcclPipeline, OperationsEndInTheirOrderHoweverManyThereAre) {
  run_ranks(
      2,
      [](Communicator& comm) {
        take_own_device(comm);
        constexpr int kOperations = 80;  // more than may run at a time
        std::vector<Floats> data;
        for (int i = 0; i < kOperations; ++i)
          data.emplace_back(std::vector<float>(10, static_cast<float>(i)));
        std::vector<Work> works;
        for (const Floats& one : data) works.push_back(all_reduce_async(comm, one.view()));
        works.back().wait();
        for (std::size_t i = 0; i < works.size(); ++i) {
          EXPECT_TRUE(works[i].done());
          EXPECT_THAT(data[i].values(), Each(2 * i));
        }
        EXPECT_EQ(comm.recent().size(), kOperations);
      },
      with_nccl());
}

// What goes through the host reads the result of what ran on the device.
TEST(NcclPipeline, AnOperationOfTheHostComesAfterThoseOfTheDevice) {
  run_ranks(
      2,
      [](Communicator& comm) {
        take_own_device(comm);
        Floats data(std::vector<float>(100, 1));
        Floats all(std::vector<float>(200, -1));
        all_reduce(comm, data.view());
        const ProgramStream stream(test_device);
        stream.pause(50);
        Work sum = all_reduce_async(comm, data.view(), {.stream = stream.get()});
        Work gathered = gather_async(comm, data.view(), comm.rank() == 0 ? all.view() : View{});
        gathered.wait();
        EXPECT_TRUE(sum.done());
        EXPECT_THAT(all.values(), Each(comm.rank() == 0 ? 4 : -1));
      },
      with_nccl());
}

// As without the operations before it: its time begins when they have ended.
TEST(NcclPipeline, TheTimeOfEarlierOperationsDoesNotCount) {
  run_ranks(
      2,
      [](Communicator& comm) {
        take_own_device(comm);
        Floats data({1});
        all_reduce(comm, data.view());
        const ProgramStream stream(test_device);
        stream.pause(2500);
        Work held = all_reduce_async(comm, data.view(), {.stream = stream.get()});
        Work next = all_reduce_async(comm, data.view(), {.timeout = 2000ms});
        Work late =
            comm.rank() == 0 ? Work() : all_reduce_async(comm, data.view(), {.timeout = 2000ms});
        next.wait();
        if (comm.rank() == 0) late = all_reduce_async(comm, data.view(), {.timeout = 2000ms});
        late.wait();
        EXPECT_THAT(data.values(), Each(16));
      },
      with_nccl());
}

// Rank 1 waits for rank 0 in the third operation when the second one's time is over.
// docs/acceptance.md, Devices: An operation of NCCL keeps its deadline while the next one waits for
// a rank.
TEST(NcclPipeline, ADeadlineIsKeptWhileTheNextOperationWaitsForARank) {
  const Variable endless("FAKE_NCCL_ENDLESS", "0:2");
  const int aborted = nccl_calls("ncclCommAbort");
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = try_ranks(
      2,
      [](Communicator& comm) {
        take_own_device(comm);
        const Floats data({1});
        all_reduce(comm, data.view());
        Work second = all_reduce_async(comm, data.view(), {.timeout = 2s});
        Work third = comm.rank() == 1 ? all_reduce_async(comm, data.view()) : Work();
        EXPECT_THAT(error_of([&] { third.wait(); }),
                    HasSubstr(comm.rank() == 1 ? "timeout: " : ""));
        second.wait();
      },
      with_nccl());
  for (const std::string& error : errors) {
    EXPECT_THAT(error, testing::StartsWith("timeout: rank "));
    EXPECT_THAT(error, HasSubstr(" waited 2000 ms for cuda:")) << "either rank may be the first";
    EXPECT_THAT(error, HasSubstr(" in all_reduce sum of 1 f32: all ranks have begun it"));
  }
  EXPECT_EQ(nccl_calls("ncclCommAbort"), aborted + 2);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);  // the third one has 20
}

// docs/acceptance.md, Devices: A failure ends all operations of NCCL that run.
TEST(NcclPipeline, AFailureEndsAllThatRun) {
  const Variable fails("FAKE_NCCL_REMOTE_ERROR", "1:3");
  const auto errors = try_ranks(
      3,
      [](Communicator& comm) {
        take_own_device(comm);
        const Floats data({1});
        all_reduce(comm, data.view());
        std::vector<Work> works;
        for (int i = 0; i < 4; ++i) works.push_back(all_reduce_async(comm, data.view()));
        // The first one may have ended before the second one failed.
        for (std::size_t i = 1; i < works.size(); ++i) {
          EXPECT_THAT(error_of([&] { works[i].wait(); }), testing::StartsWith("peer_lost: "));
        }
        all_reduce(comm, data.view());
      },
      with_nccl());
  EXPECT_THAT(errors, Each(testing::StartsWith("aborted: this communicator has already failed")));
}

TEST(NcclPipeline, TheEndOfACommunicatorEndsWhatRuns) {
  const int aborted = nccl_calls("ncclCommAbort");
  const int begun = nccl_calls("ncclAllReduce");
  static_cast<void>(try_ranks(
      2,
      [&](Communicator& comm) {
        take_own_device(comm);
        auto data = std::make_unique<Floats>(std::vector<float>{1});
        all_reduce(comm, data->view());
        const ProgramStream stream(test_device);
        stream.pause(300);
        Work work = all_reduce_async(comm, data->view(), {.stream = stream.get()});
        while (nccl_calls("ncclAllReduce") < begun + 4) std::this_thread::sleep_for(1ms);
        comm.abort("enough");
        EXPECT_THAT(error_of([&] { work.wait(); }), HasSubstr("aborted: enough"));
      },
      with_nccl()));
  EXPECT_EQ(nccl_calls("ncclCommAbort"), aborted + 2);
}

// The results are those of host memory, bit for bit.
// docs/acceptance.md, Devices: Factors are NCCL's where its products equal bp's. A rank alone uses
// NCCL too.
TEST(NcclFactors, AreNcclsWhereItsProductsAreBps) {
  const auto run = [](ReduceOp op, DataType type, double factor, bool by_nccl) {
    const int made = nccl_calls("ncclRedOpCreatePreMulSum");
    run_ranks(
        2,
        [&](Communicator& comm) {
          take_own_device(comm);
          all_reduce(comm, Floats({0}).view());  // connects
          std::vector<std::byte> host(200 * size_of(type));
          for (std::size_t i = 0; i < host.size(); ++i) {
            host[i] = static_cast<std::byte>(i % 60 * static_cast<std::size_t>(comm.rank() + 1));
          }
          const View data{host.data(), 200, type};
          const OnDevice there(data);
          const CollectiveOptions options{.op = op, .prescale = factor};
          all_reduce(comm, data, options);
          all_reduce(comm, there.view(), options);
          std::vector<std::byte> back(host.size());
          there.back({back.data(), 200, type});
          EXPECT_EQ(back, host) << name_of(type) << " by " << factor;
        },
        with_nccl());
    EXPECT_EQ(nccl_calls("ncclRedOpCreatePreMulSum") > made, by_nccl)
        << name_of(type) << " by " << factor;
  };
  run(ReduceOp::average, DataType::f32, 0.1, true);
  run(ReduceOp::average, DataType::f64, 0.1, true);
  run(ReduceOp::sum, DataType::bf16, 0.75, true);
  run(ReduceOp::sum, DataType::f16, 0.75, true);
  run(ReduceOp::sum, DataType::f16, 0.1, false);  // no half
  run(ReduceOp::sum, DataType::i32, 2, false);
}

}  // namespace
}  // namespace bp::test
