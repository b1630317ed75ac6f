// The facts that an agent reports about its host, for bprun doctor, gpus and --dry-run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/gpus/gpu.h"

namespace bp::launcher {

// A file or folder that the question names.
struct PathFacts {
  std::string path;          // as in the question
  std::string problem = {};  // why it cannot be read; empty if it can
  std::uint64_t size = 0;    // in bytes; 0 for a folder
  bool folder = false;
};

// The file system that holds `path`. Sizes are in bytes.
struct SpaceFacts {
  std::string path = {};
  std::string problem = {};
  std::uint64_t free = 0;
  std::uint64_t total = 0;
};

// A library for devices (bp/features.h).
struct LibraryFacts {
  std::string name;
  std::string found;    // its version; empty if it does not load
  std::string problem;  // why it cannot be used; empty if it can
};

struct HostFacts {
  double clock = 0;    // seconds since 1970 when the agent received the question
  double seconds = 0;  // the time that the answer took
  int cores = 0;       // hardware threads of the machine
  // The number of them that the agent may use (base/system/usable_cores.h). Hello::cores is the
  // number of threads for which that is enough.
  int usable_threads = 0;
  int usable_cores = 0;
  double cpu_quota = 0;          // 0: none
  std::uint64_t open_files = 0;  // the hard limit, the largest that a rank can get
  std::uint64_t locked_memory = 0;
  bool infiniband = false;
  std::string loopback_problem;   // why its processes cannot reach each other; empty if they can
  std::string directory_problem;  // why ranks cannot run in the job's directory; empty if they can
  std::vector<SpaceFacts> spaces;
  std::vector<PathFacts> paths;
  // The agent's environment; empty unless the question asks for it.
  std::vector<std::string> environment;
  GpuList gpus;
  std::vector<LibraryFacts> libraries;  // of a host with GPUs
};

inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

struct Question {
  std::string directory = {};           // the job's directory
  std::vector<std::string> paths = {};  // relative paths are relative to `directory`
  bool environment = false;
  bool gpus = true;
};

[[nodiscard]] HostFacts find_facts(const Question& question);

// The one JSON object in which facts are sent and which --json prints. facts_of() throws io if the
// text is not such an object.
[[nodiscard]] std::string json_text(const HostFacts& facts);
[[nodiscard]] HostFacts facts_of(const std::string& text);

}  // namespace bp::launcher
