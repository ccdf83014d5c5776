#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <iterscope/backend.hpp>

namespace iterscope {

/// What one operator did in one region. Times in ns, memory in bytes (net: freed bytes count
/// negative).
struct OperatorStats {
    std::int64_t count = 0;
    std::int64_t cpu_ns = 0;
    std::int64_t self_cpu_ns = 0;
    std::int64_t device_ns = 0;
    std::int64_t self_device_ns = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t self_memory_bytes = 0;

    OperatorStats& operator+=(const OperatorStats& other) noexcept
    {
        count += other.count;
        cpu_ns += other.cpu_ns;
        self_cpu_ns += other.self_cpu_ns;
        device_ns += other.device_ns;
        self_device_ns += other.self_device_ns;
        memory_bytes += other.memory_bytes;
        self_memory_bytes += other.self_memory_bytes;
        return *this;
    }
    bool operator==(const OperatorStats&) const = default;
};

struct OperatorRow {
    RegionId region = 0;
    std::string name;
    OperatorStats stats;
};

/// One collective, in the order in which they were issued.
struct Collective {
    /// Innermost region that issued it; k_no_region outside all of them.
    RegionId region = 0;
    /// "all_reduce", "broadcast", ...
    std::string name;
    /// Name of the process group; empty if unknown.
    std::string group;
    std::int64_t start_unix_ns = 0;
    std::int64_t duration_ns = 0;
};

inline constexpr RegionId k_no_region = static_cast<RegionId>(-1);

/// Device and communication time of one region, what it launched in nested regions included.
struct RegionActivity {
    RegionId region = 0;
    /// Time in which at least one device activity of the region was running.
    std::int64_t device_ns = 0;
    /// Time in which at least one collective of the region was in flight.
    std::int64_t communication_ns = 0;
};

/// What the operators of one iteration (or cycle) did. Both collectors fill it alike.
struct OperatorTable {
    /// Operators that a region called itself: no other operator of the region stands between. An
    /// operator in a nested region also counts for the regions around it.
    std::vector<OperatorRow> direct;
    /// Every operator at any depth, by the innermost region.
    std::vector<OperatorRow> full;
    /// Every region that was entered.
    std::vector<RegionActivity> regions;
    /// Communication of the outermost regions, and outside every region.
    std::int64_t communication_inside_ns = 0;
    std::int64_t communication_outside_ns = 0;
    std::vector<Collective> collectives;
    /// Something stopped the collection before the end: the numbers above are only a part.
    bool is_partial = false;

    void clear() { *this = OperatorTable{}; }

    /// Adds the operators of `other`: equal (region, name) become one row, new ones follow.
    void add_operators(const OperatorTable& other);
};

/// A table with what a sink needs to write it.
struct OperatorReport {
    OperatorTable table;
    /// By RegionId.
    std::vector<std::string> region_names;
    /// False where device times were wanted and none came: those of the table mean nothing.
    bool has_device_times = true;
};

/// Allocations and frees outside every operator are listed under this name, as PyTorch does.
inline constexpr const char* k_memory_row = "[memory]";
/// Device activities that no operator launched.
inline constexpr const char* k_no_operator_row = "(no operator)";

}  // namespace iterscope
