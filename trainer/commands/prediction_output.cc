#include "trainer/commands/prediction_output.h"

#include <stdio_ext.h>

#include <cerrno>
#include <cstdio>

#include "base/text.h"
#include "bp/error.h"

namespace bp::trainer {
namespace {

void check(bool written) {
  if (written) return;
  const int error = errno;
  ::__fpurge(stdout);  // this error tells of it, so end_output() must not
  std::clearerr(stdout);
  throw Error(ErrorCode::io,
              concat("cannot write the predictions to standard output: ", error_text(error)));
}

}  // namespace

PredictionOutput::PredictionOutput(const std::string& file) {
  if (!file.empty()) file_.emplace(file);
}

void PredictionOutput::put(const std::string& text) {
  if (file_) {
    file_->write(text);
  } else {
    check(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
  }
}

void PredictionOutput::flush() {
  if (!file_) check(std::fflush(stdout) == 0);
}

void PredictionOutput::finish() {
  flush();
  if (file_) file_->keep();
}

}  // namespace bp::trainer
