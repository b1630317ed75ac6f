# What users of the library build: without CUDA, with another LibTorch, and from plain programs. Sourced by
# scripts/acceptance.

# docs/acceptance.md, Optimizer: bp builds on a machine that has no CUDA, from a LibTorch that has it.
without_cuda() {
  local status=0
  tests/package/without_cuda "$work/build" >"$work/cuda.log" 2>&1 || status=$?
  verdict without_cuda "$status" "$(tail -1 "$work/cuda.log")"
}

# Runs under ASan and UBSan what scripts/test runs under no sanitizer, because it needs LibTorch: hooks, buckets,
# windows, snapshots, and runs that save and resume. A report of any of their processes is a failure.
# docs/acceptance.md, Code: Code that needs LibTorch is clean under ASan and UBSan.
sanitizers_torch() {
  local build=build-asan-torch status=0 tests reports
  local programs=(unit_torch ranks_torch e2e_bert_train)
  local areas=(unit_torch unit_model unit_train ranks_torch ranks_torch_options ranks_torch_processes e2e_resume)
  {
    cmake --preset asan-torch --log-level=WARNING &&
      cmake --build "$build" --parallel "$(nproc)" --target bp_gloo bprun bert_train "${programs[@]}"
  } >"$work/sanitizers.log" 2>&1 || status=1
  rm -f "$build"/sanitizer-reports/*
  ((status)) ||
    ctest --test-dir "$build" --no-tests=error --verbose \
    -R "^($(IFS='|' && printf '%s' "${areas[*]}"))\\." >"$work/sanitizers.log" 2>&1 || status=1
  reports=$(find "$build/sanitizer-reports" -type f | wc -l)
  ((reports == 0)) || { cat "$build"/sanitizer-reports/*; status=1; }
  ((status)) && tail -n 20 "$work/sanitizers.log"
  tests=$(grep -c '\[       OK' "$work/sanitizers.log")
  verdict sanitizers_torch "$status" "$tests tests of ${#areas[@]} areas under ASan and UBSan: $reports reports"
}

# Builds bp from source with an older LibTorch, the first whose wheel has the same ABI of std::string as bp. Deletes
# the 1.7 GB that this takes afterwards.
# docs/acceptance.md, Optimizer: bp builds and works with an older LibTorch.
older_libtorch() {
  local site=$work/older build=$work/older-build status=0 program tests
  local wheels=(torch==2.7.1 nvidia-cuda-runtime-cu12==12.6.77 nvidia-cuda-cupti-cu12==12.6.80)
  if ! .deps/pip/bin/pip install --quiet --disable-pip-version-check --no-deps --target "$site" "${wheels[@]}" \
    >"$work/older.log" 2>&1; then
    verdict older_libtorch 77 "pip does not install ${wheels[*]}: $(tail -n 1 "$work/older.log")"
    return
  fi
  {
    cmake --preset release -B "$build" -DLIBTORCH_ROOT="$site/torch" -DBP_BENCH=OFF --log-level=WARNING &&
      cmake --build "$build" --parallel "$(nproc)" --target bprun bp_gloo bert_train own_model \
        unit_torch ranks_torch
  } >>"$work/older.log" 2>&1 || status=1
  for program in unit_torch ranks_torch; do
    ((status)) || OMP_NUM_THREADS=1 "$build/tests/$program" >>"$work/older.log" 2>&1 || status=1
  done
  ((status)) || "$build/bin/bprun" -H localhost:3,127.0.0.1:1 own_model >>"$work/older.log" 2>&1 || status=1
  ((status)) || grep -q "libtorch_cpu.so => $site" <<<"$(ldd "$build/bin/own_model")" || status=1
  ((status)) && tail -n 20 "$work/older.log"
  tests=$(grep -c '^\[       OK' "$work/older.log")
  rm -rf "$site" "$build"
  verdict older_libtorch "$status" "built with LibTorch 2.7.1 instead of 2.11.0: $tests tests and own_model on 3+1 ranks"
}

# Compares plain programs with their distributed versions: the lines to change, and the results.
# docs/acceptance.md, Optimizer: Plain LibTorch programs become distributed by at most ten lines each.
ported() {
  local status=0
  { tests/package/installed build tree && tests/package/installed build ported; } >"$work/ported.log" 2>&1 || status=$?
  cat "$work/ported.log"
  verdict ported "$status" "three programs on 1, 2 and 3+1 ranks print what the plain ones print, to 1 in 1,000"
}
