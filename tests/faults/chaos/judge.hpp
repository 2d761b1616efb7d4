#pragma once

#include "faults/chaos/plan.hpp"
#include "faults/chaos/record.hpp"
#include "faults/support/process.hpp"

#include <string>

namespace weft::chaos {

/// What is wrong with the way a run ended; empty if nothing is. `deadline` is the time limit of its
/// waits, in seconds.
std::string judge(const Plan& plan, bool mpi, double deadline, const Record& record,
                  const faults::Ended& ended);

}  // namespace weft::chaos
