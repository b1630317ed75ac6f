// sessions.jsonl: who trained a run, where and when. A session is one job that works on the run; a
// run that is stopped and resumed has several. Each session writes a line when training starts, and
// one when it ends:
//
//   {"event":"start","step":0,"time":"2026-11-24T03:02:00Z","version":"0.1.0",
//    "machine":"2 cores, AMD EPYC 7B13, Linux 6.1","main_score":"accuracy","higher_is_better":true,
//    "hosts":[{"name":"a","ranks":2}]}
//   {"event":"end","step":1580,"time":"2026-11-24T03:12:00Z","outcome":"finished","why":""}
//
// A session that was killed has no second line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/report/evaluation_summary.h"

namespace bp::trainer {

struct RunHost {
  std::string name = {};
  int ranks = 1;
};

struct Session {
  std::int64_t from_step = 0;  // steps that were done when it started
  std::string begun = {};      // in UTC: "2026-11-24T03:02:00Z"
  std::string version = {};    // of bert_train
  std::string machine = {};    // rank 0's: "2 cores, AMD EPYC 7B13, Linux 6.1"
  MainScore main_score = {};
  std::vector<RunHost> hosts = {};

  std::string ended = {};    // empty: not yet, or it was killed
  std::string outcome = {};  // "finished", "stopped" or "failed"
  std::string why = {};      // of a failure
  std::int64_t end_step = 0;
};

// Returns the time now, in UTC.
[[nodiscard]] std::string utc_now();
// Describes this machine, with the GPU that computes unless `gpu` is empty.
[[nodiscard]] std::string machine_text(const std::string& gpu = {});

// Appends the lines of one session. Throws io from the constructor.
class SessionWriter {
 public:
  // `resumed`: keeps the sessions before this one. Otherwise the run starts again at step 0, and
  // the file has only this session.
  SessionWriter(std::string path, const Session& session, bool resumed);
  // Writes how the session ended, once; later calls do nothing. The run is more important than this
  // line, so nothing is thrown.
  void end(std::int64_t step, const std::string& outcome, const std::string& why = "") noexcept;

 private:
  std::string path_;
  bool ended_ = false;
};

// Returns the sessions of a file, the first one first; none if there is no file. Ignores an
// unfinished line at the end. Throws invalid_argument with the file and the line for any other line
// that is none of these.
[[nodiscard]] std::vector<Session> read_sessions(const std::string& path);

}  // namespace bp::trainer
