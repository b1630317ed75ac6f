#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "bp/error.h"
#include "launcher/gpus/choice.h"

namespace bp::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

GpuHost host(const std::string& name, std::vector<Gpu> gpus, std::optional<int> ranks = {}) {
  GpuHost host{.name = name, .machine = name, .named = {}, .ranks = ranks, .available = {}};
  host.available.gpus = std::move(gpus);
  return host;
}

Gpu gpu(int index, int load = 0, std::uint64_t used = 0) {
  Gpu gpu;
  gpu.index = index;
  gpu.load = load;
  gpu.memory_used = used;
  return gpu;
}

std::vector<std::vector<int>> choose(std::vector<GpuHost> hosts,
                                     const std::string& request,
                                     bool shared = false) {
  for (GpuHost& host : hosts) host.request = parse_gpu_request(request);
  return choose_gpus(hosts, shared);
}

std::string refusal(const std::vector<GpuHost>& hosts, const std::string& request) {
  try {
    (void)choose(hosts, request);
    return "none";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    return error.what();
  }
}

TEST(GpuChoice, RequestsAreAllAListOrTheLeastBusy) {
  EXPECT_EQ(parse_gpu_request("all").kind, GpuRequest::Kind::all);
  EXPECT_THAT(parse_gpu_request("0,2-3").list, ElementsAre(0, 2, 3));
  EXPECT_EQ(parse_gpu_request("least:2").number, 2);
  for (const char* text : {"", "least", "least:", "least:0", "none", "-1", "0,0", "0,"}) {
    try {
      (void)parse_gpu_request(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("--gpus must be all, a list such as 0,2-3, or least:N"));
    }
  }
}

TEST(GpuChoice, AllOrOnePerRank) {
  const std::vector three{gpu(0), gpu(1), gpu(2)};
  EXPECT_THAT(choose({host("a", three), host("b", three, 2)}, "all"),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 1)));
  EXPECT_THAT(choose({host("a", three, 4)}, "all"), ElementsAre(ElementsAre(0, 1, 2)))
      << "the placement checks later whether ranks may share GPUs";
}

TEST(GpuChoice, AListKeepsItsOrderAndItsGpusMustExist) {
  EXPECT_THAT(choose({host("a", {gpu(0), gpu(1), gpu(2)})}, "2,0"), ElementsAre(ElementsAre(2, 0)));
  EXPECT_EQ(refusal({host("a", {gpu(0)})}, "0,2"),
            "host a has no GPU 2: it has 1 (bprun gpus lists them)");
}

TEST(GpuChoice, TheHostListTakesPrecedence) {
  GpuHost named = host("a", {gpu(0), gpu(1), gpu(2)});
  named.named = {2};
  EXPECT_THAT(choose({named}, "all"), ElementsAre(ElementsAre(2)));
  EXPECT_THAT(choose({named}, "least:2"), ElementsAre(ElementsAre(2)));
}

// docs/acceptance.md, Launcher: A job gets the least busy GPUs, one per rank unless `--share-gpus`
// is given.
// docs/features.md, Launching: The least busy GPUs | `--gpus least:N`
TEST(GpuChoice, TheLeastBusyByLoadThenMemory) {
  const auto busy = host("a", {gpu(0, 50, 1), gpu(1, 0, 9), gpu(2, 0, 3), gpu(3, 0, 9)});
  EXPECT_THAT(choose({busy}, "least:1"), ElementsAre(ElementsAre(2)));
  EXPECT_THAT(choose({busy}, "least:3"), ElementsAre(ElementsAre(2, 1, 3)));
  EXPECT_EQ(refusal({busy}, "least:5"), "host a has 4 of the 5 GPUs requested");
}

// docs/features.md, Launching: GPUs here and on other machines | `gpus=` of a host, `-n N --gpus
// all`
TEST(GpuChoice, EachHostMayHaveItsOwnRequest) {
  GpuHost a = host("h", {gpu(0), gpu(1), gpu(2)}, 1);
  GpuHost b = host("h#2", {gpu(0), gpu(1), gpu(2)}, 1);
  b.machine = a.machine;
  a.request = parse_gpu_request("1");
  EXPECT_THAT(choose_gpus({a, b}, false), ElementsAre(ElementsAre(1), ElementsAre(0)));
}

// docs/acceptance.md, Launcher: Several logical hosts of one machine divide its GPUs.
TEST(GpuChoice, HostsOfOneMachineDivideItsGpus) {
  GpuHost a = host("localhost", {gpu(0), gpu(1), gpu(2)}, 2);
  GpuHost b = host("127.0.0.1", {gpu(0), gpu(1), gpu(2)});
  b.machine = a.machine;
  EXPECT_THAT(choose({a, b}, "all"), ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  EXPECT_THAT(choose({a, b}, "all", true), ElementsAre(ElementsAre(0, 1), ElementsAre(0, 1, 2)));
  EXPECT_EQ(refusal({a, b}, "least:2"),
            "host 127.0.0.1 has 1 of the 2 GPUs requested; other hosts of that machine have the "
            "rest");
}

// docs/features.md, Launching: A machine without a GPU | It trains on its cores. `--gpus` and
// `--device cuda` refuse it.
TEST(GpuChoice, AHostWithoutGpusSaysWhy) {
  GpuHost none = host("b", {});
  none.available.problem = "no NVIDIA driver";
  EXPECT_EQ(refusal({none}, "all"), "host b has no GPU: no NVIDIA driver");
  EXPECT_EQ(refusal({none}, "0"), "host b has no GPU 0: no NVIDIA driver (bprun gpus lists them)");
}

TEST(GpuChoice, NamesTheProcessesThatUseTheChosenGpus) {
  Gpu used = gpu(1, 97, 3U << 20U);
  used.memory = 4U << 20U;
  used.processes = {{4711, "ada", "python3", 1U << 20U}};
  const std::vector hosts{host("a", {gpu(0), used})};
  EXPECT_THAT(taken_gpus(hosts, {{0}}), IsEmpty());
  EXPECT_THAT(taken_gpus(hosts, {{0, 1}}),
              ElementsAre("warning: GPU 1 on a is in use by pid 4711 (ada, python3, 1.0 MiB); load "
                          "97 %, 3.0 MiB of 4.0 MiB used"));
}

}  // namespace
}  // namespace bp::launcher
