// Event files for TensorBoard, decoded here byte by byte. tests/e2e/tensorboard_test.cc reads them
// with TensorBoard.
// docs/acceptance.md, Runs: TensorBoard reads the event files. A resumed run has each step once.
#include "trainer/events/event_log.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "runs_fixture.h"
#include "tests/unit/data/input_refusal.h"
#include "trainer/events/record_writer.h"

namespace bp::trainer {
namespace {

using bp::trainer::test::RunsFixture;
using ::testing::HasSubstr;
using ::testing::SizeIs;

template <class Number>
Number little_endian(std::string_view bytes) {
  Number number = 0;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

// The fields of a message, by their numbers: integers as text, others as their bytes.
using Fields = std::multimap<int, std::string>;

std::uint64_t take_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.at(0));
    rest.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

Fields fields_of(std::string_view message) {
  Fields fields;
  while (!message.empty()) {
    const std::uint64_t key = take_varint(message);
    const int wire = static_cast<int>(key & 7);
    if (wire == 0) {
      fields.emplace(static_cast<int>(key >> 3), std::to_string(take_varint(message)));
      continue;
    }
    const std::size_t size = wire == 1 ? 8 : wire == 5 ? 4 : take_varint(message);
    if (wire != 1 && wire != 2 && wire != 5) throw std::runtime_error("unknown wire type");
    fields.emplace(static_cast<int>(key >> 3), std::string(message.substr(0, size)));
    message.remove_prefix(size);
  }
  return fields;
}

std::string field(const Fields& fields, int number) {
  const auto found = fields.find(number);
  return found == fields.end() ? "" : found->second;
}

std::vector<std::string> records_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::string> records;
  for (std::string_view rest = all; !rest.empty();) {
    const auto size = little_endian<std::uint64_t>(rest.substr(0, 8));
    EXPECT_EQ(little_endian<std::uint32_t>(rest.substr(8, 4)), masked_crc32c(rest.substr(0, 8)));
    records.emplace_back(rest.substr(12, size));
    EXPECT_EQ(little_endian<std::uint32_t>(rest.substr(12 + size, 4)),
              masked_crc32c(records.back()));
    rest.remove_prefix(size + 16);
  }
  return records;
}

// The values of an event's summary.
std::vector<Fields> values_of(const Fields& event) {
  std::vector<Fields> values;
  const Fields summary = fields_of(field(event, 5));
  for (auto [at, end] = summary.equal_range(1); at != end; ++at) {
    values.push_back(fields_of(at->second));
  }
  return values;
}

class EventLogTest : public RunsFixture {};

// RFC 3720, B.4.
TEST(Crc32c, IsThatOfTheRfc) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(masked_crc32c(""), 0xA282EAD8U);
}

// docs/features.md, Evaluation and reports: TensorBoard | `--tensorboard`
TEST_F(EventLogTest, HasScalarsTextsHistogramsAndCurves) {
  EventLog log(path("tb/here"), 7);
  log.settings({{"lr", "0.1|0.2", "command line"}});
  log.write(StepRecord{.step = 8, .loss = 0.5});
  log.write(EvaluationRecord{.step = 300, .split = "dev", .result = {{{"accuracy", 0.75}}}});
  log.weights(300, {{"bert.w",
                     {.least = -1,
                      .most = 3,
                      .count = 2,
                      .sum = 2,
                      .squares = 10,
                      .upper_ends = {1, 3},
                      .counts = {1, 1}}}});
  log.curves(300, "test", {{"yes", {3, 1}, {2, 0}, {0, 2}, {0, 2}}});

  const std::vector<std::string> records = records_of(log.path());
  ASSERT_THAT(records, SizeIs(7));
  EXPECT_EQ(field(fields_of(records[0]), 3), "brain.Event:2");
  const Fields start = fields_of(records[1]);
  EXPECT_EQ(field(start, 2), "8");  // events from this step on are new
  EXPECT_EQ(field(fields_of(field(start, 7)), 1), "1");

  const Fields text = values_of(fields_of(records[2])).at(0);
  EXPECT_EQ(field(text, 1), "settings");
  EXPECT_THAT(field(fields_of(field(text, 8)), 8),
              HasSubstr("| lr | 0.1\\|0.2 | command line |\n"));

  const Fields step = fields_of(records[3]);
  EXPECT_EQ(field(step, 2), "8");
  EXPECT_EQ(field(values_of(step).at(0), 1), "train/loss");
  EXPECT_EQ(little_endian<float>(field(values_of(step).at(0), 2)), 0.5F);

  const Fields dev = fields_of(records[4]);
  EXPECT_EQ(field(dev, 2), "300");  // two bytes
  EXPECT_EQ(field(values_of(dev).at(0), 1), "dev/accuracy");

  const Fields weights = values_of(fields_of(records[5])).at(0);
  EXPECT_EQ(field(weights, 1), "weights/bert.w");
  const Fields histogram = fields_of(field(weights, 5));
  EXPECT_EQ(little_endian<double>(field(histogram, 1)), -1);
  EXPECT_EQ(little_endian<double>(field(histogram, 5)), 10);
  EXPECT_THAT(field(histogram, 6), SizeIs(16));
  EXPECT_EQ(little_endian<double>(field(histogram, 6).substr(8)), 3);

  const Fields curve = values_of(fields_of(records[6])).at(0);
  EXPECT_EQ(field(curve, 1), "test/yes");
  const std::string numbers = field(fields_of(field(curve, 8)), 5);
  ASSERT_THAT(numbers, SizeIs(12 * sizeof(float)));
  const auto number = [&](std::size_t i) { return little_endian<float>(numbers.substr(4 * i)); };
  EXPECT_EQ(number(0), 3);
  EXPECT_EQ(number(8), 0.6F);  // precision
  EXPECT_EQ(number(9), 1);
  EXPECT_EQ(number(11), 1 / 3.0F);  // recall
}

TEST_F(EventLogTest, EachSessionHasAFileBehindThoseBefore) {
  const std::string first = EventLog(path("tb"), 0).path();
  const std::string second = EventLog(path("tb"), 5).path();
  const std::string third = EventLog(path("tb"), 5).path();
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_THAT(records_of(first), SizeIs(2));
}

TEST_F(EventLogTest, RefusesAFolderThatCannotBeMade) {
  write("file", "");
  EXPECT_THAT(test::input_refusal([&] { EventLog(path("file/tb"), 0); }),
              HasSubstr("70: --tensorboard: cannot write in " + path("file/tb")));
}

}  // namespace
}  // namespace bp::trainer
