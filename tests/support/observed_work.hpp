#pragma once

#include <ATen/ThreadLocalState.h>
#include <ATen/record_function.h>

#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <iterscope/operator_table.hpp>

namespace iterscope::test {

/// An operator as PyTorch's observers see one, for as long as it lives. Its name is a string of
/// its own: names of later ones reuse the address.
class Operation {
public:
    explicit Operation(std::string name, at::RecordScope scope = at::RecordScope::FUNCTION)
        : guard_(scope)
    {
        if (guard_.isActive()) {
            guard_.before(std::move(name));
        }
    }
    void end() { guard_.end(); }

private:
    at::RecordFunction guard_;
};

inline void operate(const std::string& name) { const Operation operation(name); }

/// What torch.profiler.record_function leaves.
struct Annotation : Operation {
    explicit Annotation(std::string name) : Operation(std::move(name), at::RecordScope::USER_SCOPE)
    {
    }
};

/// A thread to which PyTorch's state is carried over, as autograd and c10d do for theirs.
template <class Work>
std::thread working_thread(Work work)
{
    return std::thread([state = at::ThreadLocalState(), work = std::move(work)]() mutable {
        const at::ThreadLocalStateGuard guard(state);
        work();
    });
}

using Counts = std::map<std::pair<RegionId, std::string>, std::int64_t>;

inline Counts counts_of(const std::vector<OperatorRow>& rows)
{
    Counts counts;
    for (const OperatorRow& row : rows) {
        counts[{row.region, row.name}] += row.stats.count;
    }
    return counts;
}

inline OperatorStats stats_of(const std::vector<OperatorRow>& rows, RegionId region,
                              const std::string& name)
{
    for (const OperatorRow& row : rows) {
        if (row.region == region && row.name == name) {
            return row.stats;
        }
    }
    return {};
}

}  // namespace iterscope::test
