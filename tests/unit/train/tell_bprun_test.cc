// The arguments for resuming that a trainer stores in the job's store for bprun's report.
#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/keys/job_key.h"
#include "base/resume_words.h"
#include "base/text.h"
#include "comm/store/server.h"
#include "trainer/run/command_again.h"

namespace bp::trainer {
namespace {

using Words = std::vector<std::string>;

class TellBprun : public testing::Test {
 protected:
  // This process is the only rank of a job of bprun.
  TellBprun() {
    set("RANK", "0");
    set("WORLD_SIZE", "1");
    set("BP_LOCAL_SIZES", "1");
    set("BP_STORE", server_.address().text());
    set("BP_JOB", "job");
    set("BP_KEY_FD", concat(key_fd_.get()));
  }
  ~TellBprun() override {
    for (const std::string& name : set_) ::unsetenv(name.c_str());
  }

  void set(const std::string& name, const std::string& value) {
    set_.push_back(name);
    ASSERT_EQ(::setenv(name.c_str(), value.c_str(), 1), 0);
  }
  [[nodiscard]] Words stored_arguments() {
    const auto values = server_.values(std::string(kResumeArguments));
    return values.empty() ? Words{} : words_told(values.begin()->second).instead;
  }

  const JobKey key_ = random_job_key();
  const Fd key_fd_ = share_job_key(key_);
  std::vector<StoreEvent::Kind> events_;
  StoreServer server_{{.job = "job", .key = key_},
                      [this](const StoreEvent& event) { events_.push_back(event.kind); }};
  Words set_;
};

TEST_F(TellBprun, UsesTheStoreOfTheWorld) {
  const auto store = connect_store({.address = server_.address(), .job = "job", .key = key_});
  tell_bprun(store.get(), {.instead = {"data.csv", "--text", "a b"}});
  EXPECT_EQ(stored_arguments(), (Words{"data.csv", "--text", "a b"}));
}

TEST_F(TellBprun, AWorldOfOneConnectsToTheStoreWithoutJoining) {
  tell_bprun(nullptr, {.instead = {"data.csv"}});
  EXPECT_EQ(stored_arguments(), Words{"data.csv"});
  EXPECT_TRUE(events_.empty()) << "the connection must neither join the job nor count as lost";
}

TEST_F(TellBprun, WithoutBprunDoesNothing) {
  set("BP_ENGINE", "none");
  tell_bprun(nullptr, {.instead = {"data.csv"}});
  EXPECT_EQ(stored_arguments(), Words{});
}

TEST_F(TellBprun, ARefusalByTheStoreIsNoFailure) {
  set("BP_JOB", "another");
  tell_bprun(nullptr, {.instead = {"data.csv"}});
  EXPECT_EQ(stored_arguments(), Words{});
}

}  // namespace
}  // namespace bp::trainer
