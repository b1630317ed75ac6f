// Writes a store, from which SampleStore reads. The file is no store until finish() has returned.
//
// Every thousand texts or so what was added is committed, so that a writer that is killed leaves a
// file that another can go on with. Where the commits lie depends on the texts alone: a store that
// was made in several goes has the same bytes as one made at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "trainer/data/sample_store.h"
#include "trainer/data/store_format.h"

namespace bp::trainer {

class StoreWriter {
 public:
  // Creates the file. Throws Error (io), as every function here does, naming it and why.
  StoreWriter(const std::string& path, const StoreSettings& settings);
  // Goes on with what a killed writer left in `path`, from its last commit on; nobody else may be
  // writing there. Reads all of it; unless it is as it was written, removes it and throws
  // StoreError
  // ("it is damaged: ...").
  explicit StoreWriter(const std::string& path);
  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;
  ~StoreWriter();  // removes the file unless finish() or leave() was called

  [[nodiscard]] const StoreSettings& settings() const;
  // How many texts, each with its samples, are in the file.
  [[nodiscard]] std::int64_t texts() const;
  // How many of them a kill now would leave.
  [[nodiscard]] std::int64_t committed_texts() const;

  // The words of a text, and then its samples: one, or several where it was folded.
  void add_text(Split split, std::int64_t text_id, std::string_view text);
  void add_sample(Split split,
                  std::int64_t text_id,
                  int label,
                  std::span<const std::int32_t> token_ids);
  // The file is complete and on disk.
  void finish();
  // Ends the writing at the last commit and leaves the file for another writer.
  void leave();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bp::trainer
