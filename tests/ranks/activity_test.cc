// What a communicator reports about its operations: recorder, counters, record files, traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/trace.h"
#include "comm/engine/observe/flight_recorder.h"
#include "comm/engine/observe/trace_file.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::SizeIs;

using State = RecordedOperation::State;

// Returns an empty folder for this test.
std::string scratch_folder() {
  const auto* const info = testing::UnitTest::GetInstance()->current_test_info();
  const auto folder =
      std::filesystem::path(testing::TempDir()) / concat("bp-", ::getpid(), "-", info->name());
  std::filesystem::remove_all(folder);
  return folder.string();
}

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// docs/acceptance.md, Failures: The last 1,024 operations of each rank are kept, with counters by
// operation and algorithm.
TEST(Activity, RecorderHoldsOperationsAlgorithmsAndOutcomes) {
  run_ranks(3, [](Communicator& comm) {
    std::vector<float> data(100);
    all_reduce(comm, view(data),
               {.op = ReduceOp::average, .name = "a name of more than 15 letters"});
    Work work = all_reduce_async(comm, view(data), {.name = "later"});
    work.wait();
    std::vector<float> all(6);
    const std::vector<std::size_t> counts{1, 2, 3};
    all_gather_v(comm,
                 const_view(std::span(data).first(counts[static_cast<std::size_t>(comm.rank())])),
                 view(all), counts);
    barrier(comm);
    data.assign(data.size(), static_cast<float>(comm.rank()));
    Work given = broadcast_async(comm, view(data), {.root = 1});
    given.wait();
    EXPECT_THAT(data, Each(1.0F));
    const auto recent = comm.recent();
    ASSERT_THAT(recent, SizeIs(5));
    EXPECT_EQ(recent[0].text, "all_reduce average of 100 f32 'a name of more than 15 letters'");
    EXPECT_EQ(recent[0].algorithm, "recursive_doubling");
    EXPECT_EQ(recent[0].bytes, 400U);
    EXPECT_EQ(recent[1].text, "all_reduce sum of 100 f32 'later'");
    EXPECT_EQ(recent[2].text, "all_gather of 1+2+3 f32");
    EXPECT_EQ(recent[2].algorithm, "ring");
    EXPECT_EQ(recent[3].text, "barrier");
    EXPECT_EQ(recent[3].algorithm, "dissemination");
    EXPECT_EQ(recent[4].text, "broadcast of 100 f32 from rank 1");
    EXPECT_EQ(recent[4].algorithm, "binomial_tree");
    for (std::size_t i = 0; i < recent.size(); ++i) {
      EXPECT_EQ(recent[i].sequence, i);
      EXPECT_EQ(recent[i].state, State::done);
      EXPECT_GT(recent[i].took, 0ns);
      EXPECT_LE(recent[i].waited, recent[i].took);
      EXPECT_LT(std::chrono::system_clock::now() - recent[i].begun, 60s);
    }
  });
}

TEST(Activity, CountersAreByOperationAndAlgorithm) {
  RanksOptions options;
  options.wire = Wire::shm;
  run_ranks(
      2,
      [](Communicator& comm) {
        std::vector<float> few(2);
        std::vector<float> many(1000);
        for (int i = 0; i < 3; ++i) all_reduce(comm, view(few));
        all_reduce(comm, view(many));
        Buffer buffer = comm.allocate(280'000);
        const std::span shared(reinterpret_cast<float*>(buffer.data()), 70'000);
        all_reduce(comm, view(shared));
        const Counters counters = comm.counters();
        EXPECT_EQ(counters.operations, 5U);
        EXPECT_EQ(counters.bytes, 3 * 8U + 4000U + 280'000U);
        EXPECT_GE(counters.seconds_busy, counters.seconds_waiting);
        std::vector<std::string> kinds;
        for (const Counters::Kind& kind : counters.kinds) {
          kinds.push_back(
              concat(kind.operation, " ", kind.algorithm, " ", kind.operations, " ", kind.bytes));
        }
        EXPECT_THAT(kinds, ElementsAre("all_reduce inline 3 24", "all_reduce staged 1 4000",
                                       "all_reduce direct 1 280000"));
      },
      options);
}

// docs/features.md, Evaluation and reports: The time of the network | `comm` in `metrics.jsonl`,
// `--trace`
TEST(Activity, WaitForALateRankIsCounted) {
  run_ranks(2, [](Communicator& comm) {
    barrier(comm);  // from here on rank 0 has 1 s to begin to wait; 0.05 s of waiting is enough
    if (comm.rank() == 1) std::this_thread::sleep_for(1s);
    barrier(comm);
    const Counters counters = comm.counters();
    if (comm.rank() == 0) {
      EXPECT_GT(counters.seconds_waiting, 0.05);
    }
    EXPECT_LE(counters.seconds_waiting, counters.seconds_busy);
  });
}

TEST(Activity, RingKeepsTheLatestOperations) {
  FlightRecorder recorder;
  const TickClock::Ticks now = TickClock::now();
  constexpr TickClock::Ticks kTaken = 1'000'000;
  constexpr std::uint64_t kMany = 3 * FlightRecorder::kKept + 7;
  for (std::uint64_t i = 0; i < kMany; ++i) {
    Operation operation;
    operation.name = concat("number ", i);
    const auto ticket = recorder.begin(operation, i, now);
    if (i + 1 < kMany) recorder.end(ticket, true, {.algorithm = "ring"}, now + kTaken);
  }
  const auto recent = recorder.recent();
  ASSERT_THAT(recent, SizeIs(FlightRecorder::kKept));
  EXPECT_EQ(recent.front().text, concat("barrier 'number ", kMany - FlightRecorder::kKept, "'"));
  const double took = std::chrono::duration<double>(recent[recent.size() - 2].took).count();
  const double all = std::chrono::duration<double>(TickClock::between(now, now + kTaken)).count();
  EXPECT_NEAR(took, all, all / 100);  // the rate of the clock is measured each time
  EXPECT_EQ(recent.back().state, State::under_way);
  EXPECT_EQ(recorder.counters().operations, kMany - 1);
}

// docs/acceptance.md, Failures: The report says in which collective each rank was.
TEST(Activity, FailedCommunicatorWritesItsRecord) {
  const std::string folder = scratch_folder();
  RanksOptions options;
  options.communicator.output = folder;
  const auto errors = try_ranks(
      3,
      [](Communicator& comm) {
        barrier(comm);
        std::vector<float> data(comm.rank() == 2 ? 9 : 10);
        all_reduce(comm, view(data), {.name = "x"});
      },
      options);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(errors[static_cast<std::size_t>(rank)], HasSubstr("mismatch"));
    const std::string text = content(concat(folder, "/rank.", rank, "/collectives.world.txt"));
    EXPECT_THAT(
        text, HasSubstr(concat("# rank ", rank, ", communicator world: mismatch: ranks disagree")));
    EXPECT_THAT(text, HasSubstr("\tdone\t"));
    EXPECT_THAT(text, HasSubstr(concat("\tunder way\t")));
    EXPECT_THAT(text, HasSubstr(concat("all_reduce sum of ", rank == 2 ? 9 : 10, " f32 'x'\n")));
  }
  std::filesystem::remove_all(folder);
}

Topology second_of_three() {
  return {.rank = 1, .local_sizes = {1, 2}, .host_names = {"ada", "b\"r\nt"}};
}

TEST(TraceFiles, AreCompleteAtAnyTime) {
  const std::string folder = scratch_folder();
  const std::string path = folder + "/rank-1.json";
  TraceFile trace(folder, second_of_three());
  const auto start = std::chrono::steady_clock::now();
  trace.add({.row = "compute", .name = "before it starts", .begin = start, .end = start});
  trace.start(1s);
  std::size_t events = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto begin = start + i * 10us;
    trace.add({.row = "compute",
               .name = concat("step \"", i, "\""),
               .begin = begin,
               .end = begin + 5us,
               .arguments = R"("bytes":4)"});
    if (i % 500 == 0) {
      const auto json = nlohmann::json::parse(content(path));
      EXPECT_GE(json.size(), events);
      events = json.size();
    }
  }
  trace.add_overlapping({.row = "buckets", .name = "one", .begin = start, .end = start + 1ms});
  EXPECT_GT(events, 100U) << "the trace must hold some events before the end";
  std::filesystem::remove_all(folder);
}

TEST(TraceFiles, OfALargerEarlierWorldAreRemoved) {
  const std::string folder = scratch_folder();
  std::filesystem::create_directories(folder);
  for (const char* name : {"/rank-0.json", "/rank-1.json", "/rank-2.json", "/rank-1.jsonl"}) {
    std::ofstream(folder + name) << "earlier";
  }
  const TraceFile trace(folder, {.rank = 0, .local_sizes = {1}, .host_names = {"ada"}});
  EXPECT_THAT(content(folder + "/rank-0.json"), HasSubstr("process_name"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/rank-1.json"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/rank-2.json"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/rank-1.jsonl"));
  std::filesystem::remove_all(folder);
}

TEST(TraceFiles, ScopeWritesASpanIfThereIsATrace) {
  const std::string folder = scratch_folder();
  {
    TraceFile trace(folder, second_of_three());
    trace.start(0ns);
    const TraceScope none(nullptr, "compute", "nothing");
    const TraceScope outer(&trace, "compute", "step");
    const TraceScope inner(&trace, "compute", "forward");
  }
  const auto json = nlohmann::json::parse(content(folder + "/rank-1.json"));
  ASSERT_EQ(json.size(), 4U) << "each of the two names must give one span";
  EXPECT_EQ(json[2]["name"], "forward");
  EXPECT_EQ(json[3]["name"], "step");
  EXPECT_LE(json[3]["ts"].get<double>(), json[2]["ts"].get<double>());
  EXPECT_GE(json[3]["dur"].get<double>(), json[2]["dur"].get<double>());
  std::filesystem::remove_all(folder);
}

TEST(TraceFiles, ErrorNamesAFolderThatCannotBeCreated) {
  try {
    const TraceFile trace("/proc/nowhere", second_of_three());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_STREQ(error.what(),
                 "cannot create the trace /proc/nowhere/rank-1.json: No such file or directory");
  }
  const std::string link = scratch_folder() + "-link";
  std::filesystem::create_symlink("nowhere", link);
  EXPECT_THAT([&] { const TraceFile trace(link, second_of_three()); },
              testing::ThrowsMessage<Error>(testing::Not(testing::HasSubstr("No such file"))));
  std::filesystem::remove(link);
}

// docs/acceptance.md, Failures: A timeline of all ranks has rank 0's clock, and is complete at any
// time.
TEST(TraceFiles, HoldEverySpanOnItsRowByRankZerosClock) {
  const std::string folder = scratch_folder();
  const Trace::Time start{100s};
  {
    TraceFile trace(folder, second_of_three());
    trace.start(2s);
    trace.add({.row = "compute", .name = "a\tb", .begin = start, .end = start + 1500ns});
    trace.add_overlapping({.row = "buckets", .name = "one", .begin = start, .end = start + 2us});
  }
  const auto json = nlohmann::json::parse(content(folder + "/rank-1.json"));
  ASSERT_EQ(json.size(), 6U);
  EXPECT_EQ(json[0]["args"]["name"], "rank 1 on b\"r\nt");
  EXPECT_EQ(json[1]["args"]["name"], "compute");
  EXPECT_EQ(json[2]["name"], "a\tb");
  EXPECT_EQ(json[2]["ph"], "X");
  EXPECT_EQ(json[2]["pid"], 1);
  EXPECT_EQ(json[2]["tid"], json[1]["tid"]);
  EXPECT_EQ(json[2]["ts"].get<double>(), 102e6);
  EXPECT_EQ(json[2]["dur"].get<double>(), 1.5);
  EXPECT_EQ(json[4]["ph"], "b");
  EXPECT_EQ(json[5]["ph"], "e");
  EXPECT_EQ(json[5]["ts"].get<double>(), 102e6 + 2);
  EXPECT_EQ(json[4]["id"], json[5]["id"]);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace bp::test
