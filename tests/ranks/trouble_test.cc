// Tests the errors of ranks in trouble: which rank fails and how, and when and with which text the
// others learn of it.
#include <gmock/gmock.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <csignal>
#include <future>
#include <latch>
#include <thread>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "bp/store.h"
#include "comm/transport/inproc.h"
#include "tests/support/refusal.h"
#include "trouble_fixture.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

OVER_BOTH_WIRES(Trouble);

// docs/acceptance.md, Failures: At its deadline a collective ends with an error that names the
// ranks that have not entered it.
TEST_P(Trouble, SilentRankIsNamedAtTheDeadline) {
  options_.communicator.timeout = 1500ms;
  std::latch over(2);
  const auto texts = errors(3, [&](Communicator& comm) {
    if (comm.rank() == 1) {
      over.wait();  // takes no part in the all_reduce
      comm.abort("was silent");
      return;
    }
    std::vector<float> data(1000);
    try {
      all_reduce(comm, view(data), {.name = "loss"});
    } catch (...) {
      over.count_down();
      throw;
    }
    over.count_down();
  });
  for (const int rank : {0, 2}) {
    EXPECT_THAT(texts[static_cast<std::size_t>(rank)],
                AllOf(StartsWith("timeout: "), HasSubstr("waited 1500 ms for rank 1 "),
                      HasSubstr("of all_reduce sum of 1000 f32 'loss'"),
                      HasSubstr("not seen in this collective")));
  }
  EXPECT_GE(took_, 1500ms);
  EXPECT_LT(took_, kSoon);
}

// docs/acceptance.md, Failures: A deadline of 10 ms is kept.
TEST_P(Trouble, ShortTimeoutIsKept) {
  std::latch over(1);
  const auto texts = errors(2, [&](Communicator& comm) {
    if (comm.rank() == 1) {
      over.wait();
      return;
    }
    try {
      barrier(comm, {.name = "quick", .timeout = 10ms});
    } catch (...) {
      over.count_down();
      throw;
    }
  });
  EXPECT_THAT(texts[0],
              AllOf(StartsWith("timeout: rank 0 waited 10 ms for rank 1 in barrier 'quick'")));
  EXPECT_LT(took_, kSoon);
}

// docs/acceptance.md, Disagreement and misuse: Two operations in flight may have one name, because
// the order identifies them.
TEST_P(Trouble, OneNameTwiceInFlight) {
  const auto texts = errors(3, [](Communicator& comm) {
    std::vector<std::int32_t> first(10, comm.rank());
    std::vector<std::int32_t> second(20, 10 * comm.rank());
    Work one = all_reduce_async(comm, view(first), {.name = "same"});
    Work two = all_reduce_async(comm, view(second), {.name = "same"});
    two.wait();
    one.wait();
    EXPECT_THAT(first, Each(3));
    EXPECT_THAT(second, Each(30));
  });
  EXPECT_THAT(texts, Each(""));
}

TEST_P(Trouble, ErrorNamesTheOperationThatDidNotBegin) {
  std::barrier both(2);
  const auto texts = errors(2, [&](Communicator& comm) {
    both.arrive_and_wait();
    if (comm.rank() == 1) comm.abort("the data is bad");
    while (!comm.store()->job_failure()) std::this_thread::yield();
    std::vector<float> data(10);
    try {
      all_reduce(comm, view(data), {.name = "step"});
    } catch (const Error&) {
      both.arrive_and_wait();  // the others must not see this rank leave
      throw;
    }
  });
  // Rank 0's store gets the failure a moment before rank 0 does.
  EXPECT_THAT(texts[0],
              ContainsRegex("^aborted: rank 0 (did not begin|stopped after 0 of 40 bytes of) "
                            "all_reduce sum of 10 f32 'step': rank 1 aborted: the data is bad$"));
  EXPECT_EQ(texts[1],
            "aborted: rank 1 did not begin all_reduce sum of 10 f32 'step': rank 1 aborted: the "
            "data is bad");
}

// docs/acceptance.md, Failures: A rank that is late is not a failure, by any algorithm.
TEST_P(Trouble, LateRankIsNoFailure) {
  std::atomic<int> entered = 0;
  const auto texts = errors(3, [&](Communicator& comm) {
    if (comm.rank() == 1) std::this_thread::sleep_for(300ms);
    std::vector<std::int32_t> data = {comm.rank()};
    all_reduce(comm, view(data));
    EXPECT_EQ(data[0], 3);
    for (int late = 0; late < 3; ++late) {
      if (comm.rank() == late) std::this_thread::sleep_for(50ms);
      ++entered;
      barrier(comm);
      EXPECT_GE(entered, 3 * (late + 1)) << "the barrier did not wait for rank " << late;
    }
    // no key of the comparison may be left
    EXPECT_FALSE(comm.store()->find("comm/world/asked/0/ranks."));
  });
  EXPECT_THAT(texts, Each(""));
}

// docs/acceptance.md, Failures: A rank that throws ends the others.
TEST_P(Trouble, RankThatThrowsEndsTheOthers) {
  const auto texts = errors(4, [](Communicator& comm) {
    barrier(comm);
    if (comm.rank() == 2) throw std::runtime_error("of its own doing");
    std::vector<float> data(100'000);
    for (;;) all_reduce(comm, view(data));
  });
  EXPECT_EQ(texts[2], "of its own doing");
  for (const std::size_t rank : {0, 1, 3}) {
    EXPECT_THAT(texts[rank], AllOf(StartsWith("peer_lost: "), HasSubstr("rank 2")));
  }
  EXPECT_LT(took_, kSoon);
}

// docs/acceptance.md, Failures: The text of an abort() reaches all ranks.
TEST_P(Trouble, AbortReachesAllRanksWithItsText) {
  const auto texts = errors(3, [](Communicator& comm) {
    if (comm.rank() == 1) comm.abort("the data is bad");
    std::vector<float> data(10);
    for (;;) all_reduce(comm, view(data), {.name = "step"});
  });
  EXPECT_THAT(texts, Each(AllOf(StartsWith("aborted: "), HasSubstr("the data is bad"))));
  EXPECT_LT(took_, kSoon);
}

// docs/acceptance.md, Failures: abort() may come from any thread.
TEST_P(Trouble, AbortComesFromAnyThread) {
  const auto texts = errors(2, [](Communicator& comm) {
    if (comm.rank() == 1) {
      while (!comm.store()->job_failure()) std::this_thread::yield();
      return;
    }
    std::thread other([&] { comm.abort("enough"); });
    try {
      barrier(comm);
    } catch (...) {
      other.join();
      throw;
    }
    other.join();
  });
  EXPECT_THAT(texts[0], AllOf(StartsWith("aborted: "), HasSubstr("enough")));
}

// docs/acceptance.md, Failures: A group fails alone.
TEST_P(Trouble, GroupFailsAlone) {
  const auto texts = errors(4, [](Communicator& comm) {
    Communicator pair = comm.split(comm.rank() / 2);
    if (comm.rank() == 3) pair.abort("only us");
    std::string error;
    try {
      barrier(pair);
    } catch (const Error& caught) {
      error = caught.what();
    }
    EXPECT_EQ(error.find("only us") != std::string::npos, comm.rank() >= 2) << error;
    barrier(comm);
  });
  EXPECT_THAT(texts, Each(""));
}

// docs/acceptance.md, Operations in flight and groups: Operations in flight and later calls get the
// error of a failed operation.
TEST_P(Trouble, PendingAndLaterCallsGetTheError) {
  const auto texts = errors(2, [](Communicator& comm) {
    std::vector<float> data(10);
    if (comm.rank() == 1) {
      std::vector<float> other(11);
      all_reduce(comm, view(other));
      return;
    }
    Work first = all_reduce_async(comm, view(data), {.name = "first"});
    Work second = all_reduce_async(comm, view(data), {.name = "second"});
    EXPECT_FALSE(first.wait_for(1ms));
    for (Work* work : {&first, &second}) {
      try {
        work->wait();
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::mismatch);
      }
      EXPECT_TRUE(work->done());
    }
    barrier(comm);
  });
  EXPECT_THAT(texts[0],
              StartsWith("aborted: this communicator has already failed: ranks disagree"));
}

TEST_P(Trouble, AWaitMayLastAsLongAsItTakes) {
  const auto texts = errors(2, [](Communicator& comm) {
    std::vector<float> data(10);
    if (comm.rank() == 1) {
      std::this_thread::sleep_for(300ms);
      all_reduce(comm, view(data));
      send(comm, const_view(data), 0);
      return;
    }
    Work sum = all_reduce_async(comm, view(data));
    EXPECT_FALSE(sum.wait_for(std::chrono::milliseconds::min()));
    EXPECT_TRUE(sum.wait_for(std::chrono::milliseconds::max()));
    Work received = receive_async(comm, view(data), 1);
    EXPECT_TRUE(received.wait_for(std::chrono::milliseconds::max()));
  });
  EXPECT_THAT(texts, Each(""));
}

// docs/acceptance.md, Disagreement and misuse: A communicator refuses calls after finish().
TEST_P(Trouble, FinishedCommunicatorRefusesCalls) {
  const auto texts = errors(1, [](Communicator& comm) {
    comm.finish();
    barrier(comm);
  });
  EXPECT_EQ(texts[0], "aborted: this communicator has finished");
}

// One fault at one operation of rank 1. No rank may hang or get a wrong result.
class Faults : public Trouble {
 protected:
  [[nodiscard]] std::vector<std::string> errors_with(const Fault& fault) const {
    RanksOptions options = options_;
    options.fault = [fault](int rank) { return rank == 1 ? fault : Fault{}; };
    options.communicator.timeout = 2s;
    options.communicator.algorithm = "ring";
    return try_ranks(
        3,
        [](Communicator& comm) {
          for (int step = 0; step < 20; ++step) {
            std::vector<std::int32_t> data(300, comm.rank() + step);
            all_reduce(comm, view(data), {.name = "data"});
            EXPECT_THAT(data, Each(3 + 3 * step));
          }
        },
        options);
  }
};

OVER_BOTH_WIRES(Faults);

TEST_P(Faults, DelayIsNoFault) {
  EXPECT_THAT(errors_with({.kind = Fault::Kind::delay, .at = 31, .delay = 300ms}), Each(""));
}

TEST_P(Faults, LostMessageEndsAtTheDeadline) {
  // run at the same time, because they only wait
  std::vector<std::future<std::vector<std::string>>> worlds;
  for (const std::uint64_t at : {30, 31, 32, 33}) {
    worlds.push_back(std::async(std::launch::async, [this, at] {
      return errors_with({.kind = Fault::Kind::drop, .at = at});
    }));
  }
  for (auto& texts : worlds) {
    EXPECT_THAT(texts.get(), Each(AllOf(StartsWith("timeout: "), HasSubstr("'data'"))));
  }
}

TEST_P(Faults, FailureIsAttributedToItsRank) {
  const auto texts = errors_with({.kind = Fault::Kind::fail, .at = 30});
  EXPECT_THAT(texts, Each(AllOf(StartsWith("io: "), HasSubstr("rank 1 lost rank "),
                                HasSubstr("operation 30 was made to fail"))));
}

TEST_P(Faults, RankThatTakesPartButSendsNothingIsNamed) {
  options_.communicator.timeout = 1500ms;
  options_.communicator.algorithm = "ring";
  options_.fault = [](int rank) {
    return rank == 1 ? Fault{.kind = Fault::Kind::drop, .at = 0} : Fault{};
  };
  const auto texts = errors(2, [](Communicator& comm) {
    std::vector<float> data(100);
    all_reduce(comm, view(data), {.name = "data"});
  });
  EXPECT_THAT(texts, Each(AllOf(StartsWith("timeout: "),
                                ContainsRegex("rank [01] waited 1500 ms for rank [01] .*'data': it "
                                              "takes part, but nothing more came \\(slow ranks "
                                              "need a longer timeout\\)$"))));
}

// Each rank loses the other for a reason of its own. The first to report it determines the job's
// failure.
TEST_P(Faults, SecondFailingRankNamesBothReasons) {
  options_.communicator.algorithm = "ring";
  options_.fault = [](int) { return Fault{.kind = Fault::Kind::fail, .at = 0}; };
  const auto texts = errors(2, [](Communicator& comm) {
    std::vector<float> data(100);
    all_reduce(comm, view(data), {.name = "data"});
  });
  const auto lost = [](int rank) {
    return concat("rank ", rank, " lost rank ", 1 - rank, " [^;]*'data': operation 0 was made to ",
                  "fail");
  };
  EXPECT_THAT(texts,
              AnyOf(ElementsAre(MatchesRegex("io: " + lost(0)),
                                MatchesRegex("io: " + lost(1) + "; first of all: " + lost(0))),
                    ElementsAre(MatchesRegex("io: " + lost(0) + "; first of all: " + lost(1)),
                                MatchesRegex("io: " + lost(1)))));
}

TEST(Faulty, ShortMessageIsAnError) {
  RanksOptions options;
  options.fault = [](int rank) {
    return rank == 1 ? Fault{.kind = Fault::Kind::truncate, .at = 3} : Fault{};
  };
  const auto texts = try_ranks(
      2,
      [](Communicator& comm) {
        std::vector<float> data(100);
        for (int step = 0; step < 5; ++step) all_reduce(comm, view(data));
      },
      options);
  EXPECT_THAT(texts, Each(HasSubstr("were sent where")));
}

TEST(Faulty, KillsItsProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process instead of a fork of this one
  EXPECT_EXIT(
      {
        InprocHub hub(2);
        const auto transport = make_faulty(hub.join(0), {.kind = Fault::Kind::kill, .at = 1});
        const auto first = transport->post_send(1, 0, {});
        const auto second = transport->post_send(1, 0, {});
      },
      testing::KilledBySignal(SIGKILL), "");
}

}  // namespace
}  // namespace bp::test
