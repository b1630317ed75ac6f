#include "bp/environment.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <map>

#include "base/keys/job_key.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::array kAll = {
    "RANK",         "WORLD_SIZE", "BP_LOCAL_SIZES", "BP_HOST_NAMES",        "BP_STORE",
    "BP_JOB",       "BP_KEY_FD",  "BP_ENGINE",      "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
    "SLURM_STEP_ID"};

class EnvironmentTest : public testing::Test {
 protected:
  // Any of these may be set where the tests run.
  EnvironmentTest() {
    for (const char* name : kAll) {
      if (const char* value = ::getenv(name)) {
        saved_[name] = value;
      }
      ::unsetenv(name);
    }
  }
  ~EnvironmentTest() override {
    for (const char* name : kAll) {
      ::unsetenv(name);
    }
    for (const auto& [name, value] : saved_) {
      set(name.c_str(), value);
    }
  }

  static void set(const char* name, const std::string& value) {
    ASSERT_EQ(::setenv(name, value.c_str(), 1), 0);
  }

  void set_all() {
    set("RANK", "3");
    set("WORLD_SIZE", "4");
    set("BP_LOCAL_SIZES", "3,1");
    set("BP_HOST_NAMES", "ada,bert");
    set("BP_STORE", "10.0.0.1:4711");
    set("BP_JOB", "job-1");
    set("BP_KEY_FD", concat(key_fd_.get()));
  }

  static std::string refusal() {
    try {
      const Environment environment = Environment::current();
      return "launcher " + environment.launcher;
    } catch (const Error& error) {
      return concat(name_of(error.code()), ": ", error.what());
    }
  }

  const JobKey key_ = random_job_key();
  const Fd key_fd_ = share_job_key(key_);

 private:
  std::map<std::string, std::string> saved_;
};

// docs/features.md, Launching: One process, also under a debugger | `bert_train` alone
TEST_F(EnvironmentTest, WithoutVariablesIsAJobOfOneRank) {
  const Environment environment = Environment::current();
  EXPECT_EQ(environment.launcher, "none");
  EXPECT_EQ(environment.topology.rank, 0);
  EXPECT_EQ(environment.topology.size(), 1);
  EXPECT_FALSE(environment.store.has_value());
}

// docs/features.md, Launching: The rank and the local rank given from outside | `RANK`,
// `LOCAL_RANK`
TEST_F(EnvironmentTest, ReadsWhatBprunSet) {
  set_all();
  const Environment environment = Environment::current();
  EXPECT_EQ(environment.launcher, "bprun");
  EXPECT_EQ(environment.topology.rank, 3);
  EXPECT_THAT(environment.topology.local_sizes, ElementsAre(3, 1));
  EXPECT_THAT(environment.topology.host_names, ElementsAre("ada", "bert"));
  EXPECT_EQ(environment.job, "job-1");
  ASSERT_TRUE(environment.store.has_value());
  EXPECT_EQ(environment.store->host, "10.0.0.1");
  EXPECT_EQ(environment.store->port, 4711);
  EXPECT_EQ(environment.key, key_);
  EXPECT_EQ(Environment::current().key, key_) << "the key can be read again";
}

TEST_F(EnvironmentTest, HostNamesAreOptional) {
  set_all();
  ::unsetenv("BP_HOST_NAMES");
  EXPECT_THAT(Environment::current().topology.host_names, ElementsAre());
}

// docs/acceptance.md, Store: A variable of the rendezvous that is missing is named.
TEST_F(EnvironmentTest, ErrorsNameTheMissingVariable) {
  for (const char* name :
       {"RANK", "WORLD_SIZE", "BP_LOCAL_SIZES", "BP_STORE", "BP_JOB", "BP_KEY_FD"}) {
    set_all();
    ::unsetenv(name);
    EXPECT_THAT(refusal(),
                AllOf(StartsWith(concat("invalid_argument: ", name, " is not set, but ")),
                      HasSubstr("Start this program with bprun, or unset ")));
  }
}

TEST_F(EnvironmentTest, OneVariableAloneIsRefused) {
  set("WORLD_SIZE", "1");
  EXPECT_THAT(refusal(), AllOf(StartsWith("invalid_argument: RANK is not set, but WORLD_SIZE is"),
                               HasSubstr("BP_ENGINE=none")));
}

// docs/acceptance.md, Store: A variable of the rendezvous that is wrong is named.
TEST_F(EnvironmentTest, ErrorsNameTheWrongVariable) {
  struct Case {
    const char* name;
    const char* value;
    const char* text;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"RANK", "x", "RANK=x: is not a whole number of at least 0"},
           {"RANK", "-1", "RANK=-1: is not a whole number of at least 0"},
           {"RANK", "4", "RANK=4: is not below WORLD_SIZE, which is 4"},
           {"RANK", "", "RANK=: is empty"},
           {"WORLD_SIZE", "0", "WORLD_SIZE=0: is not a whole number of at least 1"},
           {"WORLD_SIZE", "5", "BP_LOCAL_SIZES=3,1: adds up to 4 ranks, but WORLD_SIZE is 5"},
           {"BP_LOCAL_SIZES", "3,",
            "BP_LOCAL_SIZES=3,: local sizes \"3,\": \"\", the size of host 1"},
           {"BP_HOST_NAMES", "ada", "BP_HOST_NAMES=ada: names 1 hosts, but BP_LOCAL_SIZES has 2"},
           {"BP_STORE", "10.0.0.1", "BP_STORE=10.0.0.1: is not host:port"},
           {"BP_STORE", "a:0", "BP_STORE=a:0: is not host:port"},
           {"BP_STORE", "a:65536", "BP_STORE=a:65536: is not host:port"},
           {"BP_STORE", "[a]b]:80", "BP_STORE=[a]b]:80: is not host:port or [IPv6 address]:port"},
           {"BP_STORE", "[[::1]]:80", "BP_STORE=[[::1]]:80: is not host:port"},
           {"BP_STORE", "::1:80", "BP_STORE=::1:80: is not host:port or [IPv6 address]:port"},
           {"BP_KEY_FD", "no", "BP_KEY_FD=no: is not a whole number of at least 0"},
       }) {
    set_all();
    set(c.name, c.value);
    EXPECT_THAT(refusal(), StartsWith(concat("invalid_argument: ", c.text)));
  }
}

TEST_F(EnvironmentTest, StoreAddressCanBeIPv6) {
  set_all();
  set("BP_STORE", "[fe80::1%eth0]:80");
  const Environment environment = Environment::current();
  EXPECT_EQ(environment.store->host, "fe80::1%eth0");
  EXPECT_EQ(environment.store->text(), "[fe80::1%eth0]:80");
  EXPECT_EQ((StoreAddress{.host = "10.0.0.1", .port = 4711}.text()), "10.0.0.1:4711");
}

TEST_F(EnvironmentTest, KeyDescriptorThatIsClosedOrAnothersIsNamed) {
  set_all();
  Fd other(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  set("BP_KEY_FD", concat(other.get()));
  EXPECT_THAT(refusal(), HasSubstr("is not the sealed job key that bprun passed"));
  const int number = other.get();
  other.reset();
  EXPECT_THAT(refusal(), AllOf(StartsWith(concat("invalid_argument: BP_KEY_FD=", number, ": ")),
                               HasSubstr("is not open"), HasSubstr("sudo")));
}

TEST_F(EnvironmentTest, UnderAnEngineRankAndSizeAreKnownAndTheHostsAreNot) {
  set("OMPI_COMM_WORLD_RANK", "2");
  set("OMPI_COMM_WORLD_SIZE", "3");
  const Environment environment = Environment::current();
  EXPECT_EQ(environment.launcher, "openmpi");
  EXPECT_EQ(environment.found_by, "OMPI_COMM_WORLD_RANK=2");
  EXPECT_EQ(environment.topology.rank, 2);
  EXPECT_THAT(environment.topology.local_sizes, ElementsAre(1, 1, 1));
  EXPECT_FALSE(environment.store.has_value());
}

TEST_F(EnvironmentTest, EngineCanBeTurnedOff) {
  set_all();
  set("BP_ENGINE", "none");
  EXPECT_EQ(refusal(), "launcher none");
  set("BP_ENGINE", "plain");
  EXPECT_EQ(refusal(), "launcher plain");
  set("BP_ENGINE", "bprun");
  EXPECT_EQ(refusal(), "launcher bprun");
  ::unsetenv("BP_JOB");
  EXPECT_THAT(refusal(), StartsWith("invalid_argument: BP_JOB is not set, but BP_ENGINE is: "));
}

TEST_F(EnvironmentTest, BprunWinsOverALauncherAroundIt) {
  set_all();
  set("SLURM_STEP_ID", "0");
  EXPECT_EQ(refusal(), "launcher bprun");
}

}  // namespace
}  // namespace bp
