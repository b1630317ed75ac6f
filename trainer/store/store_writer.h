// Writes a store that SampleStore reads. The file is not a valid store until finish() has returned.
//
// The writer commits block by block, so that a killed writer leaves a file that another can
// continue. The ends of blocks depend on the texts alone, so a store made with interruptions has
// the same bytes as one made at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "trainer/store/sample_store.h"
#include "trainer/store/store_block.h"
#include "trainer/store/store_tables.h"

namespace bp::trainer {

class StoreWriter {
 public:
  // Creates the file. Throws Error (io) naming the file and the reason, as does every function
  // here.
  StoreWriter(const std::string& path, const StoreSettings& settings);
  // Continues the file that a killed writer left at `path`, from its last commit. No other process
  // may write to it. Reads all of it; if it is not as it was written, removes it and throws
  // StoreError ("it is damaged: ...").
  explicit StoreWriter(const std::string& path);
  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;
  ~StoreWriter();  // removes the file unless finish() or leave() was called

  [[nodiscard]] const StoreSettings& settings() const;
  // Returns the number of texts in the file, each with its samples.
  [[nodiscard]] std::int64_t texts() const;
  // Returns the number of texts that would be left after a kill now.
  [[nodiscard]] std::int64_t committed_texts() const;

  // Adds and commits a full block, or the last one. Changes the numbers of its samples.
  void add(StoreBlock& block);
  // Adds a text, then its samples, to a block of the writer itself.
  void add_text(Split split, std::int64_t text_id, std::string_view text);
  void add_sample(Split split,
                  std::int64_t text_id,
                  std::span<const std::int32_t> token_ids,
                  std::span<const ArrayView> arrays);
  // Completes the file and syncs it to disk.
  void finish();
  // Stops at the last commit and leaves the file for another writer.
  void leave();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bp::trainer
