#include "base/thread.h"

#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <utility>

#include "base/text.h"
#include "bp/error.h"

namespace bp {

std::thread start_thread(const std::string& name, std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // the new thread inherits the mask
  struct Restore {
    const sigset_t& mask;
    ~Restore() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } const restore{before};
  try {
    return std::thread([name = name.substr(0, 15), body = std::move(body)] {
      ::pthread_setname_np(::pthread_self(), name.c_str());
      body();
    });
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::io, concat("the thread ", name, " cannot be started: ",
                                      error.code().message(), " (ulimit -u is the limit)"));
  }
}

}  // namespace bp
