// Faults while preparing: a killed process, a read-only folder, a full disk.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ios>
#include <mutex>
#include <random>
#include <system_error>
#include <thread>

#include "base/deadline.h"
#include "tests/support/as_nobody.h"
#include "tests/unit/data/prepare_fixture.h"
#include "trainer/prepare/leftover.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kKilled = 200;

// Runs `body` in a child process. Returns its exit code, or kKilled.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : kKilled;
}

class PrepareTrouble : public PrepareTest {
 protected:
  // Writes texts of many lengths, with words from which a vocabulary can be trained.
  std::string write_texts(const std::string& name, int rows) {
    std::mt19937 random(7);
    std::string content = "text,label\n";
    for (int row = 0; row < rows; ++row) {
      for (auto words = random() % 40; words > 0; --words) {
        content += concat("word", random() % 500, words == 1 ? "" : " ");
      }
      content += concat(",", row % 3, "\n");
    }
    return scratch_.write(name, content);
  }

  // The number of bytes that a running preparer has written.
  [[nodiscard]] std::uintmax_t part_size() const {
    std::uintmax_t size = 0;
    for (const std::string& name : scratch_.names()) {
      if (name.find(".part-") == std::string::npos || name.ends_with("-journal")) continue;
      std::error_code ignored;
      const std::uintmax_t here = std::filesystem::file_size(scratch_.path(name), ignored);
      if (!ignored) size = std::max(size, here);
    }
    return size;
  }

  // Starts a preparer and kills it when it has written `size` bytes. Returns false if it finished
  // first. Appends its messages to the file "said".
  bool kill_at(const PrepareOptions& with, std::uintmax_t size) const {
    if (part_size() >= size) return false;  // it would be killed before it says anything
    const pid_t child = ::fork();
    if (child == 0) {
      (void)prepare(
          with,
          [&](const std::string& line) {
            std::ofstream(scratch_.path("said"), std::ios::app) << line << "\n";
          },
          kQuick);
      ::_exit(0);
    }
    const Deadline deadline(30s);
    int status = 0;
    pid_t ended = 0;
    while (ended == 0 && part_size() < size && !deadline.passed()) {
      std::this_thread::sleep_for(500us);
      ended = ::waitpid(child, &status, WNOHANG);
    }
    if (ended == child) return false;
    ::kill(child, SIGKILL);
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status);
  }
};

TEST_F(PrepareTrouble, ContinuingAfterAKillAtAnyMomentMakesTheSameBytes) {
  PrepareOptions with = options(write_texts("r.csv", 8000));
  with.vocabulary = "";  // training one is half of the work and must not be repeated
  with.vocabulary_size = 300;
  with.store = scratch_.path("whole.sqlite");
  const std::string whole = read_file(run(with).store);
  with.store = scratch_.path("r.sqlite");
  std::mt19937 random(11);
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(round);
    std::filesystem::remove(with.store);
    scratch_.write("said", "");
    int killed = 0;
    for (std::uintmax_t at = random() % 50'000; at < whole.size();
         at += 30'000 + random() % (whole.size() / 3)) {
      killed += kill_at(with, at) ? 1 : 0;
    }
    (void)run(with);
    EXPECT_EQ(read_file(with.store) == whole, true);
    EXPECT_THAT(scratch_.names(),
                ElementsAre("r.csv", "r.sqlite", "said", "vocab.txt", "whole.sqlite"));
    if (killed >= 2) {
      EXPECT_THAT(read_file(scratch_.path("said")),
                  HasSubstr("continuing where an earlier preparer stopped, after "));
    }
  }
}

TEST_F(PrepareTrouble, StartsOverWithOtherOptionsOrDamageAndSaysSo) {
  PrepareOptions with = options(write_texts("r.csv", 12000));
  const std::string part = scratch_.path("r.sqlite.part-0123456789abcdef");
  const auto leave_half = [&] {
    ASSERT_EQ(in_child([&] {
                StoreWriter writer(part, {.task = "classify",
                                          .schema = label_schema(),
                                          .names = {"0", "1", "2"},
                                          .vocabulary = {"[PAD]", "[UNK]", "[CLS]", "[SEP]"},
                                          .max_length = 64,
                                          .fingerprint = {{"max length", "64"}},
                                          .source_rows = {12000}});
                ::_exit(0);  // leaves everything, as a kill does
                return 0;
              }),
              0);
    ASSERT_TRUE(std::filesystem::exists(part));
  };
  leave_half();
  (void)run(with);
  EXPECT_THAT(
      messages_,
      Contains(AllOf(
          HasSubstr("starting over, because the leftovers of an earlier preparer cannot be used: "),
          HasSubstr("max length is 64 there, 128 here"))));
  with.rebuild = true;
  leave_half();
  std::string bytes = read_file(part);
  bytes.resize(bytes.size() / 2);
  scratch_.write("r.sqlite.part-0123456789abcdef", bytes);
  (void)run(with);
  EXPECT_THAT(messages_, Contains(HasSubstr("cannot be used: it is damaged: ")));
  EXPECT_THAT(scratch_.names(), ElementsAre("r.csv", "r.sqlite", "vocab.txt"));
}

TEST_F(PrepareTrouble, AWaiterSeesTheProgressOfTheOther) {
  const PrepareOptions with = options(write_rows("r.csv", 10));
  std::mutex mutex;
  std::vector<std::string> said;
  const auto has_said = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    return std::any_of(said.begin(), said.end(),
                       [&](const std::string& line) { return line.find(text) != line.npos; });
  };
  std::jthread waiting;
  {
    Lease other(scratch_.path("r.sqlite.lease"), kQuick);
    ASSERT_TRUE(other.try_take());
    other.say("prepared 41,000 of 67,349 rows");
    waiting = std::jthread([&] {
      (void)prepare(
          with,
          [&](const std::string& line) {
            const std::lock_guard lock(mutex);
            said.push_back(line);
          },
          kQuick);
    });
    const Deadline deadline(20s);
    const std::string expected = concat("waiting for process ", ::getpid(), " on host ");
    while (!has_said(": prepared 41,000 of 67,349 rows") && !deadline.passed()) {
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_TRUE(has_said(expected));
    EXPECT_TRUE(has_said(": prepared 41,000 of 67,349 rows"));
    EXPECT_FALSE(has_said("prepared 10 rows"));
  }
  waiting.join();
  EXPECT_TRUE(has_said("prepared 10 rows"));
}

TEST_F(PrepareTrouble, AReadOnlyStoreInAReadOnlyFolderServesAnyNumberOfRanks) {
  const PrepareOptions with = options(write_rows("r.csv", 400));
  (void)run(with);
  const std::vector<std::string> before = scratch_.names();
  for (const std::string& name : before) ::chmod(scratch_.path(name).c_str(), 0444);
  ::chmod(scratch_.path("").c_str(), 0555);
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(::fork());
    if (ranks.back() != 0) continue;
    drop_root();
    const PrepareResult result = prepare(
        with, [](const std::string&) {}, kQuick);
    const SampleStore store = SampleStore::open(result.store);
    store.verify();
    ::_exit(result.reused && store.size(Split::train) == 320 ? 0 : 1);
  }
  for (const pid_t rank : ranks) {
    int status = 0;
    EXPECT_EQ(::waitpid(rank, &status, 0), rank);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(scratch_.names(), before) << "the ranks must leave no files beside the store";

  EXPECT_EQ(in_child([&] {
              drop_root();
              PrepareOptions other = with;
              other.max_length = 16;
              other.rebuild = true;
              std::filesystem::current_path("/");
              ::setenv("HOME", "/nonexistent", 1);
              ::setenv("TMPDIR", "/tmp", 1);
              const std::string mine = "/tmp/r.sqlite";
              expect_input_error(70, "r.sqlite.lease: Permission denied",
                                 "name a place where you may write: --store " + mine,
                                 [&] { (void)run(other); });
              other.store = concat(mine, ".", ::getpid());
              EXPECT_EQ(run(other).store, other.store) << "the store that the hint names must work";
              std::filesystem::remove(other.store);
              return ::testing::Test::HasFailure() ? 1 : 0;
            }),
            0);
  EXPECT_EQ(in_child([&] {
              if (::geteuid() == 0) ::chmod(scratch_.path("r.sqlite").c_str(), 0);
              drop_root();
              ::chmod(scratch_.path("r.sqlite").c_str(), 0);
              expect_input_error(66, "cannot open the store", "--store", [&] { (void)run(with); });
              return ::testing::Test::HasFailure() ? 1 : 0;
            }),
            0);
  ::chmod(scratch_.path("").c_str(), 0755);
}

TEST_F(PrepareTrouble, WithoutRoomSaysHowMuchIsMissingAndChangesNothing) {
  PrepareOptions with = options(write_texts("r.csv", 12000));
  with.max_length = 16;
  const std::string old = read_file(run(with).store);
  with.max_length = 128;
  with.rebuild = true;
  const std::vector<std::string> before = scratch_.names();
  for (const rlim_t limit : {rlim_t{4000}, rlim_t{300'000}, rlim_t{1'500'000}}) {
    EXPECT_EQ(in_child([&] {
                ::signal(SIGXFSZ, SIG_IGN);
                const rlimit files{limit, limit};
                ::setrlimit(RLIMIT_FSIZE, &files);
                expect_input_error(70, "more are needed, ", "free some space",
                                   [&] { (void)run(with); });
                expect_input_error(70, "cannot write ", "--store", [&] { (void)run(with); });
                return ::testing::Test::HasFailure() ? 1 : 0;
              }),
              0)
        << limit;
    EXPECT_EQ(scratch_.names(), before);
    EXPECT_EQ(read_file(scratch_.path("r.sqlite")) == old, true);
  }
}

}  // namespace
}  // namespace bp::trainer
