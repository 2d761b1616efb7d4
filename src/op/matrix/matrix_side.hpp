#pragma once

#include <weft/array/arithmetic.hpp>
#include <weft/op/operator_node.hpp>

#include "op/peers.hpp"

#include <optional>

namespace weft::detail {

/// The model or the data of a matrix whose blocks stay on their ranks. The block of this rank is
/// multiplied with one piece of it, which the ranks of a line have in common.
template <Scalar T>
class MatrixSide {
 public:
  /// The piece is this rank's part of an array of the layout; where the line is cut, each of its
  /// ranks knows only a part of the sum that the piece is.
  explicit MatrixSide(Comm line) : line_(std::move(line)) {}
  /// The piece is the whole array, which the line has between them.
  MatrixSide(Comm line, const Layout& layout) : MatrixSide(std::move(line)) {
    if (!has_peers(line_)) return;
    std::vector<index_t> counts;
    for (int rank = 0; rank < line_.size(); ++rank) counts.push_back(layout.local_count(rank));
    parts_ = Parts(std::move(counts));
    piece_ = Buffer<T>(parts_->extent(), layout.device());
    mine_.emplace(layout, piece_.data() + parts_->offset(line_.rank()), layout.local_count());
  }

  /// The piece of an array.
  const T* take(const ConstArrayView<T>& x) {
    if (!parts_) return x.data();
    line_.all_gather_v(ConstBufferRef(x.data(), x.local_count(), x.device()), piece_, *parts_);
    return piece_.data();
  }
  /// Lets product(alpha, beta, piece) write a piece, and adds up those of the line.
  template <class Product>
  void give(const ArrayView<T>& y, Update<T> update, Product product) {
    if (!has_peers(line_)) return product(update.alpha, update.beta, y.data());
    const BufferRef out(y.data(), y.local_count(), y.device());
    if (!parts_) {
      product(update.alpha, line_.rank() == 0 ? update.beta : T{}, y.data());
      return line_.allreduce(out);
    }
    product(update.alpha, T{}, piece_.data());
    if (update.beta != T{}) axpy(update.beta, y, *mine_);
    line_.reduce_scatter_v(piece_, *parts_, out);
  }

  int messages_to_take() const { return parts_ ? 1 : 0; }
  int messages_to_give() const { return has_peers(line_) ? 1 : 0; }

 private:
  Comm line_;
  std::optional<Parts> parts_;        // of the piece, where ranks do not have all of it
  Buffer<T> piece_;                   // then
  std::optional<ArrayView<T>> mine_;  // this rank's part of it
};

}  // namespace weft::detail
