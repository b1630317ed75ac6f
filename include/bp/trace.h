// A timeline of this rank for https://ui.perfetto.dev or chrome://tracing: a file a rank, in
// Chrome's trace event format, valid JSON at any time. The communicator draws its collectives, its
// waits for other ranks, and what was started asynchronously ("buckets"); a program may add rows of
// its own:
//
//   {
//     const bp::TraceScope scope(world.trace(), "compute", "forward");
//     loss = model.forward(batch);
//   }
//
// Files of several ranks have one clock, rank 0's, and so can be shown together:
// jq -s add rank-*.json > all.json
//
// Threads: any.
#pragma once

#include <chrono>
#include <exception>
#include <string_view>

#include "bp/export.h"

namespace BP_API bp {

class Trace {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Span {
    std::string_view row;
    std::string_view name;
    Time begin;
    Time end;
    std::string_view arguments = {};  // members of a JSON object: R"("bytes":4,"step":7)"
  };

  Trace() = default;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  virtual ~Trace() = default;

  // The spans of one row lie apart or one within the other.
  virtual void add(const Span& span) = 0;
  // Those of such a row may overlap.
  virtual void add_overlapping(const Span& span) = 0;
};

// Draws a span from its construction to its end; nothing where `trace` is null, as it is for who
// asked for none. What the texts are of must live as long.
class TraceScope {
 public:
  TraceScope(Trace* trace, std::string_view row, std::string_view name) : trace_(trace) {
    if (trace_ != nullptr) span_ = {.row = row, .name = name, .begin = now(), .end = {}};
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;
  ~TraceScope() {
    if (trace_ == nullptr) return;
    span_.end = now();
    try {
      trace_->add(span_);
    } catch (const std::exception&) {
      // Without memory for it there is a span less.
    }
  }

 private:
  static Trace::Time now() { return std::chrono::steady_clock::now(); }

  Trace* trace_;
  Trace::Span span_ = {};
};

}  // namespace bp
