#include "device_timeline.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "device_timeline_communication.hpp"
#include "device_timeline_nodes.hpp"
#include "intervals.hpp"

namespace iterscope {

namespace {

using Kind = HostEvent::Kind;

class TableFiller {
public:
    explicit TableFiller(const DeviceTimeline& timeline)
        : timeline_(timeline), nodes_(timeline), communication_(timeline, nodes_)
    {
    }

    TimelineLosses fill(OperatorTable& table)
    {
        table.clear();
        place_device_work();
        sum_nodes();
        for (const TimelineNodes::Allocation& allocation : nodes_.loose_allocations) {
            add_row(allocation.place, k_memory_row,
                    {.count = 1,
                     .memory_bytes = allocation.bytes,
                     .self_memory_bytes = allocation.bytes});
        }
        for (const TimelineNodes::Asynchronous& work : nodes_.asynchronous) {
            const std::int64_t duration = work.event->end_ns - work.event->start_ns;
            if (duration >= 0) {
                sums_[{work.place, work.event->name}].full +=
                    {.count = 1, .cpu_ns = duration, .self_cpu_ns = duration};
            }
        }
        write_rows(table);
        communication_.fill(table, nodes_);
        for (RegionActivity& activity : table.regions) {
            activity.device_ns = covered_ns(device_intervals_[activity.region]);
        }
        return {nodes_.unfinished, unplaced_};
    }

private:
    struct Sum {
        OperatorStats direct;
        OperatorStats full;
    };

    void place_device_work();
    std::int32_t launching_node(const DeviceLaunch& launch) const;
    void add_device_work(const DeviceActivity& activity, std::int32_t node);
    std::pair<OperatorStats, OperatorStats> merge_twin(const TimelineNode& node,
                                                       const OperatorStats& own) const;
    void sum_nodes();
    void add_row(PlaceId place, std::string_view name, const OperatorStats& stats)
    {
        Sum& sum = sums_[{place, name}];
        sum.full += stats;
        sum.direct += stats;
    }
    void write_rows(OperatorTable& table) const;

    const DeviceTimeline& timeline_;
    TimelineNodes nodes_;
    TimelineCommunication communication_;
    std::unordered_map<std::uint64_t, std::int32_t> operators_;
    std::map<std::pair<PlaceId, std::string_view>, Sum> sums_;
    std::unordered_map<RegionId, std::vector<Interval>> device_intervals_;
    std::int64_t unplaced_ = 0;
};

std::int32_t TableFiller::launching_node(const DeviceLaunch& launch) const
{
    const std::int32_t open = nodes_.find(launch.thread, launch.start_ns);
    const auto caller = operators_.find(launch.operator_correlation);
    if (launch.operator_correlation == 0 || caller == operators_.end()) {
        return open;
    }
    // The name of the caller does not depend on clocks, so it has the last word. Only inside it may
    // the times say more: a region that was opened within.
    for (std::int32_t node = open; node != k_no_node; node = nodes_[node].enclosing) {
        if (node == caller->second) {
            return open;
        }
    }
    return caller->second;
}

void TableFiller::place_device_work()
{
    for (std::size_t i = 0; i < nodes_.all.size(); ++i) {
        const TimelineNode& node = nodes_.all[i];
        if (node.is(Kind::operation) && node.event->correlation != 0) {
            operators_.emplace(node.event->correlation, static_cast<std::int32_t>(i));
        }
    }
    std::unordered_map<std::uint64_t, const DeviceLaunch*> launches;
    for (const DeviceLaunch& launch : timeline_.launches) {
        const DeviceLaunch*& known = launches[launch.correlation];
        if (known == nullptr || known->operator_correlation == 0) {
            known = &launch;
        }
    }
    for (const DeviceActivity& activity : timeline_.device) {
        if (activity.kind == DeviceActivity::Kind::annotation) {
            continue;
        }
        const auto launch = launches.find(activity.correlation);
        const auto caller = operators_.find(activity.operator_correlation);
        if (activity.correlation != 0 && launch != launches.end()) {
            const std::int32_t node = launching_node(*launch->second);
            add_device_work(activity, node);
            communication_.add(activity, *launch->second, node, nodes_);
        } else if (activity.operator_correlation != 0 && caller != operators_.end()) {
            add_device_work(activity, caller->second);
            const HostEvent& event = *nodes_[caller->second].event;
            communication_.add(activity, {event.thread, event.start_ns, 0, 0}, caller->second,
                               nodes_);
        } else {
            ++unplaced_;
        }
    }
}

void TableFiller::add_device_work(const DeviceActivity& activity, std::int32_t node)
{
    if (node == k_no_node) {
        return;  // launched outside everything that is recorded
    }
    const std::int64_t duration = std::max<std::int64_t>(0, activity.end_ns - activity.start_ns);
    const PlaceId place = nodes_[node].place;
    nodes_.tree.for_each_region(place, false, [&](RegionId region) {
        device_intervals_[region].push_back({activity.start_ns, activity.end_ns});
    });
    nodes_[node].device_ns += duration;
    std::int32_t owner = node;
    while (owner != k_no_node && nodes_[owner].is(Kind::annotation)) {
        owner = nodes_[owner].enclosing;
    }
    if (owner != k_no_node && nodes_[owner].is(Kind::operation)) {
        nodes_[owner].self_device_ns += duration;
    } else {
        add_row(place, k_no_operator_row,
                {.count = 1, .device_ns = duration, .self_device_ns = duration});
    }
}

/// The call as a whole, and what of it is left for a row that already has its only child, if that
/// has the same name: it is the same call to PyTorch's tables.
std::pair<OperatorStats, OperatorStats> TableFiller::merge_twin(const TimelineNode& node,
                                                                const OperatorStats& own) const
{
    if (node.twin == k_no_node || node.children != 1) {
        return {own, own};
    }
    const OperatorStats& twin = nodes_[node.twin].whole;
    OperatorStats whole = own;
    whole.self_cpu_ns += twin.self_cpu_ns;
    whole.self_device_ns += twin.self_device_ns;
    whole.self_memory_bytes += twin.self_memory_bytes;
    OperatorStats rest = own;
    rest.count = 0;
    rest.cpu_ns -= twin.cpu_ns;
    rest.device_ns -= twin.device_ns;
    rest.memory_bytes -= twin.memory_bytes;
    return {whole, rest};
}

void TableFiller::sum_nodes()
{
    // From the inside out: a node comes after the one around it.
    for (std::size_t i = nodes_.all.size(); i-- > 0;) {
        TimelineNode& node = nodes_.all[i];
        TimelineNode* outer = node.enclosing == k_no_node ? nullptr : &nodes_[node.enclosing];
        if (outer != nullptr) {
            outer->device_ns += node.device_ns;
        }
        if (node.is(Kind::mark) || !node.has_ended) {
            continue;
        }
        const HostEvent& event = *node.event;
        const std::int64_t duration = event.end_ns - event.start_ns;
        const OperatorStats own{.count = 1,
                                .cpu_ns = duration,
                                .self_cpu_ns = duration - node.child_ns,
                                .device_ns = node.device_ns,
                                .self_device_ns = node.self_device_ns,
                                .memory_bytes = node.memory_bytes + node.child_memory_bytes,
                                .self_memory_bytes = node.memory_bytes};
        const auto [whole, rest] = merge_twin(node, own);
        node.whole = whole;
        Sum& sum = sums_[{node.place, event.name}];
        sum.full += rest;
        if (node.is(Kind::operation) && !node.under_operator) {
            sum.direct += whole;
        }
        if (outer == nullptr || outer->is(Kind::mark)) {
            continue;
        }
        ++outer->children;
        outer->child_ns += duration;
        outer->child_memory_bytes += own.memory_bytes;
        if (node.is(Kind::operation) && outer->is(Kind::operation) &&
            outer->event->name == event.name) {
            outer->twin = static_cast<std::int32_t>(i);
        }
    }
}

void TableFiller::write_rows(OperatorTable& table) const
{
    std::map<std::pair<RegionId, std::string_view>, Sum> rows;
    for (const auto& [key, sum] : sums_) {
        const auto& [place, name] = key;
        if (place == 0) {
            continue;  // outside every region
        }
        if (sum.full != OperatorStats{}) {
            rows[{nodes_.tree.region(place), name}].full += sum.full;
        }
        if (sum.direct.count > 0) {
            nodes_.tree.for_each_region(
                place, true, [&](RegionId region) { rows[{region, name}].direct += sum.direct; });
        }
    }
    for (const auto& [key, sum] : rows) {
        if (sum.direct.count > 0) {
            table.direct.push_back({key.first, std::string(key.second), sum.direct});
        }
        if (sum.full != OperatorStats{}) {
            table.full.push_back({key.first, std::string(key.second), sum.full});
        }
    }
}

}  // namespace

TimelineLosses fill_table(const DeviceTimeline& timeline, OperatorTable& table)
{
    return TableFiller(timeline).fill(table);
}

}  // namespace iterscope
