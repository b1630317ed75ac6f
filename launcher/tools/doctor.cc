#include "launcher/tools/doctor.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "launcher/plan/one_machine.h"
#include "launcher/protocol/hello.h"
#include "launcher/report/clock_text.h"
#include "launcher/tools/examine.h"

namespace bp::launcher {
namespace {

const char* name_of(Grade grade) {
  return grade == Grade::ok ? "ok" : grade == Grade::warn ? "warn" : "fail";
}

Check check_reach(const AgentStart& start, const HostAnswer& answer) {
  Check check{.topic = "reach"};
  if (!answer.hello) {
    check.grade = Grade::fail;
    check.text = answer.problem;
    check.fix = answer.hint;
    return check;
  }
  check.text = concat(start.local  ? "this machine"
                      : start.srun ? "by srun"
                                   : "by ssh",
                      ", ", elapsed_text(answer.took), ", as ", answer.hello->host_name);
  return check;
}

// Returns the facts of the first host that can read this path; null if that host is `own` or if
// there is none.
const PathFacts* first_reader(const std::vector<HostAnswer>& answers,
                              const HostAnswer& own,
                              std::size_t path) {
  for (const HostAnswer& answer : answers) {
    if (answer.facts && answer.facts->paths[path].problem.empty()) {
      return &answer == &own ? nullptr : &answer.facts->paths[path];
    }
  }
  return nullptr;
}

void check_facts(const HostAnswer& answer, const PlacedHost& placed, std::vector<Check>& checks) {
  const HostFacts& facts = *answer.facts;
  checks.insert(checks.end(),
                {check_clock(answer), check_cores(*answer.hello, facts, placed.ranks),
                 check_open_files(facts), check_locked_memory(facts), check_loopback(facts),
                 check_gpus(facts.gpus, placed.host.gpus.value_or(std::vector<int>{}))});
  if (!facts.libraries.empty()) {
    checks.push_back(check_libraries(facts.libraries));
  }
  for (const SpaceFacts& space : facts.spaces) {
    checks.push_back(check_space(space));
  }
  checks.push_back(check_directory(facts));
}

std::vector<Check> check_names(const JobPlan& plan, const std::vector<HostAnswer>& answers) {
  std::vector<GreetedHost> hosts;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].hello) continue;
    hosts.push_back({plan.placement[i].host.name, plan.hosts[i], *answers[i].hello});
  }
  std::vector<Check> checks;
  for (const std::string& names : names_of_one_machine(hosts)) {
    checks.push_back({.topic = "names",
                      .grade = Grade::warn,
                      .text = names,
                      .fix = "name it once, with all its ranks, unless you mean that"});
  }
  return checks;
}

}  // namespace

int Diagnosis::count(Grade grade) const {
  int number = 0;
  for (const HostDiagnosis& host : hosts) {
    number += static_cast<int>(std::ranges::count(host.checks, grade, &Check::grade));
  }
  return number;
}

Diagnosis diagnose(const JobPlan& plan, const HostAnswers& asked) {
  const Hello own = make_hello(0);
  const std::vector<HostAnswer>& answers = asked.hosts;
  Diagnosis diagnosis;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const HostAnswer& answer = answers[i];
    HostDiagnosis host{plan.placement[i].host.name, {check_reach(plan.hosts[i], answer)}};
    if (answer.hello) {
      host.checks.push_back(check_version(*answer.hello, own));
    }
    if (answer.facts) {
      check_facts(answer, plan.placement[i], host.checks);
      for (std::size_t path = 0; path < answer.facts->paths.size(); ++path) {
        host.checks.push_back(
            check_data(answer.facts->paths[path], first_reader(answers, answer, path)));
      }
    } else if (answer.hello && host.checks.back().grade != Grade::fail) {
      host.checks.push_back(
          {.topic = "answer", .grade = Grade::fail, .text = answer.problem, .fix = answer.hint});
    }
    diagnosis.hosts.push_back(std::move(host));
  }
  HostDiagnosis between{"between hosts", check_names(plan, answers)};
  if (asked.reach) between.checks.push_back(check_network(*asked.reach));
  if (!between.checks.empty()) diagnosis.hosts.push_back(std::move(between));
  return diagnosis;
}

std::string text_of(const Diagnosis& diagnosis) {
  std::string text;
  for (const HostDiagnosis& host : diagnosis.hosts) {
    text += concat(host.host, "\n");
    for (const Check& check : host.checks) {
      std::array<char, 32> head{};
      std::snprintf(head.data(), head.size(), "  %-4s  %-8s ", name_of(check.grade),
                    check.topic.c_str());
      text += concat(head.data(), check.text, "\n");
      text += check.fix.empty() ? "" : concat("                 fix: ", check.fix, "\n");
    }
  }
  return concat(text, diagnosis.count(Grade::ok), " ok, ", diagnosis.count(Grade::warn), " warn, ",
                diagnosis.count(Grade::fail), " fail\n");
}

std::string json_of(const Diagnosis& diagnosis) {
  nlohmann::ordered_json hosts = nlohmann::ordered_json::array();
  for (const HostDiagnosis& host : diagnosis.hosts) {
    nlohmann::ordered_json checks = nlohmann::ordered_json::array();
    for (const Check& check : host.checks) {
      checks.push_back({{"topic", check.topic},
                        {"grade", name_of(check.grade)},
                        {"text", check.text},
                        {"mend", check.fix}});
    }
    hosts.push_back({{"host", host.host}, {"checks", std::move(checks)}});
  }
  const nlohmann::ordered_json all = {{"ok", diagnosis.count(Grade::ok)},
                                      {"warn", diagnosis.count(Grade::warn)},
                                      {"fail", diagnosis.count(Grade::fail)},
                                      {"hosts", std::move(hosts)}};
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace bp::launcher
