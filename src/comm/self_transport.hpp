#pragma once

#include "comm/transport.hpp"

#include <memory>

namespace weft::detail {

std::shared_ptr<Transport> make_self_transport();

}  // namespace weft::detail
