// Tests comm_bench without ranks: its command line, inputs and arithmetic.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "bench/comm/measure.h"
#include "bench/comm/options.h"
#include "bench/comm/report.h"
#include "bench/comm/task.h"
#include "comm/reduce/reduce.h"

namespace bp::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

CommandLine parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "comm_bench");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

TEST(CommBenchOptions, DefaultsAreAsDocumented) {
  const CommandLine line = parse({});
  ASSERT_TRUE(line.options);
  EXPECT_EQ(line.options->op, "all_reduce");
  EXPECT_EQ(line.options->backend, "auto");
  EXPECT_EQ(line.options->algorithm, "auto");
  EXPECT_EQ(line.options->type, DataType::f32);
  EXPECT_EQ(line.options->min_bytes, 4U);
  EXPECT_EQ(line.options->max_bytes, 256U << 20);
}

TEST(CommBenchOptions, SizesTakeUnitsAndDouble) {
  const CommandLine line = parse({"--min", "16K", "--max=100K", "--dtype", "bf16"});
  ASSERT_TRUE(line.options) << line.text;
  EXPECT_THAT(sizes_of(*line.options), ElementsAre(16384, 32768, 65536));
  EXPECT_EQ(line.options->type, DataType::bf16);
  EXPECT_THAT(sizes_of(*parse({"--min", "1M", "--max", "1M"}).options), ElementsAre(1U << 20));
  EXPECT_THAT(sizes_of(*parse({"--op", "barrier"}).options), ElementsAre(0));
}

TEST(CommBenchOptions, SizesMayBeListed) {
  const CommandLine line =
      parse({"--sizes", "4,64K,16M", "--memory", "any", "--touch", "--seconds", "0.5"});
  ASSERT_TRUE(line.options) << line.text;
  EXPECT_THAT(sizes_of(*line.options), ElementsAre(4, 65536, 16U << 20));
  EXPECT_EQ(line.options->memory, Memory::any);
  const Pace pace = pace_for(*line.options, 4);
  EXPECT_TRUE(pace.touch);
  EXPECT_EQ(pace.seconds, 0.5);
  EXPECT_EQ(pace.iterations, 200);
  EXPECT_FALSE(pace_for(*parse({}).options, 4).touch);
}

TEST(CommBenchOptions, ErrorsNameTheMistakeWithAHint) {
  const std::vector<std::pair<std::vector<const char*>, const char*>> cases = {
      {{"--op", "all_redduce"}, "--op: 'all_redduce' is none of all_reduce|reduce"},
      {{"--backend", "ncl"},
       "--backend: 'ncl' is none of auto|shm|gloo|gloo-native|gloo-native-batch|nccl"},
      {{"--backend", "nccl"}, "--backend nccl needs --device cuda"},
      {{"--device", "gpu"}, "--device: 'gpu' is none of host|cuda"},
      {{"--device", "cuda", "--op", "message"}, "messages of device memory do not exist yet"},
      {{"--device", "cuda", "--tune", "f"}, "--tune and --show-selection are about host memory"},
      {{"--algorithm", "torus"},
       "'torus' is none of "
       "auto|ring|recursive_doubling|halving_doubling|tree|double_tree|hierarchical"},
      {{"--dtype", "f8"}, "'f8' is none of u8|i8|i32|i64|f16|bf16|f32|f64|u16|bool|c64"},
      {{"--min", "4X"}, "--min: '4X' is not a size"},
      {{"--min", "0"}, "'0' is not a size"},
      {{"--max", "2000G"}, "'2000G' is not a size"},
      {{"--max", "99999999999999999999"}, "is not a size"},
      {{"--min", "8", "--max", "4"}, "--min 8 is more than --max 4"},
      {{"--iterations", "0"}, "--iterations: '0' is not a whole number between 1 and 1000000"},
      {{"--sizes", "4,5X"}, "'5X' is not a size"},
      {{"--memory", "shared"}, "'shared' is none of allocated"},
      {{"--seconds", "0"}, "--seconds: '0' is not a number between 0.001 and 3600"},
      {{"--tune"}, "--tune: 1 required FILE missing"}};
  for (const auto& [arguments, text] : cases) {
    const CommandLine line = parse(arguments);
    EXPECT_FALSE(line.options) << text;
    EXPECT_EQ(line.exit_code, 2);
    EXPECT_THAT(line.text, StartsWith("comm_bench: "));
    EXPECT_THAT(line.text, HasSubstr(text));
    EXPECT_THAT(line.text, HasSubstr("\nhint: "));
  }
}

TEST(CommBenchOptions, HelpAndVersionAreNoErrors) {
  EXPECT_EQ(parse({"--help"}).exit_code, 0);
  const std::string help = parse({"--help"}).text;
  EXPECT_THAT(help, HasSubstr("--backend"));
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
  }
  EXPECT_THAT(parse({"--version"}).text, StartsWith("comm_bench "));
}

// Adding rank by rank in the type itself must not round, in any order, so that there is only one
// right answer.
TEST(CommBenchInputs, SumsAreExactInEveryType) {
  for (const DataType type : kDataTypes) {
    for (const int ranks : {1, 2, 7, 64}) {
      std::vector<std::byte> forward = input_of(type, 0, ranks, 5, 100);
      std::vector<std::byte> backward = input_of(type, ranks - 1, ranks, 5, 100);
      for (int r = 1; r < ranks; ++r) {
        reduce(type, reduction_of(type), forward.data(), input_of(type, r, ranks, 5, 100).data(),
               100);
        reduce(type, reduction_of(type), backward.data(),
               input_of(type, ranks - 1 - r, ranks, 5, 100).data(), 100);
      }
      EXPECT_EQ(forward, reduced_inputs(type, ranks, 5, 100)) << name_of(type) << ' ' << ranks;
      EXPECT_EQ(backward, forward) << name_of(type) << ' ' << ranks;
    }
  }
}

// An all-reduce in place sums its own result again, up to most_repetitions() times.
TEST(CommBenchInputs, SumsOfSumsAreExactUpToTheMostRepetitions) {
  for (const DataType type : kDataTypes) {
    for (const int ranks : {2, 3, 4, 7, 8}) {
      const int most = std::min(most_repetitions(type, ranks), 9);
      ASSERT_GE(most, 1) << name_of(type) << ' ' << ranks;
      std::vector<std::byte> sums = reduced_inputs(type, ranks, 0, 100);
      for (int more = 1; more <= most; ++more) {
        const std::vector<std::byte> one = sums;
        for (int r = 1; r < ranks; ++r) {
          reduce(type, reduction_of(type), sums.data(), one.data(), 100);
        }
        ASSERT_EQ(sums, reduced_inputs(type, ranks, 0, 100, more)) << name_of(type) << ' ' << ranks;
      }
    }
  }
  EXPECT_EQ(most_repetitions(DataType::bf16, 63), 0);
}

TEST(CommBenchInputs, PatternsRepeat) {
  const Pattern pattern{10, {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}}};
  std::vector<std::byte> memory(12);
  pattern.write(memory.data());
  EXPECT_EQ(memory[9], std::byte{2});
  EXPECT_EQ(memory[10], std::byte{0});
  EXPECT_EQ(pattern.wrong_elements(memory.data(), DataType::f16), 0U);
  memory[5] = memory[8] = std::byte{9};
  EXPECT_EQ(pattern.wrong_elements(memory.data(), DataType::f16), 2U);
}

TEST(CommBenchInputs, DifferBetweenRanksAndElements) {
  std::set<std::vector<std::byte>> seen;
  for (int r = 0; r < 4; ++r) {
    for (std::size_t j = 0; j < 1000; ++j) seen.insert(input_of(DataType::f64, r, 4, j, 1));
  }
  EXPECT_EQ(seen.size(), 4000U);
}

TEST(CommBenchMeasure, QuantilesAreValuesThatWereMeasured) {
  const std::vector<double> five = {1, 2, 3, 4, 5};
  EXPECT_EQ(quantile(five, 0.5), 3);
  EXPECT_EQ(quantile(five, 0.99), 5);
  EXPECT_EQ(quantile({7}, 0.5), 7);
  std::vector<double> hundred;
  for (int i = 1; i <= 100; ++i) hundred.push_back(i);
  EXPECT_EQ(quantile(hundred, 0.99), 99);
}

const Row kRow = {.op = "all_reduce",
                  .backend = "gloo",
                  .algorithm = "ring",
                  .type = DataType::bf16,
                  .bytes = 4'000'000,
                  .ranks = 4,
                  .hosts = 2,
                  .measured = {2000, 2500.0004, 3},
                  .bus_factor = 1.5};

TEST(CommBenchReport, BandwidthIsTenToTheNineBytesASecond) {
  EXPECT_DOUBLE_EQ(kRow.algorithm_bandwidth(), 2.0);
  EXPECT_DOUBLE_EQ(kRow.bus_bandwidth(), 3.0);
}

TEST(CommBenchReport, JsonHasTheDocumentedColumnsInOrder) {
  std::ostringstream out;
  print_json(out, kRow);
  EXPECT_EQ(out.str(), R"({"op":"all_reduce","backend":"gloo","algorithm":"ring","dtype":"bf16",)"
                       R"("bytes":4000000,"ranks":4,"hosts":2,"median_us":2000.0,"p99_us":2500.0,)"
                       R"("algbw_gbps":2.0,"busbw_gbps":3.0,"wrong":3})"
                       "\n");
}

TEST(CommBenchReport, TableHasAHeadingForEachValue) {
  std::ostringstream out;
  print_heading(out);
  print_row(out, kRow);
  std::istringstream lines(out.str());
  std::string heading;
  std::string values;
  std::getline(lines, heading);
  std::getline(lines, values);
  EXPECT_EQ(heading.size(), values.size());
  EXPECT_THAT(heading, StartsWith("op             backend"));
  EXPECT_THAT(values, StartsWith("all_reduce     gloo           ring                bf16"));
  EXPECT_THAT(values, testing::EndsWith("2000.00      2500.00        2.000        3.000      3"));
}

}  // namespace
}  // namespace bp::bench
