// Which runs need a store, and how --rebuild treats it then.
// docs/acceptance.md, Runs: A store that a run needs is never replaced.
#include "trainer/run/store_users.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "tests/support/classify_data.h"
#include "tests/unit/data/input_refusal.h"
#include "tests/unit/train/checkpoint_fixture.h"
#include "trainer/prepare/prepare.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class StoreUsers : public test::CheckpointTest {
 protected:
  // A checkpoint of a run that was trained on the data with this identity.
  void checkpoint(const std::string& run, std::int64_t step, const std::string& identity) const {
    CheckpointState state;
    state.step = step;
    state.rows = 10;
    state.store = identity;
    write(concat(run, "/checkpoints/step-", step, "/state.json"), to_json(state));
  }
};

TEST_F(StoreUsers, AreListedOnceAndOnlyWhileTheirCheckpointsExist) {
  const std::string store = path("a.sqlite");
  checkpoint("first", 5, "other");
  checkpoint("second", 5, "aaaa");
  EXPECT_EQ(run_that_needs(store, "aaaa"), "");
  for (const char* run : {"first", "second", "second", "third"}) list_store_user(store, path(run));
  EXPECT_EQ(run_that_needs(store, "aaaa"), path("second"));
  EXPECT_EQ(run_that_needs(store, "bbbb"), "");
  checkpoint("second", 10, "bbbb");  // the run started over with other data
  EXPECT_EQ(run_that_needs(store, "aaaa"), "");
  std::filesystem::remove_all(path("second"));
  EXPECT_EQ(run_that_needs(store, "bbbb"), "");
}

TEST_F(StoreUsers, AreFoundAfterAMoveOfBoth) {
  checkpoint("project/runs/one", 5, "aaaa");
  write("project/data/a.sqlite", "");
  list_store_user(path("project/data/a.sqlite"), path("project/runs/one"));
  std::filesystem::rename(path("project"), path("moved"));
  EXPECT_EQ(run_that_needs(path("moved/data/a.sqlite"), "aaaa"), path("moved/runs/one"));
}

TEST_F(StoreUsers, ADamagedCheckpointDoesNotHideTheOneBefore) {
  checkpoint("run", 5, "aaaa");
  write("run/checkpoints/step-9/state.json", "{");
  EXPECT_EQ(identity_of_data(path("run")), "aaaa");
  EXPECT_EQ(identity_of_data(path("none")), std::nullopt);
}

TEST_F(StoreUsers, AStoreThatARunNeedsIsNotReplacedAndNoHintOffersIt) {
  std::string rows = "text,label\n";
  for (int row = 0; row < 10; ++row) rows += concat("some text ", row, ",", row % 2, "\n");
  write("r.csv", rows);
  PrepareOptions with;
  with.task = classify();
  with.source = path("r.csv");
  with.vocabulary_size = 50;
  with.needed_by = run_that_needs;
  with.store = path("r.sqlite");
  const auto run = [&] { (void)prepare(with, [](const std::string&) {}); };
  run();
  const std::string store = path("r.sqlite");
  const std::string identity = SampleStore::open(store).identity();
  list_store_user(store, path("run"));
  with.max_length = 64;
  // The run has no checkpoint yet.
  EXPECT_THAT(test::input_refusal(run), HasSubstr("--rebuild rebuilds it"));

  checkpoint("run", 5, identity);
  EXPECT_THAT(test::input_refusal(run), HasSubstr("was made differently: max length is 128 there"));
  EXPECT_THAT(test::input_refusal(run), Not(HasSubstr("--rebuild")));
  // A command that trains offers a run of its own if its run exists: that cannot change its data.
  with.run = path("run");
  EXPECT_THAT(test::input_refusal(run), HasSubstr("| name another place for the new store"));
  write("run/config.yaml", "");
  EXPECT_THAT(test::input_refusal(run),
              HasSubstr(concat("| --store ", path("r-2.sqlite"), " --run ", path("run-2"),
                               " makes another store and another run")));
  with.run.clear();
  with.rebuild = true;
  EXPECT_EQ(
      test::input_refusal(run),
      concat("2: --rebuild would replace the store ", store, ", which the run in ", path("run"),
             " needs to resume and to be scored again | name another place for "
             "the new store with --store"));
  EXPECT_EQ(SampleStore::open(store).identity(), identity);
  with.max_length = 128;
  run();  // makes an equal store again, which does no harm
  EXPECT_EQ(SampleStore::open(store).identity(), identity);
  with.max_length = 64;
  std::filesystem::remove_all(path("run"));
  run();
  EXPECT_EQ(SampleStore::open(store).max_length(), 64);
}

}  // namespace
}  // namespace bp::trainer
