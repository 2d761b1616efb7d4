#pragma once

#include "sparse_allreduce/selection_kernels.hpp"
#include "sparse_allreduce/slot_kernels.hpp"

#include <limits>

/// What calls in slots keep in memory of the device, so that the host need not read anything, and
/// the kernels of one thread that change it.
namespace weft::kernels {

/// A call that was refused.
struct Refusal {
  index_t call = -1;
  index_t rank = -1;
  index_t first = -1;
};

struct CallControl {
  // of all calls
  index_t calls = 0;
  double local_threshold = -1;
  double global_threshold = -1;
  // The first refused calls since all ranks have looked, and since this rank has made a report.
  Refusal refusal;
  Refusal unreported;

  // of one call
  SelectionRule local_rule;  // all elements other than 0 from the threshold on
  SelectionRule global_rule;
  index_t sampled = 0;           // elements that a selection by a sample has found
  index_t of_list = 0;           // the same, if its list can be used
  index_t of_array[2] = {0, 0};  // else all elements
  index_t from_list = 0;         // taken of the list
  index_t picked = 0;
  index_t raised = 0;          // of these, those from the raised threshold on
  index_t listed[2] = {0, 0};  // 0, and the number of listed sums
  index_t joined = 0;          // pairs in this rank's slot
  index_t total = 0;           // pairs that all ranks have gathered
  index_t shown = 0;           // pairs of the result, or 0 if the call is refused
  index_t put_back = 0;
  index_t selected = 0;
  index_t dropped = 0;
  index_t overflow = 0;
  index_t split_pairs = 0;   // sent to owners
  index_t gather_pairs = 0;  // sent to all ranks
  index_t few = 0;           // fewer sums than are searched for
  SlotSummary headers;
};

/// threshold /= down if count < low, threshold *= up if count > high.
struct Adaptation {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  double down = 1;
  double up = 1;
};

/// Clears what is of one call, and makes rules of the thresholds.
template <class Device>
void begin_call(Device device, DType work, CallControl* control, BadElements* bad);
/// After the call: how many of the `picked` elements return to the residual, how many pairs of
/// `result` are shown, and whether the call was refused. The thresholds adapt to the numbers of
/// both.
template <class Device>
void end_call(Device device, CallControl* control, const BadElements* bad, Count picked,
              Count result, const Adaptation& local, const Adaptation& global);

/// A result that is made after the call.
template <class Device>
void show_result(Device device, Count result, CallControl* control);

template <class Device>
void set_count(Device device, Count value, index_t* number);
template <class Device>
void set_rule(Device device, const SelectionRule& value, SelectionRule* rule);
/// The rule that takes all elements other than 0 from a threshold on.
template <class Device>
void rule_of_threshold(Device device, DType work, const double* threshold, SelectionRule* rule);
template <class Device>
void threshold_of_rule(Device device, DType work, const SelectionRule* rule, double* threshold);

/// Whether the `sampled` elements of a list have the k largest for certain: more than k are listed,
/// and none is missing. If not, all n elements are to be looked at.
template <class Device>
void choose_candidates(Device device, index_t k, index_t room, index_t n, CallControl* control);
/// *rule = *of_list if the list was used; control->picked = what was taken of the list, or else of
/// all elements.
template <class Device>
void join_selections(Device device, const SelectionRule* of_list, CallControl* control,
                     SelectionRule* rule);

/// Boundaries of P regions of n elements.
template <class Device>
void set_equal_regions(Device device, index_t n, int ranks, index_t* boundaries);
/// Boundaries that are the means of quantiles, of which `sums` are the sums over the ranks.
template <class Device>
void set_mean_regions(Device device, index_t n, int ranks, const index_t* sums,
                      index_t* boundaries);

/// A search for the key of the k-th sum, then for the last index of those with this key.
template <class Device>
void search_keys(Device device, index_t k, DigitSearch* search);
template <class Device>
void search_indices(Device device, DigitSearch* search, CallControl* control);
/// The rule that was searched for, and its threshold.
template <class Device>
void finish_search(Device device, DType work, const DigitSearch* search, CallControl* control,
                   SelectionRule* rule);

}  // namespace weft::kernels
