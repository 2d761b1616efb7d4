#pragma once

// Interposes calls of this program to the C library: counts calls on files of one folder, and makes
// chosen ones fail, do half of their work, or end the process.

#include <array>
#include <string>
#include <string_view>

namespace weft::faults {

enum class Call {
  open,
  pread,
  pwrite,
  fsync,
  ftruncate,
  rename,
  unlink,
  close,
  fstat,
  stat,
  lstat,
  readlink,
  flock,
  getentropy,
};
inline constexpr int call_count = 14;
std::string_view to_string(Call call);

enum class Action {
  /// Does nothing and reports an error.
  fail,
  /// Does its work but reports an error, as a network file system does if the reply is lost.
  fail_after,
  /// Half of the bytes.
  cut_short,
  /// The process ends before it, after half of the bytes, or after it.
  kill_before,
  kill_within,
  kill_after,
};
std::string_view to_string(Action action);

struct Fault {
  Call call = Call::open;
  /// The first call of its kind is 1.
  int number = 0;
  Action action = Action::fail;
  int error = 0;
  /// All later calls of its kind fail as well.
  bool stays = false;
};
std::string to_string(const Fault& fault);

/// Forgets all faults and counts, and watches the files of a folder from now on.
void watch(const std::string& folder);
/// At most two at a time.
void arm(const Fault& fault);
/// How often each kind of call was made since watch().
std::array<int, call_count> calls();
/// A fault has happened.
bool has_fired();
/// Calls go through unchanged, and are not counted, until the next watch().
void disarm();
/// Sets the result of getentropy until the next watch(), so that a test knows the name of a
/// temporary file in advance.
void predict_entropy(unsigned long long bits);

}  // namespace weft::faults
