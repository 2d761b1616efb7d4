#pragma once

// The communication of matrix_mult.cpp.

#include <weft/array/arithmetic.hpp>
#include <weft/op/operator_node.hpp>

#include "op/peers.hpp"

#include <optional>

namespace weft::detail {

/// The model or the data of a distributed matrix. This rank's block of the matrix multiplies one
/// piece of it, which is common to the ranks of `line`: those with the same columns, or the same
/// rows.
template <Scalar T>
class MatrixSide {
 public:
  /// The piece is this rank's part of the array, replicated over the line.
  explicit MatrixSide(Comm line) : line_(std::move(line)) {}
  /// The piece is the whole array, which is distributed over the line.
  MatrixSide(Comm line, const Layout& layout) : MatrixSide(std::move(line)) {
    if (!has_peers(line_)) return;
    std::vector<index_t> counts;
    for (int rank = 0; rank < line_.size(); ++rank) counts.push_back(layout.local_count(rank));
    parts_ = Parts(std::move(counts));
    piece_ = Buffer<T>(parts_->extent(), layout.device());
    local_part_.emplace(layout, piece_.data() + parts_->offset(line_.rank()), layout.local_count());
  }

  /// The piece of x. Communication: one all_gather if the piece is distributed.
  const T* gather(const ConstArrayView<T>& x) {
    if (!parts_) return x.data();
    line_.all_gather_v(ConstBufferRef(x.data(), x.local_count(), x.device()), piece_, *parts_);
    return piece_.data();
  }
  /// y = alpha (sum over the line of products) + beta y, where product(alpha, beta, piece) computes
  /// this rank's contribution, piece = alpha A x + beta piece. Communication: one allreduce, or one
  /// reduce_scatter if the piece is distributed.
  template <class Product>
  void reduce_into(const ArrayView<T>& y, Update<T> update, Product product) {
    if (!has_peers(line_)) return product(update.alpha, update.beta, y.data());
    const BufferRef out(y.data(), y.local_count(), y.device());
    if (!parts_) {
      product(update.alpha, line_.rank() == 0 ? update.beta : T{}, y.data());
      return line_.allreduce(out);
    }
    product(update.alpha, T{}, piece_.data());
    if (update.beta != T{}) axpy(update.beta, y, *local_part_);
    line_.reduce_scatter_v(piece_, *parts_, out);
  }

  int gather_messages() const { return parts_ ? 1 : 0; }
  int reduce_messages() const { return has_peers(line_) ? 1 : 0; }

 private:
  Comm line_;
  std::optional<Parts> parts_;              // of the piece, if it is distributed
  Buffer<T> piece_;                         // if it is distributed
  std::optional<ArrayView<T>> local_part_;  // view of this rank's part of piece_
};

}  // namespace weft::detail
