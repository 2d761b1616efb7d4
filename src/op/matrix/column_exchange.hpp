#pragma once

#include <weft/array/distributed_array.hpp>
#include <weft/comm/message_batch.hpp>

#include "op/matrix/sparse_rows.hpp"

#include <vector>

namespace weft::detail {

/// Fetches elements of a distributed vector that this rank does not have ("ghosts"), and in the
/// adjoint adds their values to the elements: one message per neighbour.
template <Scalar T>
class ColumnExchange {
 public:
  /// `parts` are the elements of each rank, `ghosts` the ascending positions that this rank needs.
  /// Collective: two calls that tell each rank what others need.
  ColumnExchange(const Comm& comm, Device device, const std::vector<ElementRange>& parts,
                 const std::vector<index_t>& ghosts);

  /// Fetches the ghosts of a vector; x points to this rank's part.
  void start(const T* x);
  void finish();
  /// x += alpha * (ghosts of all ranks), in the order of ranks.
  void start_adjoint();
  void finish_adjoint(T alpha, T* x);
  void abandon() noexcept;

  T* ghosts() { return ghosts_.data(); }
  /// Messages that this rank sends, in one run and in one run of the adjoint.
  int sends() const { return static_cast<int>(requested_.size()); }
  int adjoint_sends() const { return adjoint_sends_; }

 private:
  /// Elements of this rank that another needs.
  struct Requested {
    index_t first;  // in send_indices_ and packed_
    index_t count;
  };

  bool has_messages() const { return sends() + adjoint_sends_ > 0; }

  Buffer<T> ghosts_;
  Buffer<T> packed_;
  Buffer<index_t> send_indices_;  // of the elements in this rank's part
  std::vector<Requested> requested_;
  int adjoint_sends_ = 0;
  MessageBatch fetch_;
  MessageBatch adjoint_messages_;
};

}  // namespace weft::detail
