#pragma once

#include <weft/core/dtype.hpp>
#include <weft/core/shape.hpp>

#include <cstdint>
#include <limits>

/// Selection of the elements of largest magnitude. Magnitudes are compared as keys: the bits of a
/// float without its sign, whose order as integers is that of the magnitudes.
namespace weft::kernels {

/// Takes all elements whose key is above `key`, and of those with this key and an index up to
/// `last_index` the first `ties`.
struct SelectionRule {
  std::uint64_t key = 0;
  index_t ties = std::numeric_limits<index_t>::max();
  index_t last_index = std::numeric_limits<index_t>::max();
};

/// How many elements there are: a number that the host knows, or one in memory of the device, of
/// which the host knows a bound.
struct Count {
  index_t most = 0;
  const index_t* exact = nullptr;

  constexpr Count() = default;
  constexpr Count(index_t number) : most(number) {}
  constexpr Count(index_t bound, const index_t* number) : most(bound), exact(number) {}
  /// In kernels: the number, but not more than the bound.
  constexpr index_t now() const { return exact == nullptr || *exact > most ? most : *exact; }
};

/// Selected elements in the order of their indices; values are f32 or f64.
struct SelectedList {
  index_t* index = nullptr;
  void* value = nullptr;
  index_t capacity = 0;
};

/// Work is divided into chunks, whatever the number of threads.
inline constexpr index_t selection_chunk = 32768;
constexpr index_t selection_chunks(index_t n) {
  return (n + selection_chunk - 1) / selection_chunk;
}

/// GPUs divide work into smaller parts.
inline constexpr index_t selection_tile = 4096;
constexpr index_t selection_tiles(index_t n) { return (n + selection_tile - 1) / selection_tile; }

/// Histograms of digits of keys.
inline constexpr int digit_bits = 11;
inline constexpr index_t digit_values = index_t{1} << digit_bits;
inline constexpr int histogram_rows = 16;

/// Elements to choose from: an array, or a list if `index` is not null.
struct Candidates {
  DType work = DType::f32;
  Count n;
  const void* value = nullptr;
  const index_t* index = nullptr;
  /// Leaves out -0, which marks sums that nothing was added to: no sum of numbers other than -0 is
  /// -0, if it starts from -0.
  bool touched = false;
  /// If not null, in memory of the device: only elements range[0] <= i < range[1] of the array.
  const index_t* range = nullptr;

  /// In kernels.
  constexpr index_t begin() const { return range == nullptr ? 0 : range[0]; }
  constexpr index_t end() const { return range == nullptr ? n.now() : range[1]; }
};

/// The rule that takes exactly the k largest of the candidates, ties by the lower position; all if
/// there are fewer. `histogram` has histogram_rows * digit_values elements.
template <class Device>
void find_rule(Device device, const Candidates& from, index_t k, SelectionRule* rule,
               index_t* histogram);

/// The state of a search for the k-th largest candidate of all ranks, digit by digit: of the keys,
/// then of the indices of those with the key that was found, where lower indices come first.
struct DigitSearch {
  std::uint64_t prefix = 0;  // the digits that are known
  std::uint64_t higher = 0;  // the bits of these digits
  index_t wanted = 0;        // how many of the candidates with this prefix are to be taken
  index_t present = 0;       // how many there are
  SelectionRule rule;        // the key, in a search of indices
};

/// histogram[d] = number of candidates with the prefix of the search and the digit d at `shift`. In
/// a search of indices only those with the key of its rule count.
template <class Device>
void count_digits(Device device, const Candidates& from, index_t base, bool of_indices, int shift,
                  const DigitSearch* search, index_t* histogram);
/// Extends the prefix by the digit of the element that is searched for.
template <class Device>
void choose_digit(Device device, bool of_indices, int shift, const index_t* histogram,
                  DigitSearch* search);

/// While more than `most` of the `count` elements of a list reach the threshold, at most `steps`
/// times, it is multiplied by `factor`. Then it is rounded to the type `work`; if the list is not
/// longer than `most`, it stays as it is.
template <class Device>
void raise_threshold(Device device, DType work, const SelectedList& list, Count count, index_t most,
                     int steps, double factor, double* threshold);

/// raise_threshold() of short lists; then the elements that still reach the threshold are listed in
/// `kept`, and the others are put back into the residual.
struct Raising {
  DType work = DType::f32;
  SelectedList list;
  Count count;
  index_t most = 0;
  int steps = 0;
  double factor = 1;
  double* threshold = nullptr;
  void* residual = nullptr;
  SelectedList kept;
  index_t* kept_count = nullptr;
};
inline constexpr index_t longest_short_list = 1 << 14;
template <class Device>
void raise_short(Device device, const Raising& work);

/// Lists the `each` largest elements of every `chunk` consecutive ones, and zeroes them. The last
/// chunk may have fewer.
template <class Device>
void select_in_chunks(Device device, DType work, index_t n, index_t chunk, index_t each,
                      void* values, const SelectedList& list);

/// The number of elements of at least the magnitude of `rule`.
template <class Device>
void count_reaching(Device device, DType work, index_t n, const void* values,
                    const SelectionRule* rule, index_t* count);

/// Lists what the rule takes and stores the length in *count; `tallies` has two elements per tile
/// of candidates. If `zeroed` is not null, these elements of that array become 0. Indices of
/// candidates in an array are their positions plus `base`. What exceeds the capacity is counted but
/// neither listed nor zeroed.
template <class Device>
void select(Device device, const Candidates& from, index_t base, const SelectionRule* rule,
            index_t* tallies, const SelectedList& list, index_t* count, void* zeroed);

/// Sum and sum of squares of f32 or f64, in double.
template <class Device>
void moments(Device device, DType work, index_t n, const void* values, double* sums);

/// values[index] = value for the elements of a list.
template <class Device>
void put_back(Device device, DType work, const SelectedList& list, Count count, void* values);

}  // namespace weft::kernels
