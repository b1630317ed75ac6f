#include "trainer/prepare/leftover.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/look_up.h"
#include "trainer/common/numbers.h"
#include "trainer/prepare/fingerprint.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPart = ".part-";
constexpr const char* kJournal = "-journal";

std::uintmax_t size_of(const std::string& file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  return error ? 0 : size;
}

// Returns the leftovers without journals and empty files, the longest first.
std::vector<std::string> leftovers(const std::string& store) {
  std::vector<std::string> files = files_that_begin(store + kPart);
  std::erase_if(files, [](const std::string& file) {
    return file.ends_with(kJournal) || size_of(file) == 0;
  });
  std::ranges::sort(files, [](const std::string& a, const std::string& b) {
    return size_of(a) != size_of(b) ? size_of(a) > size_of(b) : a < b;
  });
  return files;
}

// Copies the leftover to `part` and opens it. Returns "" and sets `writer`, or returns why it
// cannot be used.
std::string try_copy(const Plan& plan,
                     const std::string& leftover,
                     const std::string& part,
                     std::unique_ptr<StoreWriter>& writer) {
  try {
    fs::copy_file(leftover, part);
    if (fs::exists(leftover + kJournal)) fs::copy_file(leftover + kJournal, part + kJournal);
    writer = std::make_unique<StoreWriter>(part);
    std::string reason = difference(writer->settings().fingerprint, plan.fingerprint);
    if (reason.empty() && writer->settings().source_rows.size() != plan.sources.size()) {
      reason = "it has another number of sources";
    }
    if (!reason.empty()) {
      writer.reset();
    }
    return reason;
  } catch (const fs::filesystem_error& error) {
    std::error_code ignored;
    fs::remove(part, ignored);
    fs::remove(part + kJournal, ignored);
    return error.code().message();
  } catch (const StoreError& error) {
    return error.what();
  }
}

}  // namespace

std::string part_path(const std::string& store, const std::string& token) {
  return store + kPart + token;
}

std::unique_ptr<StoreWriter> continue_leftover(const Plan& plan,
                                               const std::string& part,
                                               const Say& say) {
  std::unique_ptr<StoreWriter> writer;
  for (const std::string& leftover : leftovers(plan.store)) {
    const std::string reason = try_copy(plan, leftover, part, writer);
    if (writer) {
      const auto& rows = writer->settings().source_rows;
      say(concat("continuing where an earlier preparer stopped, after ",
                 with_commas(writer->texts()), " of ",
                 with_commas(std::accumulate(rows.begin(), rows.end(), std::int64_t{0})), " rows"));
      return writer;
    }
    say(concat("starting over, because the leftovers of an earlier preparer cannot be used: ",
               reason));
  }
  return nullptr;
}

void remove_leftovers(const std::string& store, const std::string& part) {
  std::error_code ignored;
  const std::string mine = fs::path(part).filename().string();
  for (const std::string& file : files_that_begin(store + kPart)) {
    const std::string name = fs::path(file).filename().string();
    if (name != mine && name != mine + kJournal) fs::remove(file, ignored);
  }
}

}  // namespace bp::trainer
