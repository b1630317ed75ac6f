// The data of a job. Threads stand for its ranks and folders for its hosts.
#include "trainer/share/shared_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "base/input_error.h"
#include "base/text.h"
#include "tests/support/classify_data.h"
#include "tests/support/run_ranks.h"
#include "tests/support/scratch.h"
#include "tests/support/token_database.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// Three hosts of 2, 1 and 2 ranks, with their stores in the folders host-0, host-1 and host-2.
class SharedData : public testing::Test {
 protected:
  SharedData() {
    for (int host = 0; host < 3; ++host) {
      std::filesystem::create_directory(scratch_.path(concat("host-", host)));
    }
    write_rows(300);
    options_.prepare.source = scratch_.path("r.csv");
    options_.prepare.task = classify();
    options_.prepare.vocabulary_size = 100;
  }

  void write_rows(int rows) const {
    std::string content = "text,label\n";
    for (int row = 0; row < rows; ++row) content += concat("some text ", row, ",", row % 2, "\n");
    scratch_.write("r.csv", content);
  }

  [[nodiscard]] std::string store(int host) const {
    return scratch_.path(concat("host-", host, "/r.sqlite"));
  }

  std::vector<std::string> errors() {
    messages_.clear();
    return bp::test::try_agreeing_ranks(
        5,
        [&](Communicator& world) {
          const int host = world.topology().host();
          JobData options = options_;
          if (options.prepare.source.ends_with(".csv")) {
            options.prepare.store = store(host);
          }
          if (options.prepare.source == "store.sqlite") {
            options.prepare.source = store(host);
            options.is_store = true;
          }
          const std::string path = prepare_everywhere(world, options, [&](const std::string& line) {
            const std::lock_guard lock(mutex_);
            messages_.push_back(concat(world.rank(), ": ", line));
          });
          EXPECT_EQ(path, store(host));
        },
        {.local_sizes = {2, 1, 2}});
  }

  [[nodiscard]] std::vector<std::string> names(int host) const {
    std::vector<std::string> names;
    for (const std::string& folder : {scratch_.path(concat("host-", host))}) {
      for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        names.push_back(entry.path().filename().string());
      }
    }
    return names;
  }

  Scratch scratch_;
  JobData options_;
  std::mutex mutex_;
  std::vector<std::string> messages_;
};

TEST_F(SharedData, EachHostPreparesItsOwnStoreAndAllAreEqual) {
  EXPECT_THAT(errors(), Each(""));
  for (int host = 1; host < 3; ++host) EXPECT_EQ(read_file(store(host)), read_file(store(0)));
}

// docs/acceptance.md, Data: Only rank 0's host needs the SQLite file of bert_train_parallel.
TEST_F(SharedData, OnlyTheHostOfRank0HasToSeeThatATokenFileIsNoStore) {
  make_token_file(scratch_.path("host-0/old.sqlite"), kLabelsTable);
  const auto kind = [&](const std::string& name) {
    return [&, name](Communicator& world) {
      DataOptions options;
      options.prepare.source = scratch_.path(concat("host-", world.topology().host(), "/", name));
      EXPECT_EQ(job_data(world, options).is_store, name == "new.sqlite") << world.rank();
    };
  };
  for (const char* name : {"old.sqlite", "new.sqlite", "r.csv"}) {
    EXPECT_THAT(bp::test::try_ranks(5, kind(name), {.local_sizes = {2, 1, 2}}), Each(""));
  }
}

TEST_F(SharedData, AHostWithAnotherStoreIsNamed) {
  ASSERT_THAT(errors(), Each(""));
  write_rows(301);
  std::filesystem::remove(store(2));
  options_.prepare.store = store(2);
  PrepareOptions other = options_.prepare;
  other.source = options_.prepare.source;
  (void)prepare(other, [](const std::string&) {});
  options_.prepare.source = "store.sqlite";
  EXPECT_THAT(errors(),
              Contains(HasSubstr("the store of host 2 (rank 3) does not hold the same samples as "
                                 "that of host 0 (rank 0)")));
}

TEST_F(SharedData, AHostWithoutTheStoreIsNamed) {
  ASSERT_THAT(errors(), Each(""));
  std::filesystem::remove(store(1));
  options_.prepare.source = "store.sqlite";
  EXPECT_THAT(errors(), Contains(AllOf(HasSubstr("on host 1, cannot open the store "),
                                       HasSubstr("No such file"))));
}

TEST_F(SharedData, ADamagedStoreIsFoundOnTheHostThatHasIt) {
  ASSERT_THAT(errors(), Each(""));
  std::string bytes = read_file(store(2));
  const std::size_t text = bytes.find("some text 7");
  ASSERT_NE(text, std::string::npos);
  bytes[text] = 'S';
  scratch_.write("host-2/r.sqlite", bytes);
  options_.prepare.source = "store.sqlite";
  EXPECT_THAT(errors(), Contains(AllOf(HasSubstr("host-2/r.sqlite is damaged: its content is not "
                                                 "what was written"))));
}

TEST_F(SharedData, StagingPreparesOnceAndSendsTheStoreToHostsWithoutIt) {
  options_.stage = true;
  EXPECT_THAT(errors(), Each(""));
  EXPECT_THAT(messages_, Contains(HasSubstr("0: sending the store to 2 hosts: 0 bytes of ")));
  for (int host = 0; host < 3; ++host) {
    EXPECT_EQ(read_file(store(host)) == read_file(store(0)), true) << host;
    EXPECT_THAT(names(host), ElementsAre("r.sqlite"));
  }
  // If all hosts have the store, rank 0 sends nothing.
  EXPECT_THAT(errors(), Each(""));
  EXPECT_THAT(messages_, testing::Not(Contains(HasSubstr("sending"))));
  // Another store, a damaged one, and a file that a killed receiver left.
  write_rows(310);
  options_.prepare.rebuild = true;
  std::string bytes = read_file(store(2));
  bytes.resize(bytes.size() - 5000);
  scratch_.write("host-2/r.sqlite", bytes);
  scratch_.write("host-2/r.sqlite.stage-12", "half");
  EXPECT_THAT(errors(), Each(""));
  for (int host = 1; host < 3; ++host) {
    EXPECT_EQ(read_file(store(host)) == read_file(store(0)), true) << host;
    EXPECT_THAT(names(host), ElementsAre("r.sqlite"));
  }
}

TEST_F(SharedData, StagingAPreparedStoreNeedsNoSourceOnTheOtherHosts) {
  ASSERT_THAT(errors(), Each(""));
  std::filesystem::remove_all(scratch_.path("host-1"));
  std::filesystem::remove(store(2));
  options_.stage = true;
  options_.prepare.source = "store.sqlite";
  EXPECT_THAT(errors(), Each(""));
  EXPECT_EQ(read_file(store(1)) == read_file(store(0)), true);
  EXPECT_EQ(read_file(store(2)) == read_file(store(0)), true);
}

TEST_F(SharedData, StagingOverwritesOnlyStores) {
  options_.stage = true;
  scratch_.write("host-1/r.sqlite", "dear to someone");
  EXPECT_THAT(errors(), Contains(AllOf(HasSubstr("on host 1, "),
                                       HasSubstr("is not an SQLite file, and so no store"))));
  EXPECT_EQ(read_file(store(1)), "dear to someone");
}

TEST_F(SharedData, RebuildOfAStoreWithoutItsTextIsRefused) {
  ASSERT_THAT(errors(), Each(""));
  options_.prepare.source = "store.sqlite";
  options_.prepare.rebuild = true;
  EXPECT_THAT(errors(), Contains(HasSubstr("--rebuild needs the text file")));
}

}  // namespace
}  // namespace bp::trainer
