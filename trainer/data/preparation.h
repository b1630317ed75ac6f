// Makes a store in the process that holds its lease. See prepare.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/data/lease.h"
#include "trainer/data/plan.h"
#include "trainer/data/row_encoder.h"
#include "trainer/data/say.h"
#include "trainer/data/store_writer.h"
#include "trainer/data/survey.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {

class Preparation {
 public:
  Preparation(const Plan& plan, Lease& lease, const Say& progress);

  // Makes the store, or continues the leftover of a killed preparer. Throws InputError, or Error
  // (aborted) if the lease was lost; both leave no partial file. Throws Interrupted if this process
  // is asked to stop, and leaves the committed part to the next preparer.
  void run();

 private:
  using Clock = std::chrono::steady_clock;

  void say(const std::string& text);
  void make();
  [[nodiscard]] std::unique_ptr<StoreWriter> begin();
  [[nodiscard]] Survey survey_again() const;
  void say_remarks(Survey& found);
  void write_rows();
  [[nodiscard]] std::vector<RowEncoder> make_encoders(std::size_t count) const;
  void report();
  void check_lease() const;
  void check_sources() const;
  void publish();
  [[nodiscard]] std::uint64_t still_needed() const;

  const Plan& plan_;
  Lease& lease_;
  const Say& progress_;
  std::string part_;
  std::unique_ptr<StoreWriter> writer_;
  std::optional<ChosenRows> chosen_;
  std::int64_t all_rows_ = 0;
  Clock::time_point next_report_;
};

}  // namespace bp::trainer
