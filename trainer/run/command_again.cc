#include "trainer/run/command_again.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string_view>

#include "base/shell_word.h"
#include "base/text.h"
#include "bp/environment.h"
#include "bp/error.h"
#include "bp/log.h"

namespace bp::trainer {
namespace {

constexpr std::string_view kResume = "--resume";

// Where the option stands: its place, and how many words it takes; 0 words: it is not typed.
struct TypedOption {
  std::size_t at = 0;
  std::size_t words = 0;
};

TypedOption find_resume(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == kResume) return {i, std::min<std::size_t>(2, arguments.size() - i)};
    if (arguments[i].starts_with(concat(kResume, "="))) return {i, 1};
  }
  return {};
}

// Training waits for at most this time if no store answers.
constexpr std::chrono::milliseconds kStoreTimeout{2'000};

void tell_alone(const std::string& words) {
  const Environment environment = Environment::current();
  if (!environment.store) return;
  StoreClientOptions observer;
  observer.address = *environment.store;
  observer.job = environment.job;
  observer.key = environment.key;
  observer.connect_timeout = kStoreTimeout;
  observer.answer_within = kStoreTimeout;
  connect_store(observer)->set(kResumeArguments, words);
}

}  // namespace

ResumeWords arguments_again(const ResumeQuestion& question) {
  ResumeWords words{question.saved, question.arguments, question.arguments};
  const bool keeps = !question.saved && question.resume != "never";
  if (question.resume == "auto" || keeps) return words;
  std::vector<std::string>& next = words.instead;
  std::size_t place = next.size();
  for (TypedOption typed; (typed = find_resume(next)).words > 0;) {
    const auto begin = next.begin() + static_cast<std::ptrdiff_t>(typed.at);
    next.erase(begin, begin + static_cast<std::ptrdiff_t>(typed.words));
    place = typed.at;
  }
  next.insert(next.begin() + static_cast<std::ptrdiff_t>(place), {std::string(kResume), "auto"});
  return words;
}

std::string command_again(const Launched& launched, const ResumeWords& words) {
  const auto quoted = [](const std::vector<std::string>& arguments) {
    return arguments.empty() ? std::string() : " " + quote_shell_words(arguments);
  };
  if (launched.command.empty()) {
    return quote_shell_word(launched.program) + quoted(words.instead);
  }
  const std::string given = quoted(words.given);
  if (!launched.command.ends_with(given)) return launched.command;  // a script gave them
  return launched.command.substr(0, launched.command.size() - given.size()) + quoted(words.instead);
}

void tell_bprun(Store* store, const ResumeWords& words) {
  try {
    if (store != nullptr) {
      store->set(kResumeArguments, told_words(words));
    } else {
      tell_alone(told_words(words));
    }
  } catch (const Error& error) {
    log(LogLevel::info, concat("cannot tell bprun how to resume: ", error.what()));
  }
}

}  // namespace bp::trainer
