#include "comm/held_error.hpp"

#include <weft/comm/format.hpp>
#include <weft/core/error.hpp>

#include <string>

namespace weft::detail {

void HeldError::rethrow(Transport& transport) {
  reported_ = true;
  if (error_ != nullptr) std::rethrow_exception(error_);
  const std::string reason =
      fmt::format("this rank continued after an error that left its {} unfinished", *unfinished_);
  transport.abort(reason);
  throw CommError(reason);
}

}  // namespace weft::detail
