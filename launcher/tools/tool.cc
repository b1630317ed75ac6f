#include "launcher/tools/tool.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <variant>

#include "base/quoted.h"
#include "base/report/report_table.h"
#include "base/text.h"
#include "launcher/cli/option_rows.h"
#include "launcher/cli/usage_error.h"
#include "launcher/plan/ask_hosts.h"
#include "launcher/plan/job_plan.h"
#include "launcher/process/process_tree.h"
#include "launcher/process/signals.h"
#include "launcher/protocol/facts_json.h"
#include "launcher/report/exit_code.h"
#include "launcher/tools/doctor.h"

namespace bp::launcher {
namespace {

struct ToolOptions {
  Options hosts;  // only the options about hosts and how to reach them
  bool json = false;
  std::vector<std::string> paths;
};

struct Tool {
  const char* name;
  const char* about;
  const char* paths;  // the help for the arguments after the options; null if none are allowed
  int (*run)(const ToolOptions& options, const JobPlan& plan);
};

HostAnswers ask_all(const ToolOptions& options, const JobPlan& plan, bool network) {
  return ask_hosts(plan, {.question = {.directory = std::filesystem::current_path().string(),
                                       .paths = options.paths},
                          .limit = options.hosts.start_timeout,
                          .network = network,
                          .interface = options.hosts.interface});
}

void print(const std::string& text) { std::fputs(printable(text).c_str(), stdout); }

int run_doctor(const ToolOptions& options, const JobPlan& plan) {
  const Diagnosis diagnosis = diagnose(plan, ask_all(options, plan, true));
  print(options.json ? json_of(diagnosis) : text_of(diagnosis));
  return diagnosis.count(Grade::fail) > 0 ? 1 : 0;
}

void add_gpu(Table& table, const Gpu& gpu) {
  table.add({concat(gpu.index), gpu.name,
             concat("load ", gpu.load < 100 ? " " : "", gpu.load < 10 ? " " : "", gpu.load, " %"),
             concat(size_text(gpu.memory_used), " of ", size_text(gpu.memory), " used"),
             gpu.processes.empty() ? "free" : owners_of(gpu)});
}

std::string head_of(const HostAnswer& answer) {
  if (!answer.facts) {
    return concat("no answer: ", answer.problem);
  }
  const GpuList& list = answer.facts->gpus;
  if (list.gpus.empty()) {
    return concat("none: ", list.problem.empty() ? "the driver reports none" : list.problem);
  }
  return concat(list.gpus.size(), list.gpus.size() == 1 ? " GPU" : " GPUs", ", driver ",
                list.driver);
}

std::string gpu_table(const JobPlan& plan, const std::vector<HostAnswer>& answers) {
  Table table{
      .columns = {{.width = 4}, {.left = true, .width = 28}, {}, {.width = 27}, {.left = true}}};
  for (std::size_t host = 0; host < answers.size(); ++host) {
    table.add({concat(plan.placement[host].host.name, ": ", head_of(answers[host]))},
              Table::Row::Kind::heading);
    if (!answers[host].facts) continue;
    for (const Gpu& gpu : answers[host].facts->gpus.gpus) add_gpu(table, gpu);
  }
  return terminal_text(table, {.right = true});
}

std::string gpu_json(const JobPlan& plan, const std::vector<HostAnswer>& answers) {
  nlohmann::json hosts = nlohmann::json::array();
  for (std::size_t host = 0; host < answers.size(); ++host) {
    nlohmann::json entry = answers[host].facts
                               ? nlohmann::json(answers[host].facts->gpus)
                               : nlohmann::json(GpuList{.problem = answers[host].problem});
    entry["host"] = plan.placement[host].host.name;
    hosts.push_back(std::move(entry));
  }
  return nlohmann::json{{"hosts", std::move(hosts)}}.dump(
             2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

int run_gpus(const ToolOptions& options, const JobPlan& plan) {
  const auto answers = ask_all(options, plan, false).hosts;
  print(options.json ? gpu_json(plan, answers) : gpu_table(plan, answers));
  const auto silent = [](const HostAnswer& answer) { return !answer.facts; };
  return std::ranges::any_of(answers, silent) ? kExitTemporary : 0;
}

constexpr Tool kTools[] = {
    {"doctor",
     "Checks hosts before a job: each line is ok, warn or fail, with what to do about it.\n"
     "Exit code 1 if any line is fail.",
     "data that every host must be able to read", &run_doctor},
    {"gpus",
     "Lists the GPUs of hosts, how busy they are, and the processes that use them.\n"
     "Exit code 75 if a host does not answer.",
     nullptr, &run_gpus},
};

// Parses the options. Returns an exit code if bprun must exit, because an option is wrong or for
// --help; it has then printed everything.
std::optional<int> parse(const Tool& tool,
                         const std::vector<std::string>& arguments,
                         ToolOptions& options) {
  OptionSet set(concat("bprun ", tool.name), tool.about);
  add_host_options(set, options.hosts);
  set.flag({"json", "the same as one JSON object"}, options.json);
  if (tool.paths != nullptr) set.texts({.name = "PATH", .help = tool.paths}, options.paths);
  const std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  try {
    const std::string text = set.parse(words);
    check_host_options(options.hosts);
    if (text.empty()) return std::nullopt;
    print(text);
    return 0;
  } catch (const InputError& error) {
    return usage_error(set, words, error).print();
  }
}

}  // namespace

std::optional<int> run_tool(const std::vector<std::string>& arguments) {
  for (const Tool& tool : kTools) {
    if (arguments.empty() || arguments.front() != tool.name) {
      continue;
    }
    ToolOptions options;
    if (const auto exit = parse(tool, arguments, options)) {
      return exit;
    }
    const auto plan = make_plan(options.hosts);
    if (const auto* exit = std::get_if<EarlyExit>(&plan)) {
      return exit->print();
    }
    adopt_orphans();
    ignore_broken_pipes();
    return tool.run(options, std::get<JobPlan>(plan));
  }
  return std::nullopt;
}

}  // namespace bp::launcher
