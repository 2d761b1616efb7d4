#pragma once

#include "faults/chaos/plan.hpp"
#include "faults/chaos/record.hpp"
#include "faults/support/process.hpp"

#include <string>

namespace weft::chaos {

/// Why a run did not end as it must; empty if it did. `deadline` is the time limit of its waits, in
/// seconds.
std::string evaluate(const Plan& plan, bool mpi, double deadline, const Record& record,
                     const faults::Ended& ended);

}  // namespace weft::chaos
