// A library with the functions of NCCL that bp calls, for devices of the fake CUDA runtime. Its
// ranks may be threads and processes. It does its work on the stream that it is given, and ends the
// process with the reason where a program breaks a rule of NCCL: ranks that call different
// operations, two threads in one communicator, a communicator after its end, two ranks on one
// device, a call before the one before it has begun, a reduction after its end or before its use,
// memory that is freed or forgotten while it is registered.
//
// It takes its settings from variables, at each start of a communicator:
// FAKE_NCCL_IN_PROGRESS=K: the start, and each operation, is in progress for K looks;
// FAKE_NCCL_REMOTE_ERROR=RANK:N: the N-th operation of this rank fails with ncclRemoteError;
// FAKE_NCCL_ENDLESS=RANK:N: the N-th operation of this rank does not end before an abort.
#pragma once

extern "C" {
// Returns how often this process has called a function, such as "ncclCommAbort", or "ncclAllReduce
// in place": on registered memory. Find it by
// dlsym().
using FakeNcclCalls = int(const char* function);
}
inline constexpr const char* kFakeNcclCalls = "fake_nccl_calls";
