#pragma once

#include "bench/options.hpp"
#include "bench/raw.hpp"
#include "bench/results.hpp"

namespace weft::bench {

/// Times and checks the calls of a case. `raw` may be null. All ranks get the same result.
Cell measure(const Comm& world, const Options& options, const Raw* raw, const Where& at,
             const Plan& plan, const Data& data, Form form);

}  // namespace weft::bench
