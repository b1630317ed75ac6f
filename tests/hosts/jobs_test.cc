// Jobs that succeed on several hosts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "launcher/protocol/agent_messages.h"
#include "launcher/protocol/frame.h"
#include "tests/e2e/shell.h"
#include "tests/hosts/hosts.h"
#include "tests/support/places.h"

namespace bp::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using JobOnHosts = HostsTest;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST_F(JobOnHosts, RanksRunOnTheHostsThatTheListNames) {
  BprunProcess bprun = run({"-H", "a:3,b:1", "hostname"});
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  EXPECT_THAT(lines_of(bprun.out()), UnorderedElementsAre("[0] a", "[1] a", "[2] a", "[3] b"));
}

void write_program(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

// The ranks compute a hundred sums and compare each with its exact value.
TEST_F(JobOnHosts, RanksReduceOverTheNetwork) {
  for (const char* hosts : {"a:3,b:1", "a:1,b:2,c:3"}) {
    BprunProcess bprun = run({"-H", hosts, rank_program(), "recover"});
    EXPECT_EQ(bprun.finish(), 0) << bprun.err();
    EXPECT_EQ(bprun.err(), "");
  }
}

// docs/acceptance.md, Launcher: The folder, the umask, the limits and some variables reach other
// hosts.
TEST_F(JobOnHosts, FolderUmaskLimitsAndSomeVariablesAreSent) {
  const std::string show =
      "echo $(pwd) $(umask) $(ulimit -S -n) $(ulimit -S -c) $(ulimit -S -s) ${OMP_PLACES-unset} "
      "${HOMELY-unset} ${CHOSEN-unset} ${GIVEN-unset}";
  const std::string before =
      concat("cd ", hosts().folder(),
             "; umask 0027; ulimit -S -n 222; ulimit -S -c 0; ulimit -S -s 4096; ",
             "export OMP_PLACES=cores HOMELY=1 CHOSEN=2");
  BprunProcess bprun =
      run({"-H", "a:1,b:1", "--env", "CHOSEN", "--env", "GIVEN=x y", "sh", "-c", show}, before);
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  const std::string line = concat(hosts().folder(), " 0027 222 0 4096 cores unset 2 x y");
  EXPECT_THAT(lines_of(bprun.out()), UnorderedElementsAre("[0] " + line, "[1] " + line));

  BprunProcess all = run({"-H", "b:1", "--env-all", "sh", "-c", "echo $HOMELY"}, before);
  EXPECT_EQ(all.finish(), 0) << all.err();
  EXPECT_EQ(all.out(), "[0] 1\n");
}

// docs/acceptance.md, Launcher: Every byte but NUL arrives in arguments and variables, over ssh
// too.
TEST_F(JobOnHosts, EveryByteButNulArrives) {
  std::string every_byte;
  for (int byte = 1; byte < 256; ++byte) every_byte += static_cast<char>(byte);
  const std::string path = hosts().folder() + "/dump";
  BprunProcess bprun = run({"-H", "a:1,b:1", "--env", "ODD.name=" + every_byte, rank_program(),
                            "dump", path, every_byte, "", " $HOME"});
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  for (const char* rank : {".0", ".1"}) {
    const std::string came = read(path + rank);
    const std::string nul(1, '\0');
    EXPECT_THAT(came, HasSubstr(concat(path, nul, every_byte, nul, nul, " $HOME", nul)));
    EXPECT_THAT(came, HasSubstr(concat(nul, "ODD.name=", every_byte, nul)));
  }
}

TEST_F(JobOnHosts, EachHostMustHaveTheProgram) {
  const std::string only = hosts().folder() + "/only";
  std::filesystem::create_directory(only);
  write_program(only + "/program", "#!/bin/sh\ntouch $0.ran\n");
  hosts().at("b", "mount -t tmpfs none " + only);
  BprunProcess bprun = run({"-H", "a:2,b:1", only + "/program"});
  EXPECT_EQ(bprun.finish(), 127);
  EXPECT_EQ(bprun.first_error_line(),
            concat("bprun: FAILED  ", only, "/program was not found on b: ", "there is no ", only,
                   "/program"));
  EXPECT_FALSE(std::filesystem::exists(only + "/program.ran")) << "no rank may start";
}

// docs/features.md, Launching: A look whether GPUs are free and folders exist | `bprun doctor`
TEST_F(JobOnHosts, EachHostMustHaveTheWorkingDirectory) {
  const std::string only = hosts().folder() + "/only";
  std::filesystem::create_directories(only + "/within");
  hosts().at("b", "mount -t tmpfs none " + only);
  BprunProcess bprun = run({"-H", "a:2,b:1", "true"}, concat("cd ", only, "/within"));
  EXPECT_EQ(bprun.finish(), 66);
  EXPECT_THAT(bprun.first_error_line(), HasSubstr(concat(" on b: the working directory ", only,
                                                         "/within cannot be entered: ")));
}

// Replaces bprun on host b by a program with this content; the other hosts keep theirs.
void install_on_b(const Hosts& hosts, const std::string& content) {
  write_program(hosts.folder() + "/bprun", content);
  hosts.at("b", concat("mount --bind ", hosts.folder(), "/bprun ", kBinDir, "/bprun"));
}

TEST_F(JobOnHosts, AnotherVersionIsRefusedBeforeAnyRankStarts) {
  launcher::Hello hello;
  hello.version = "9.9.9";
  hello.build = "0123456789abcdef";
  std::ofstream(hosts().folder() + "/hello", std::ios::binary)
      << launcher::kAgentMagic << launcher::encode(launcher::ToLauncher(hello));
  install_on_b(hosts(), concat("#!/bin/sh\ncat ", hosts().folder(), "/hello -\n"));
  const std::string ran = hosts().folder() + "/ran";
  BprunProcess bprun = run({"-H", "a:1,b:1", "touch", ran});
  EXPECT_EQ(bprun.finish(), 70);
  EXPECT_THAT(
      bprun.first_error_line(),
      ContainsRegex("^bprun: FAILED  host b has bprun 9\\.9\\.9 \\(build 0123456789ab\\), but "
                    "this machine has .*: install the same version on both$"));
  EXPECT_FALSE(std::filesystem::exists(ran));
}

TEST_F(JobOnHosts, WarnsOfAnotherBuild) {
  std::string program = read(kBinDir + "/bprun");
  const std::string note("\x03\0\0\0GNU\0", 8);  // before the build id
  const std::size_t at = program.find(note);
  ASSERT_NE(at, std::string::npos);
  program[at + note.size()] ^= 1;
  install_on_b(hosts(), program);
  BprunProcess bprun = run({"-H", "a:1,b:1", "true"});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_EQ(bprun.err(), "bprun: warning: host b has another build of bprun than this machine\n");
}

}  // namespace
}  // namespace bp::test
