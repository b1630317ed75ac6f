// What an agent finds out about its host when asked: for bprun doctor, gpus and --dry-run.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "launcher/gpus/gpu.h"

namespace bp::launcher {

// A file or folder, looked at.
struct PathFacts {
  std::string path;          // as asked for
  std::string problem = {};  // why it cannot be read; empty where it can
  std::uint64_t size = 0;    // of a file
  bool folder = false;
};

// The file system that a path lies on.
struct SpaceFacts {
  std::string path = {};
  std::string problem = {};
  std::uint64_t free = 0;
  std::uint64_t total = 0;
};

struct HostFacts {
  double clock = 0;              // seconds since 1970 when the question came
  double seconds = 0;            // that it took to answer
  int cores = 0;                 // of the machine; Hello has those that may be used
  std::uint64_t open_files = 0;  // the most that a rank could be given
  std::uint64_t locked_memory = 0;
  bool infiniband = false;
  std::string directory_problem;  // why the ranks could not work in the job's directory
  std::vector<SpaceFacts> spaces;
  std::vector<PathFacts> paths;
  std::vector<std::string> environment;  // the agent's own; only where it was asked for
  GpuList gpus;
};

inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

struct Question {
  std::string directory = {};           // of the job
  std::vector<std::string> paths = {};  // relative ones are meant in that directory
  bool environment = false;
  bool gpus = true;
};

[[nodiscard]] HostFacts find_facts(const Question& question);

// Facts travel, and are shown with --json, as one JSON object. facts_of throws io where the text is
// none.
[[nodiscard]] std::string json_text(const HostFacts& facts);
[[nodiscard]] HostFacts facts_of(const std::string& text);

}  // namespace bp::launcher
