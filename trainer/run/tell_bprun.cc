#include "trainer/run/tell_bprun.h"

#include <chrono>

#include "base/text.h"
#include "bp/environment.h"
#include "bp/error.h"
#include "bp/log.h"

namespace bp::trainer {
namespace {

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
