#include "launcher/cli/bprun_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include <nlohmann/json.hpp>

#include "base/options/help.h"
#include "base/options/value_text.h"
#include "bp/error.h"
#include "launcher/protocol/hello.h"

namespace bp::launcher {
namespace {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

using Words = std::vector<std::string>;

Options good(const Words& words) {
  const auto result = parse_options(words);
  if (const auto* exit = std::get_if<EarlyExit>(&result)) {
    ADD_FAILURE() << exit->text;
    return {};
  }
  return std::get<Options>(result);
}

std::string bad(const Words& words) {
  const auto result = parse_options(words);
  const auto* exit = std::get_if<EarlyExit>(&result);
  if (exit == nullptr) {
    return "no error";
  }
  EXPECT_EQ(exit->code, 2);
  EXPECT_THAT(exit->text, ContainsRegex("\n  hint: .*bprun --help"));
  return exit->text.substr(0, exit->text.find('\n'));
}

TEST(Options, HaveDefaults) {
  const Options options = good({"prog"});
  EXPECT_FALSE(options.ranks);
  EXPECT_EQ(options.prefix, PrefixStyle::rank);
  EXPECT_EQ(options.start_timeout, 30s);
  EXPECT_EQ(options.grace, 30s);
  EXPECT_EQ(options.ssh, "ssh");
  EXPECT_EQ(options.store_port, 0);
}

TEST(Options, TakeEveryValue) {
  const Options options = good({"-n",        "4",
                                "-H",        "a:3,b:1",
                                "--prefix",  "time",
                                "--output",  "dir",
                                "--env",     "A",
                                "--env",     "B=c d",
                                "--env-all", "--start-timeout",
                                "500ms",     "--grace",
                                "2m",        "--ssh",
                                "ssh -F f",  "--remote-bprun",
                                "/x/bprun",  "--interface",
                                "eth0",      "--store-port",
                                "4711",      "--dry-run",
                                "p"});
  EXPECT_EQ(options.ranks, 4);
  EXPECT_EQ(options.host_list, "a:3,b:1");
  EXPECT_EQ(options.prefix, PrefixStyle::time);
  EXPECT_EQ(options.output, "dir");
  EXPECT_THAT(options.environment, ElementsAre("A", "B=c d"));
  EXPECT_TRUE(options.whole_environment);
  EXPECT_EQ(options.start_timeout, 500ms);
  EXPECT_EQ(options.grace, 2min);
  EXPECT_EQ(options.ssh, "ssh -F f");
  EXPECT_EQ(options.remote_bprun, "/x/bprun");
  EXPECT_EQ(options.interface, "eth0");
  EXPECT_EQ(options.store_port, 4711);
  EXPECT_TRUE(options.dry_run);
  EXPECT_EQ(good({"--hostfile", "f", "p"}).hostfile, "f");
  EXPECT_EQ(good({"--hosts", "m", "p"}).host_map, "m");
}

TEST(Options, ASilentRankIsKilledOnlyOnRequest) {
  EXPECT_FALSE(good({"prog"}).kill_silent);
  const Options plain = good({"--kill-silent", "prog"});
  EXPECT_EQ(plain.kill_silent, 10s);
  EXPECT_THAT(plain.program, ElementsAre("prog"));
  EXPECT_EQ(good({"--kill-silent=2m", "prog"}).kill_silent, 2min);
  EXPECT_EQ(bad({"--kill-silent=500ms", "prog"}),
            "bprun: --kill-silent must be 1s or more, not 500ms");
  EXPECT_EQ(plain.lost_after, 9s);
  EXPECT_EQ(good({"--lost-after", "30s", "prog"}).lost_after, 30s);
  EXPECT_EQ(bad({"--lost-after", "2s", "prog"}),
            "bprun: --lost-after must be from 5s to 24h, not 2s");
  EXPECT_EQ(bad({"--kill-silent=soon", "prog"}),
            "bprun: --kill-silent must be a time such as 30s, 500ms or 2m, not 'soon'");
}

TEST(Options, LimitTheFilesOfOutput) {
  EXPECT_EQ(good({"--output", "out", "--output-limit", "64K", "prog"}).output_limit, 65536U);
  EXPECT_EQ(good({"--output", "out", "--output-limit=2G", "prog"}).output_limit, 2147483648U);
  EXPECT_EQ(good({"--output", "out", "--output-limit=5000", "prog"}).output_limit, 5000U);
  EXPECT_EQ(bad({"--output-limit", "64K", "prog"}),
            "bprun: --output-limit has no effect without --output; add --output DIR or remove it");
  for (const char* size : {"0", "1K", "64KB", "K", "-5", "9999999999G", "18446744073709551615"}) {
    EXPECT_THAT(bad({"--output", "out", "--output-limit", size, "prog"}),
                testing::StartsWith("bprun: --output-limit must be a size of at least 4K"))
        << size;
  }
}

TEST(Options, LeaveTheProgramsOptionsAlone) {
  EXPECT_THAT(good({"-n", "2", "prog", "--flag", "-n", "9"}).program,
              ElementsAre("prog", "--flag", "-n", "9"));
  EXPECT_THAT(good({"--", "prog", "--help"}).program, ElementsAre("prog", "--help"));
  EXPECT_THAT(good({"-n2", "--", "-odd-name", "--"}).program, ElementsAre("-odd-name", "--"));
  EXPECT_THAT(good({"prog", "a", "--", "b", "", "--version"}).program,
              ElementsAre("prog", "a", "--", "b", "", "--version"));
}

// docs/acceptance.md, Launcher: A mistake on the command line ends with one line, a hint and exit
// code 2.
TEST(Options, AreRefusedInOneLineAndAHint) {
  EXPECT_EQ(bad({}), "bprun: no program is given");
  EXPECT_EQ(bad({"-n", "2", "--"}), "bprun: no program is given");
  EXPECT_EQ(bad({"--flag", "prog"}),
            "bprun: there is no option --flag (before the program: --flag prog)");
  EXPECT_EQ(bad({"--nnodes", "2:20:30", "p"}),
            "bprun: there is no option --nnodes (before the program: --nnodes 2:20:30 p)");
  EXPECT_EQ(bad({"-n", "2:20:30", "p"}), "bprun: -n must be a whole number, not '2:20:30'");
  EXPECT_EQ(bad({"-n", "2", "-np", "3", "p"}), "bprun: -n is given twice");
  EXPECT_EQ(bad({"-n", "0", "p"}), "bprun: -n must be 1 or more, not 0");
  EXPECT_EQ(bad({"-n", "x", "p"}), "bprun: -n must be a whole number, not 'x'");
  EXPECT_EQ(bad({"-H", "a", "--hosts", "b", "p"}),
            "bprun: give only one of -H, --hostfile and --hosts");
  EXPECT_EQ(bad({"--prefix", "x", "p"}),
            "bprun: --prefix must be rank, none, horovod or time, not 'x'");
  EXPECT_EQ(bad({"--stdin", "1", "p"}), "bprun: --stdin must be 0 (rank 0) or none, not '1'");
  EXPECT_EQ(bad({"--store-port", "65536", "p"}),
            "bprun: --store-port must be from 0 to 65535, not 65536");
  EXPECT_EQ(bad({"--env", "=x", "p"}),
            "bprun: --env '=x' has no name; write --env NAME or --env NAME=VALUE");
  EXPECT_EQ(bad({"--env", "RANK=7", "p"}),
            "bprun: --env RANK: bprun sets RANK for each rank; choose another name, or leave this "
            "out");
  EXPECT_EQ(
      bad({"-x", "BP_STORE", "p"}),
      "bprun: --env BP_STORE: bprun sets BP_STORE for each rank; choose another name, or leave "
      "this out");
  EXPECT_EQ(bad({"--grace", "1x", "p"}),
            "bprun: --grace must be a time such as 30s, 500ms or 2m, not '1x'");
}

TEST(Options, AreRepeatedWithoutTheValuesOfEnv) {
  EXPECT_THAT(good({"--env", "TOKEN=s3=cret", "--env=KEY=1", "-x", "A=2", "--env", "B", "-n", "2",
                    "p", "--env", "C=3"})
                  .own,
              ElementsAre("--env", "TOKEN", "--env=KEY", "-x", "A", "--env", "B", "-n", "2"));
  EXPECT_THAT(good({"--env", "TOKEN=s3=cret", "p", "--env", "C=3"}).program,
              ElementsAre("p", "--env", "C=3"));
  EXPECT_THAT(good({"--env", "TOKEN=s3=cret", "p"}).environment, ElementsAre("TOKEN=s3=cret"));
}

// docs/acceptance.md, Launcher: Options of other launchers work if they mean the same.
TEST(OtherOptions, WithTheSameMeaningWork) {
  EXPECT_EQ(good({"-np", "2", "p", "-np", "3"}).ranks, 2);
  EXPECT_THAT(good({"-np", "2", "p", "-np", "3"}).program, ElementsAre("p", "-np", "3"));
  EXPECT_EQ(good({"--np=4", "p"}).ranks, 4);
  EXPECT_EQ(good({"-q", "--num-proc", "4", "--", "p"}).ranks, 4);
  EXPECT_EQ(good({"-hosts", "a,b", "p"}).host_list, "a,b");
  EXPECT_EQ(good({"--host=a:2", "-x", "A=1", "p"}).host_list, "a:2");
  EXPECT_THAT(good({"-x", "A=1", "-x", "B", "p"}).environment, ElementsAre("A=1", "B"));
  EXPECT_EQ(good({"--prefix", "none", "-machinefile", "f", "p"}).hostfile, "f");
  EXPECT_EQ(good({"-n2", "-f", "f", "p"}).hostfile, "f");
  EXPECT_THAT(good({"-np", "2", "p"}).own, ElementsAre("-np", "2"))
      << "the report prints them to run the job again";
  EXPECT_THAT(good({"--env", "-np", "p", "-np"}).program, ElementsAre("p", "-np"))
      << "-np is the value of --env here";
}

// docs/acceptance.md, Launcher: Options of other launchers that mean something else are refused
// with a hint.
TEST(OtherOptions, WithAnotherMeaningAreRefusedWithAHint) {
  const auto hint = [](const Words& words) {
    const auto result = parse_options(words);
    const std::string text = std::get<EarlyExit>(result).text;
    return text.substr(text.find("\n  hint: ") + 9);
  };
  const std::string end = "bprun --help shows examples and all options";
  EXPECT_EQ(hint({"--hotfile", "f", "p"}), "did you mean --hostfile? " + end);
  EXPECT_EQ(hint({"--output_dir=x", "p"}), end);
  EXPECT_EQ(hint({"--ouput=x", "p"}), "did you mean --output? " + end);
  EXPECT_EQ(hint({"--nproc_per_node", "4", "p"}),
            "instead of another launcher's --nproc_per_node: write the ranks of each host in -H "
            "a:4,b:4; -n N on this machine alone (docs/coming-from.md has more); " +
                end);
  for (const char* other :
       {"--here_gpus", "--other_gpus", "--no_python", "-m", "--module", "--nprocs", "--start_rank",
        "--world_size", "--master_node", "--distributed-world-size", "--distributed-gpus",
        "--distributed-rank", "--distributed-init-method", "--distributed-no-spawn"}) {
    EXPECT_THAT(hint({other, "x", "p"}),
                StartsWith(std::string("instead of another launcher's ") + other + ": "));
  }
  EXPECT_THAT(hint({"--nnodes=2", "p"}), StartsWith("instead of another launcher's --nnodes: bprun "
                                                    "-H a:3,b:1 starts all by ssh"));
}

// docs/acceptance.md, Launcher: Help fits 80 columns, and a misspelt word gets the nearest.
TEST(Options, HelpFitsATerminal) {
  std::istringstream lines(std::get<EarlyExit>(parse_options({"--help"})).text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_LE(line.size(), 80U) << line;
  }
  EXPECT_GT(count, 40);
}

TEST(Options, HelpWrapsBetweenWordsUnderTheDescription) {
  EXPECT_EQ(wrap_help("  -n N  aa bb cc dd\n", 18), "  -n N  aa bb cc\n        dd\n");
  EXPECT_EQ(wrap_help("  --one N  aa bb cc\n\nplain words here\n", 14),
            "  --one N  aa\n      bb cc\n\nplain words\nhere\n")
      << "the description begins past the middle of the line";
  EXPECT_EQ(wrap_help("  --op {a,bbbbbb,ccccccc,d}\n", 20),
            "  --op {a,bbbbbb,\n      ccccccc,d}\n");
}

// docs/features.md, Launching: The first rank, the count of this machine and that of all |
// `--first-rank`, `--slots` and `-n` of each machine (`--serve`, `--join`), or an engine's
// variables
TEST(Options, OfMachinesThatJoin) {
  const Options server = good({"--serve", "7000", "-n", "6", "--slots", "3", "p"});
  EXPECT_EQ(server.serve_port, 7000);
  EXPECT_EQ(server.slots, 3);
  EXPECT_FALSE(server.first_rank);
  const Options candidate = good({"--join", "[fe80::1]:7000", "--first-rank", "2"});
  EXPECT_EQ(candidate.join->text(), "[fe80::1]:7000");
  EXPECT_EQ(candidate.slots, 1);
  EXPECT_EQ(candidate.first_rank, 2);
  EXPECT_TRUE(candidate.program.empty()) << "the machine runs the server's program";
  EXPECT_EQ(good({"--serve", "0", "-n", "2", "--slots", "0", "p"}).slots, 0);
  EXPECT_TRUE(good({"--serve", "0", "-n", "2", "--dry-run", "p"}).dry_run);
  EXPECT_EQ(good({"--join", "h:1", "--gpus", "0,1"}).gpus, "0,1");
}

TEST(Options, OfMachinesThatJoinAreRefusedInWrongCombinations) {
  EXPECT_EQ(bad({"--serve", "0", "p"}), "bprun: --serve needs -n, the number of ranks of the job");
  EXPECT_EQ(bad({"--serve", "0", "-n", "2"}), "bprun: no program is given");
  EXPECT_EQ(bad({"--serve", "0", "--join", "h:1", "-n", "2", "p"}),
            "bprun: give only one of --serve and --join");
  EXPECT_EQ(bad({"--serve", "65536", "-n", "2", "p"}),
            "bprun: --serve must be a port from 0 to 65535, not 65536");
  EXPECT_EQ(bad({"--join", "h"}), "bprun: --join h is not host:port or [IPv6 address]:port");
  EXPECT_EQ(bad({"--join", "h:1", "-H", "a", "p"}),
            "bprun: --join cannot be combined with -H, --hostfile, --hosts, --include and "
            "--exclude: the hosts are those that join");
  EXPECT_EQ(bad({"--join", "h:1", "--slots", "0"}), "bprun: --slots must be from 1 to 4096, not 0");
  EXPECT_EQ(bad({"--join", "h:1", "--first-rank", "-1"}),
            "bprun: --first-rank must be 0 or more, and needs --slots 1 or more");
  EXPECT_EQ(bad({"--slots", "2", "p"}), "bprun: --slots and --first-rank need --serve or --join");
  EXPECT_EQ(bad({"--join", "h:1", "--dry-run"}),
            "bprun: --join cannot be combined with --dry-run: only the server knows what will be "
            "started; run --dry-run there");
  EXPECT_EQ(bad({"--serve", "0", "-n", "2", "--max-restarts", "1", "p"}),
            "bprun: --serve cannot be combined with --max-restarts: after a failure the machines "
            "would have to join again");
}

// docs/acceptance.md, Launcher: Help begins with examples.
TEST(Options, HelpBeginsWithExamples) {
  const auto help = std::get<EarlyExit>(parse_options({"--help"}));
  EXPECT_EQ(help.code, 0);
  EXPECT_LT(help.text.find("Examples:"), help.text.find("Options:"));
  EXPECT_THAT(help.text, HasSubstr("Usage: bprun [OPTIONS] [--] PROGRAM [ARGS...]"));
  EXPECT_THAT(std::get<EarlyExit>(parse_options({"--version"})).text, StartsWith("bprun 0."));
}

// docs/acceptance.md, Devices: bprun --check-build says what is built in and which libraries for
// GPUs this machine has.
TEST(Options, CheckBuildSaysWhatIsBuiltIn) {
  const std::string lines = std::get<EarlyExit>(parse_options({"--check-build"})).text;
  EXPECT_THAT(lines, StartsWith("bprun 0."));
  EXPECT_THAT(lines, HasSubstr("\n  backend   shm\n"));
  EXPECT_THAT(lines, HasSubstr("\n  launchers bprun, torchrun, openmpi, "));
  EXPECT_THAT(lines, HasSubstr("\n  CUDA      "));
  EXPECT_THAT(lines, HasSubstr("\n  NCCL      "));
  EXPECT_THAT(lines, HasSubstr("\n  kernels   "));
  const auto exit = std::get<EarlyExit>(parse_options({"--check-build", "--json"}));
  EXPECT_EQ(exit.code, 0);
  const auto build = nlohmann::json::parse(exit.text);
  EXPECT_EQ(build.at("build").get<std::string>(), own_build());
  std::vector<std::string> backends;
  for (const auto& backend : build.at("backends")) backends.push_back(backend.at("name"));
  EXPECT_THAT(backends, ElementsAre("shm", "gloo", "gloo-native", "gloo-native-batch", "nccl"));
  for (const auto& library : build.at("libraries")) {
    EXPECT_TRUE(library.at("found") != "" || library.at("problem") != "") << library;
  }
  EXPECT_EQ(build.at("libraries").size(), 3U);
  EXPECT_EQ(build.at("engines").at(0), "torchrun");
  EXPECT_EQ(build.at("engines").size(), 10U);
}

// bert_train has the same grammar.
TEST(Duration, TakesUnits) {
  EXPECT_EQ(parse_duration("30"), 30s);
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("0"), 0ms);
  EXPECT_EQ(parse_duration("1h"), 1h);
  for (const char* text : {"", "s", "-1", "1e3", "1 s", "inf", "nan", "9999999999h"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
  EXPECT_EQ(good({"--grace", "2h30m", "p"}).grace, 150min);
  EXPECT_EQ(good({"--grace", "1.5h", "p"}).grace, 90min);
}

}  // namespace
}  // namespace bp::launcher
