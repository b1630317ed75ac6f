#include "launcher/gpus/choice.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/hosts/host_entry.h"

namespace bp::launcher {
namespace {

constexpr const char* kOption = "--gpus";

const Gpu* find_gpu(const GpuList& list, int index) {
  const auto found = std::ranges::find(list.gpus, index, &Gpu::index);
  return found == list.gpus.end() ? nullptr : &*found;
}

std::vector<int> indices_of(const std::vector<Gpu>& gpus) {
  std::vector<int> indices;
  for (const Gpu& gpu : gpus) {
    indices.push_back(gpu.index);
  }
  return indices;
}

std::vector<int> least_busy(std::vector<Gpu> gpus) {
  std::ranges::stable_sort(gpus, {},
                           [](const Gpu& gpu) { return std::tuple(gpu.load, gpu.memory_used); });
  return indices_of(gpus);
}

void check_available(const GpuHost& host, const std::vector<int>& wanted) {
  for (const int index : wanted) {
    if (find_gpu(host.available, index) == nullptr) {
      throw Error(
          ErrorCode::unavailable,
          concat("host ", host.name, " has no GPU ", index, ": ",
                 host.available.gpus.empty() ? host.available.problem
                                             : concat("it has ", host.available.gpus.size()),
                 " (bprun gpus lists them)"));
    }
  }
}

// Returns the GPUs that the host may use, in order of preference.
std::vector<int> candidates(const GpuHost& host) {
  const GpuRequest& request = host.request;
  if (host.named || request.kind == GpuRequest::Kind::list) {
    const std::vector<int>& wanted = host.named ? *host.named : request.list;
    check_available(host, wanted);
    return wanted;
  }
  if (host.available.gpus.empty()) {
    throw Error(ErrorCode::unavailable,
                concat("host ", host.name, " has no GPU: ",
                       host.available.problem.empty() ? "its driver reports none"
                                                      : host.available.problem));
  }
  return request.kind == GpuRequest::Kind::least ? least_busy(host.available.gpus)
                                                 : indices_of(host.available.gpus);
}

std::size_t wanted_number(const GpuHost& host, std::size_t left) {
  if (host.request.kind == GpuRequest::Kind::least && !host.named) {
    return static_cast<std::size_t>(host.request.number);
  }
  return host.ranks ? std::min(static_cast<std::size_t>(*host.ranks), left) : left;
}

}  // namespace

GpuRequest parse_gpu_request(const std::string& text) {
  constexpr std::string_view kLeast = "least:";
  if (text == "all") {
    return {};
  }
  try {
    if (text.starts_with(kLeast)) {
      return {.kind = GpuRequest::Kind::least,
              .number = parse_number(text.substr(kLeast.size()), "least", 1, kMaxSlots, kOption)};
    }
    Host host;
    set_host_field(host, "gpus", text, kOption);
    return {.kind = GpuRequest::Kind::list, .list = *host.gpus};
  } catch (const Error&) {
    throw Error(ErrorCode::invalid_argument,
                concat(kOption,
                       " must be all, a list such as 0,2-3, or least:N for the N that are "
                       "least busy, not '",
                       text, "'"));
  }
}

std::vector<std::vector<int>> choose_gpus(const std::vector<GpuHost>& hosts, bool shared) {
  std::map<std::string, std::set<int>> given;  // by machine
  std::vector<std::vector<int>> chosen;
  for (const GpuHost& host : hosts) {
    std::set<int>& taken = given[host.machine];
    std::vector<int> gpus = candidates(host);
    if (!shared) {
      std::erase_if(gpus, [&taken](int gpu) { return taken.contains(gpu); });
    }
    const std::size_t number = wanted_number(host, gpus.size());
    if (gpus.empty() || number > gpus.size()) {
      throw Error(ErrorCode::unavailable,
                  concat("host ", host.name, " has ", gpus.size(), " of the ",
                         std::max<std::size_t>(number, 1), " GPUs requested",
                         taken.empty() ? "" : "; other hosts of that machine have the rest"));
    }
    gpus.resize(number);
    taken.insert(gpus.begin(), gpus.end());
    chosen.push_back(std::move(gpus));
  }
  return chosen;
}

std::vector<std::string> taken_gpus(const std::vector<GpuHost>& hosts,
                                    const std::vector<std::vector<int>>& chosen) {
  std::vector<std::string> lines;
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    for (const int index : chosen[host]) {
      const Gpu* gpu = find_gpu(hosts[host].available, index);
      if (gpu != nullptr && !gpu->processes.empty()) {
        lines.push_back(concat("warning: GPU ", index, " on ", hosts[host].name, " is in use by ",
                               owners_of(*gpu), "; load ", gpu->load, " %, ",
                               size_text(gpu->memory_used), " of ", size_text(gpu->memory),
                               " used"));
      }
    }
  }
  return lines;
}

}  // namespace bp::launcher
