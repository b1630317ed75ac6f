// Stores and power cuts: the store that `bert_train prep` makes is complete or absent, and a part
// that a preparer left leads to the same bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "base/text.h"
#include "tests/support/classify_data.h"
#include "tests/support/files/file_record.h"
#include "tests/support/files/power_cut.h"
#include "trainer/prepare/prepare.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;
using test::FileRecord;
using test::FileRecording;
using test::PowerCut;
using ::testing::AnyOf;

// The source lies outside the recorded folder, because it existed long before.
class StoreDurability : public testing::Test {
 protected:
  static constexpr int kRows = 20;

  StoreDurability() {
    std::string rows = "text,label\n";
    for (int row = 0; row < kRows; ++row) {
      rows += concat(row % 3 == 0 ? "a b" : "c d a", row % 2 == 0 ? ",good\n" : ",bad\n");
    }
    sources_.write("rows.csv", rows);
    sources_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\n");
  }

  void make(const std::string& store, int max_length, bool rebuild = false) const {
    PrepareOptions options;
    options.task = classify();
    options.source = sources_.path("rows.csv");
    options.vocabulary = sources_.path("vocab.txt");
    options.store = store;
    options.max_length = max_length;
    options.rebuild = rebuild;
    prepare(options, [](const std::string&) {});
  }
  // After a reboot this process no longer holds the lease. LeaseDurability shows that another takes
  // it over.
  static FileRecord without_lease(FileRecord record) {
    std::erase_if(record.operations, [](const test::FileOperation& operation) {
      return operation.path == "s.sqlite.lease";
    });
    return record;
  }

  static std::string identity(const std::string& store) {
    const SampleStore open = SampleStore::open(store);
    open.verify();
    return open.identity();
  }

  Scratch sources_;
};

TEST_F(StoreDurability, StoreIsOnDiskBeforeItHasItsName) {
  const Scratch scratch;
  FileRecording recording(scratch.path());
  make(scratch.path("s.sqlite"), 16);
  std::vector<std::string> lines = recording.stop().lines();
  for (std::string& line : lines) {  // replaces the lease's token
    if (const std::size_t at = line.find(".part-"); at != std::string::npos) {
      line.erase(at + 6, 16);
    }
  }
  EXPECT_EQ(test::out_of_order(lines, {"create s.sqlite.part-", "write s.sqlite.part-",
                                       "unlink s.sqlite.part--journal", "sync s.sqlite.part-",
                                       "rename s.sqlite.part- -> s.sqlite", "sync ."}),
            "");
}

// docs/acceptance.md, Disks and power: A power cut at any moment leaves a complete store or none.
TEST_F(StoreDurability, PowerCutLeavesNoStoreOrACompleteOneAndTheNextIsTheSame) {
  const Scratch scratch;
  FileRecording recording(scratch.path());
  make(scratch.path("s.sqlite"), 16);
  FileRecording::mark("prepared");
  const FileRecord record = without_lease(recording.stop());
  const std::string whole = read_file(scratch.path("s.sqlite"));
  const std::size_t states = test::for_each_power_cut(record, [&](const PowerCut& cut) {
    const std::string store = cut.folder + "/s.sqlite";
    EXPECT_TRUE(fs::exists(store) || cut.marks == 0);
    if (fs::exists(store)) {
      EXPECT_TRUE(read_file(store) == whole);
      EXPECT_EQ(SampleStore::open(store).size(Split::train), kRows * 8 / 10);
    }
    make(store, 16);
    EXPECT_TRUE(read_file(store) == whole) << "the left part must not change the bytes";
  });
  EXPECT_GE(states, 50U);
}

TEST_F(StoreDurability, PowerCutDuringARebuildLeavesOneOfTheTwo) {
  const Scratch scratch;
  make(scratch.path("s.sqlite"), 16);
  const std::string before = identity(scratch.path("s.sqlite"));
  FileRecording recording(scratch.path());
  make(scratch.path("s.sqlite"), 8, /*rebuild=*/true);
  FileRecording::mark("prepared");
  const FileRecord record = without_lease(recording.stop());
  const std::string after = identity(scratch.path("s.sqlite"));
  ASSERT_NE(before, after);
  const std::size_t states = test::for_each_power_cut(record, [&](const PowerCut& cut) {
    const std::string there = identity(cut.folder + "/s.sqlite");
    EXPECT_THAT(there, AnyOf(after, cut.marks == 0 ? before : after));
  });
  EXPECT_GE(states, 50U);
}

// Whatever a power cut leaves of a lease, it expires.
// docs/acceptance.md, Disks and power: A lease of a store that a power cut left is taken over.
TEST(LeaseDurability, LeaseLeftByAPowerCutIsTakenOver) {
  const Scratch scratch;
  FileRecording recording(scratch.path());
  {
    Lease lease(scratch.path("lease"));
    ASSERT_TRUE(lease.try_take());
  }
  const std::size_t states = test::for_each_power_cut(recording.stop(), [](const PowerCut& cut) {
    const std::string path = cut.folder + "/lease";
    // changes the name of the boot, so that the holder seems to be of another one
    if (fs::exists(path)) {
      std::string text = read_file(path);
      if (const std::size_t line = text.find('\n'); line + 2 < text.size()) text[line + 1] ^= 1;
      std::ofstream(path, std::ios::binary) << text;
    }
    Lease next(path, {std::chrono::milliseconds(1000), std::chrono::milliseconds(10)});
    const Deadline deadline(std::chrono::seconds(20));
    while (!next.try_take()) {
      ASSERT_FALSE(deadline.passed());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_GE(states, 5U);
}

}  // namespace
}  // namespace bp::trainer
