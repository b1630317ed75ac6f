// The calls that a collective refuses before it sends anything, and the texts of the errors.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bp/collective.h"
#include "tests/support/refusal.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

TEST(Arguments, AllGatherInputIsApartFromOutputOrInItsOwnBlock) {
  run_ranks(2, [](Communicator& comm) {
    const std::string refused =
        "all_gather: input lies in output, but not where this rank's block belongs";
    // In place means in this rank's own block; other ranks' data would overwrite an input in
    // another block.
    std::vector<float> six(6);
    const auto gathered_from = [&](std::size_t first, std::size_t into = 0) {
      return refusal_of([&] {
        all_gather(comm, const_view(std::span(six).subspan(first, 2)),
                   view(std::span(six).subspan(into, 4)));
      });
    };
    EXPECT_EQ(gathered_from(comm.rank() == 0 ? 2 : 0), refused);
    EXPECT_EQ(gathered_from(1), refused) << "the input overlaps two blocks";
    EXPECT_EQ(gathered_from(3), refused) << "one of its two elements is in output";
    EXPECT_EQ(gathered_from(comm.rank() == 0 ? 0 : 2), "no error");
    EXPECT_EQ(gathered_from(4), "no error") << "directly behind output";
    EXPECT_EQ(gathered_from(0, 2), "no error") << "directly before output";
    const std::vector<std::size_t> counts = {1, 2};
    const auto own = counts[static_cast<std::size_t>(comm.rank())];
    const auto place = static_cast<std::size_t>(comm.rank());
    std::vector<std::int32_t> all = {1, 20, 20};
    const std::span<std::int32_t> there = std::span(all).subspan(place, own);
    const std::span<std::int32_t> elsewhere = std::span(all).subspan(1 - place, own);
    EXPECT_EQ(refusal_of([&] { all_gather_v(comm, const_view(elsewhere), view(all), counts); }),
              "all_gather_v: input lies in output, but not where this rank's block belongs");
    all_gather_v(comm, const_view(there), view(all), counts);
    EXPECT_THAT(all, ElementsAre(1, 20, 20));
  });
}

TEST(Arguments, TensorsOfAGroupDoNotOverlap) {
  run_ranks(2, [](Communicator& comm) {
    std::vector<float> six(6, 1);
    const auto part = [&](std::size_t first, std::size_t count) {
      return view(std::span(six).subspan(first, count));
    };
    const std::string refused =
        "all_reduce_grouped: two tensors overlap, and each would be reduced twice";
    std::vector<View> tensors = {part(4, 2), part(0, 3), part(2, 2)};
    EXPECT_EQ(refusal_of([&] { all_reduce_grouped(comm, tensors); }), refused);
    tensors = {part(0, 2), part(0, 2)};
    EXPECT_EQ(refusal_of([&] { all_reduce_grouped(comm, tensors); }), refused);
    tensors = {part(4, 2), part(0, 2), part(2, 2), part(2, 0)};
    all_reduce_grouped(comm, tensors);
    EXPECT_THAT(six, testing::Each(2));
  });
}

TEST(Arguments, ATimeoutMayBeForEver) {
  RanksOptions options;
  options.wire = Wire::gloo;
  options.communicator.timeout = std::chrono::milliseconds::max();
  run_ranks(
      2,
      [](Communicator& comm) {
        if (comm.rank() == 1) std::this_thread::sleep_for(50ms);
        barrier(comm);
        if (comm.rank() == 0) std::this_thread::sleep_for(50ms);
        barrier(comm, {.timeout = std::chrono::milliseconds::max()});
      },
      options);
}

TEST(Arguments, ACommunicatorThatWasMovedFromIsRefused) {
  run_ranks(2, [](Communicator& comm) {
    Communicator group = comm.split(0);
    Communicator other = std::move(group);
    const std::string refused = "another communicator was moved from this one: use that one";
    // NOLINTBEGIN(bugprone-use-after-move): what this test is about
    EXPECT_EQ(refusal_of([&] { barrier(group); }), refused);
    EXPECT_EQ(refusal_of([&] { static_cast<void>(group.rank()); }), refused);
    group = std::move(other);
    // NOLINTEND(bugprone-use-after-move)
    barrier(group);
  });
}

// docs/acceptance.md, Disagreement and misuse: What one rank can see alone is refused before
// anything is sent, and the communicator stays usable: a root that is not a rank, counts that do
// not add up, parts of the wrong length.
TEST(Arguments, AreCheckedBeforeAnythingIsSent) {
  run_ranks(2, [](Communicator& comm) {
    std::vector<float> two(2);
    std::vector<std::int32_t> one(1);
    EXPECT_EQ(refusal_of([&] { broadcast(comm, view(two), {.root = 2, .name = "w"}); }),
              "broadcast 'w': root is 2; the ranks are 0 to 1");
    EXPECT_EQ(refusal_of([&] { broadcast(comm, view(two), {.root = -1}); }),
              "broadcast: root is -1; the ranks are 0 to 1");
    EXPECT_EQ(refusal_of([&] { reduce_scatter(comm, const_view(two), view(two)); }),
              "reduce_scatter: output has 2 elements; it must have 1");
    EXPECT_EQ(refusal_of([&] { reduce_scatter(comm, const_view(two), view(one)); }),
              "reduce_scatter: input is f32 and output is i32; they must be of one type");
    const std::span block_of_the_other = std::span(two).subspan(comm.rank() == 0 ? 1 : 0, 1);
    EXPECT_EQ(refusal_of([&] { reduce_scatter(comm, const_view(two), view(block_of_the_other)); }),
              "reduce_scatter: output lies in input, but not where this rank's block belongs");
    EXPECT_EQ(refusal_of([&] { all_gather(comm, const_view(two), view(two)); }),
              "all_gather: output has 2 elements; it must have 4");
    EXPECT_EQ(refusal_of([&] {
                all_reduce(comm, View{nullptr, 3, DataType::f32});
              }),
              "all_reduce: data has 3 elements at no address");
    const std::size_t too_many = std::numeric_limits<std::size_t>::max() / 4 + 2;
    auto* const here = reinterpret_cast<std::byte*>(two.data());
    EXPECT_EQ(refusal_of([&] {
                all_reduce(comm, View{here, too_many, DataType::f32});
              }),
              concat("all_reduce: data has ", too_many,
                     " f32 elements, more bytes than there are addresses"));
    EXPECT_EQ(refusal_of([&] {
                all_gather(comm, ConstView(here, too_many * 2 - 2, DataType::u8), View{});
              }),
              "all_gather: counts add up to more than a size can hold");
    const std::vector<std::size_t> wrapping = {std::numeric_limits<std::size_t>::max(), 3};
    EXPECT_EQ(refusal_of(
                  [&] { reduce_scatter_v(comm, const_view(two), view(std::span(two)), wrapping); }),
              "reduce_scatter_v: counts add up to more than a size can hold");
    const std::vector<std::size_t> three = {2, 1};
    EXPECT_EQ(refusal_of([&] { reduce_scatter_v(comm, const_view(two), view(two), three); }),
              "reduce_scatter_v: input has 2 elements; it must have 3");
    EXPECT_EQ(refusal_of([&] { barrier(comm, {.timeout = -1ms}); }),
              "barrier: timeout -1 ms is negative");
    barrier(comm);  // the communicator is still usable
  });
}

}  // namespace
}  // namespace bp::test
