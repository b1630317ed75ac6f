# Gives every reader of untrusted bytes inputs that libFuzzer makes. Sourced by scripts/acceptance.

# docs/acceptance.md, Strangers: No bytes make a reader crash, hang or take much memory. `scripts/fuzz` lists all
# readers of what strangers, other programs and files may hold, and `scripts/test --all` reads the corpora under ASan.
fuzzing() {
  local status=0 count
  count=$(scripts/fuzz | wc -l)
  command -v clang++-14 >/dev/null || { verdict fuzzing 77 "clang-14 is not installed"; return; }
  scripts/fuzz all $((30 * count)) >"$work/fuzzing.log" 2>&1 || status=$?
  cat "$work/fuzzing.log"
  verdict fuzzing "$status" "$(grep -c '^PASS' "$work/fuzzing.log") of $count readers without a finding in 30 s each"
}
