#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/hosts/host_entry.h"
#include "launcher/hosts/host_map.h"
#include "launcher/hosts/hostfile.h"
#include "tests/support/refusal.h"

namespace bp::launcher {
namespace {

using test::refusal_of;
using testing::ElementsAre;
using testing::HasSubstr;

// "a:3" for a host with a number of slots, "a" for one without.
std::vector<std::string> summary(const Hosts& hosts) {
  std::vector<std::string> texts;
  for (const Host& host : hosts) {
    texts.push_back(host.name + (host.slots ? ":" + std::to_string(*host.slots) : ""));
  }
  return texts;
}

TEST(HostList, KeepsOrderAndSlots) {
  EXPECT_THAT(summary(parse_host_list("a:3,b:1")), ElementsAre("a:3", "b:1"));
  EXPECT_THAT(summary(parse_host_list("z, a:2")), ElementsAre("z", "a:2"));
  EXPECT_THAT(summary(parse_host_list("localhost:2,127.0.0.1:1")),
              ElementsAre("localhost:2", "127.0.0.1:1"));
}

TEST(HostList, TakesIpv6InBrackets) {
  EXPECT_THAT(summary(parse_host_list("[::1]:2,[fe80::1%eth0],n:1")),
              ElementsAre("::1:2", "fe80::1%eth0", "n:1"));
}

TEST(HostList, TakesRanges) {
  EXPECT_THAT(summary(parse_host_list("gpu[08-10]:4,login,n[1-2,7]-ib")),
              ElementsAre("gpu08:4", "gpu09:4", "gpu10:4", "login", "n1-ib", "n2-ib", "n7-ib"));
  EXPECT_THAT(summary(parse_host_list("r[1-2]n[1-2]:1")),
              ElementsAre("r1n1:1", "r1n2:1", "r2n1:1", "r2n2:1"));
}

TEST(HostList, TakesTheFieldsOfAHostfile) {
  const Hosts hosts = parse_host_list(
      "root@gpu[1-2]:3:port=2222:gpus=[0-1,5]:iface=eth1,u@[fe80::1]:2:max_slots=4,"
      "c:gpus=3:weight=2");
  EXPECT_THAT(summary(hosts), ElementsAre("gpu1:3", "gpu2:3", "fe80::1:2", "c"));
  EXPECT_EQ(hosts[1].user, "root");
  EXPECT_EQ(hosts[1].port, 2222);
  EXPECT_EQ(hosts[1].interface, "eth1");
  EXPECT_THAT(*hosts[1].gpus, ElementsAre(0, 1, 5));
  EXPECT_EQ(hosts[2].user, "u");
  EXPECT_EQ(hosts[2].max_slots, 4);
  EXPECT_THAT(*hosts[3].gpus, ElementsAre(3));
  EXPECT_EQ(hosts[3].weight, 2);
}

// docs/acceptance.md, Launcher: A mistake on the command line ends with one line, a hint and exit
// code 2.
TEST(HostList, RefusesMalformedLists) {
  const auto error = [](const char* text) {
    return refusal_of([=] { (void)parse_host_list(text); });
  };
  EXPECT_EQ(error("a:1,a:2"), "-H: host a is named twice; give all its slots at once");
  EXPECT_EQ(error("fe80::1"), "-H: write an IPv6 address in brackets, as [fe80::1]:1");
  EXPECT_EQ(error("a:2:20:30"), "-H: '20' is not key=value");
  EXPECT_EQ(error("[::1"), "-H: a bracket is not closed in '[::1'");
  EXPECT_EQ(error("[::1]2"), "-H: '[::1]2' is not an address in brackets");
  EXPECT_EQ(error("n[1-2]:1,n2:1"), "-H: host n2 is named twice; give all its slots at once");
  EXPECT_EQ(error("n[2-1]"), "-H: in '[2-1]' each must be a number from 2 to 999999999, not '1'");
  EXPECT_EQ(error("n[1-65536],m"), "-H: more than 65536 hosts");
  EXPECT_EQ(error("a:1:prot=22"), "-H: 'prot' is not known here; did you mean port?");
  EXPECT_EQ(error("a:gpus=[0-2,1]"), "-H: gpus names 1 twice");
  EXPECT_EQ(error("a:3:max_slots=2"), "-H: max_slots=2 is less than its slots, 3");
  EXPECT_EQ(error("a:port=22:3"), "-H: '3' is not key=value");
  EXPECT_EQ(error("a:x"), "-H: the slots of a must be a number from 1 to 4096, not 'x'");
  EXPECT_EQ(error("-oProxyCommand=x:1"), "-H: '-oProxyCommand=x' is not a host name or address");
  for (const char* text : {"", "a,,b", "a,", ",a"}) {
    EXPECT_EQ(error(text), "-H: an entry between the commas is empty") << text;
  }
  for (const char* text : {"a:", "a:0", "a:-1", "a:2x", "a: 2", "a:99999999999", "a:4097"}) {
    EXPECT_THAT(error(text), HasSubstr("must be a number from 1 to 4096")) << text;
  }
  for (const char* text : {"a b:1", "a;b", "a'b", "$(x)", "a/b", "-u@h", "@h", "u@", ":3"}) {
    EXPECT_THAT(error(text), HasSubstr("is not a host name or address")) << text;
  }
}

// docs/acceptance.md, Launcher: A hostfile has slots, users, ports, GPUs, ranges of names and IPv6
// addresses.
// docs/features.md, Launching: A file of hosts | `--hostfile` with lines such as `name slots=3
// gpus=0,1,2`
TEST(Hostfile, TakesEveryField) {
  const Hosts hosts = parse_hostfile(
      "# our hosts\n"
      "\n"
      "  a slots=2 max_slots=4 gpus=0,2 iface=eth1 port=2222 user=u-1  # note = x\n"
      "b\tslots=3 weight=0.25\r\n"
      "   \t \n"
      "[::1] gpus=5\n"
      "c#no blank",
      "hosts.txt");
  ASSERT_EQ(hosts.size(), 4U);
  EXPECT_THAT(summary(hosts), ElementsAre("a:2", "b:3", "::1", "c"));
  EXPECT_EQ(hosts[0].max_slots, 4);
  EXPECT_THAT(*hosts[0].gpus, ElementsAre(0, 2));
  EXPECT_EQ(hosts[0].interface, "eth1");
  EXPECT_EQ(hosts[0].port, 2222);
  EXPECT_EQ(hosts[0].user, "u-1");
  EXPECT_EQ(hosts[1].weight, 0.25);
  EXPECT_FALSE(hosts[0].weight);
  EXPECT_EQ(hosts[2].capacity(), 1);
  EXPECT_FALSE(hosts[1].gpus);
}

TEST(Hostfile, TakesTheFormsOfTheHostList) {
  const Hosts hosts = parse_hostfile(
      "u@gpu[01-02]:4 port=2222\n"
      "fe80::1%eth0 slots=2\n"
      "[fe80::2]:3\n",
      "h");
  EXPECT_THAT(summary(hosts), ElementsAre("gpu01:4", "gpu02:4", "fe80::1%eth0:2", "fe80::2:3"));
  EXPECT_EQ(hosts[1].user, "u");
  EXPECT_EQ(hosts[1].port, 2222);
}

// docs/acceptance.md, Launcher: A mistake in a hostfile is named with its line.
TEST(Hostfile, NamesFileAndLine) {
  const auto error = [](const char* text) {
    return refusal_of([=] { (void)parse_hostfile(text, "h"); });
  };
  EXPECT_EQ(error("a\n\na slots=2"), "h:3: host a is named twice; give all its slots at once");
  EXPECT_EQ(error("a slots=two"), "h:1: slots must be a number from 1 to 4096, not 'two'");
  EXPECT_EQ(error("a slots"), "h:1: 'slots' is not key=value");
  EXPECT_EQ(error("a slots="), "h:1: 'slots=' is not key=value");
  EXPECT_EQ(error("a slots = 2"), "h:1: 'slots' is not key=value");
  EXPECT_EQ(error("a max-slots=2"), "h:1: 'max-slots' is not known here; did you mean max_slots?");
  EXPECT_EQ(
      error("a colour=2"),
      "h:1: 'colour' is not known here; slots, max_slots, gpus, iface, port, user and weight are");
  EXPECT_EQ(error("a,b slots=2"), "h:1: 'a,b': one host a line");
  EXPECT_EQ(error("a:2,b:3"), "h:1: 'a:2,b:3': one host a line");
  EXPECT_EQ(error("127.0.0.1:0,1,2"),
            "h:1: '127.0.0.1:0,1,2': one host a line; for a rank on each of these GPUs: 127.0.0.1 "
            "slots=3 gpus=0,1,2");
  EXPECT_EQ(error("a slots=3 max_slots=2"), "h:1: max_slots=2 is less than its slots, 3");
  EXPECT_EQ(error("a gpus=1,"), "h:1: each of gpus must be a number from 0 to 1023, not ''");
  EXPECT_EQ(error("a gpus=1,x"), "h:1: each of gpus must be a number from 0 to 1023, not 'x'");
  EXPECT_EQ(error("a user=-oX"), "h:1: '-oX' is not a host name or address");
  EXPECT_EQ(error("a port=70000"), "h:1: port must be a number from 1 to 65535, not '70000'");
  for (const char* const weight : {"0", "-1", "x", "nan", "inf", "1001", "1,5"}) {
    EXPECT_EQ(error(concat("a weight=", weight).c_str()),
              concat("h:1: weight must be a number from 0.001 to 1000, not '", weight,
                     "'; 0.5 is for ranks that take half the work of others"));
  }
  EXPECT_EQ(error("# nothing\n"), "h: names no host");
}

// docs/acceptance.md, Launcher: A field that is given twice, or a NUL byte, is refused.
TEST(Hostfile, AFieldThatIsGivenTwiceIsRefused) {
  const auto error = [](const char* text) {
    return refusal_of([=] { (void)parse_hostfile(text, "h"); });
  };
  EXPECT_EQ(error("a slots=2 slots=3"), "h:1: slots is given twice for host a; leave one");
  EXPECT_EQ(error("a:2 slots=2"), "h:1: slots is given twice for host a; leave one");
  EXPECT_EQ(error("b\na port=1 user=u port=1"), "h:2: port is given twice for host a; leave one");
  EXPECT_EQ(error("u@a user=v"), "h:1: user is given twice for host a; leave one");
  for (const char* const key : {"max_slots=3", "gpus=1", "iface=eth0", "weight=2"}) {
    EXPECT_THAT(error(concat("a ", key, " ", key).c_str()),
                HasSubstr(" is given twice for host a; leave one"));
  }
  EXPECT_EQ(refusal_of([] { (void)parse_host_entry("a:2:slots=3", "-H"); }),
            "-H: slots is given twice for host a; leave one");
}

TEST(Hostfile, ANulByteIsShown) {
  const auto error = [](std::string_view text) {
    return refusal_of([=] { (void)parse_hostfile(text, "h"); });
  };
  using namespace std::string_view_literals;
  EXPECT_EQ(error("a\nb\0c slots=2\n"sv),
            R"(h:2: "b\x00c slots=2" has a NUL byte (\x00); is this a text file in UTF-8?)");
  EXPECT_EQ(error("\xff\xfe"
                  "a\0\n\0"sv),
            R"(h:1: "\xff\xfea\x00" has a NUL byte (\x00); is this a text file in UTF-8?)");
}

// docs/features.md, Launching: A map of hosts and GPUs as JSON | `--hosts MAP.json`
TEST(HostMap, KeepsItsOrder) {
  const Hosts hosts = parse_host_map(
      R"({"zeta": 3, "alpha": {"slots": 2, "gpus": [0, 2]}, "m": null, "n": {"gpus": [1, 3, 4]},
          "o": {"gpus": null}})",
      "m.json");
  EXPECT_THAT(summary(hosts), ElementsAre("zeta:3", "alpha:2", "m", "n", "o"));
  EXPECT_THAT(*hosts[1].gpus, ElementsAre(0, 2));
  EXPECT_EQ(hosts[3].capacity(), 3);
  EXPECT_FALSE(hosts[4].gpus);
}

TEST(HostMap, TakesRangesAndTheFieldsOfAHostfile) {
  const Hosts hosts = parse_host_map(
      R"({"u@gpu[1-2]": {"slots": 2, "max_slots": 3, "port": 2222, "iface": "eth1",
                         "gpus": "0-1", "weight": 1.5}, "fe80::1": {"user": "v"}, "[::1]": 1})",
      "m.json");
  EXPECT_THAT(summary(hosts), ElementsAre("gpu1:2", "gpu2:2", "fe80::1", "::1:1"));
  EXPECT_EQ(hosts[1].user, "u");
  EXPECT_EQ(hosts[1].port, 2222);
  EXPECT_EQ(hosts[1].max_slots, 3);
  EXPECT_EQ(hosts[1].interface, "eth1");
  EXPECT_THAT(*hosts[1].gpus, ElementsAre(0, 1));
  EXPECT_EQ(hosts[1].weight, 1.5);
  EXPECT_EQ(hosts[2].user, "v");
}

TEST(HostMap, RefusesMalformedMaps) {
  const auto error = [](const char* text) {
    return refusal_of([=] { (void)parse_host_map(text, "m"); });
  };
  EXPECT_EQ(error(R"({"a": 1, "b": 2, "a": 3})"), "m: 'a' is given twice");
  EXPECT_EQ(error(R"({"a": {"slots": 1, "slots": 2}})"), "m: 'slots' is given twice");
  EXPECT_EQ(error("{\n\"a\": 1,\n}"), "m:3: this is not JSON");
  EXPECT_EQ(error(""), "m:1: this is not JSON");
  EXPECT_EQ(error(R"({"a": 0})"), "m: a: slots must be a number from 1 to 4096, not '0'");
  EXPECT_EQ(error(R"({"a": 1.5})"), "m: a: slots must be a number from 1 to 4096, not '1.5'");
  EXPECT_EQ(error(R"({"a": 99999999999999999999})"),
            "m: a: slots must be a number from 1 to 4096, not '1e+20'");
  EXPECT_EQ(error(R"({"a": 1e400})"), "m: it has a number that is out of range");
  EXPECT_EQ(error(R"({"a": {"slot": 1}})"), "m: a: 'slot' is not known here; did you mean slots?");
  EXPECT_EQ(error(R"({"a": {"slots": "3"}})"),
            R"(m: a: slots must be a number from 1 to 4096, not '"3"')");
  EXPECT_EQ(error(R"({"a:3": {}})"), "m: 'a:3' is not a host name or address");
  EXPECT_EQ(error(R"({"n[1": 2})"), "m: a bracket is not closed in 'n[1'");
  EXPECT_EQ(error(R"({"a": {"gpus": 1}})"), "m: a: gpus must be a list, as [0, 2]");
  EXPECT_EQ(error(R"({"a": "3"})"),
            R"(m: a: must be a number of slots, null, or {"slots": 3, "gpus": [0, 2, 3]})");
  EXPECT_EQ(error(R"({"a b": 3})"), "m: 'a b' is not a host name or address");
  for (const char* text : {"[]", "{}", "3", "null"}) {
    EXPECT_THAT(error(text), HasSubstr("must be an object that names a host or more")) << text;
  }
}

}  // namespace
}  // namespace bp::launcher
