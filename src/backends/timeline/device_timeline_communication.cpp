#include "device_timeline_communication.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

namespace iterscope {

namespace {

/// NCCL and RCCL name their kernels like this, and nothing else is called so on a device.
bool is_collective_kernel(const DeviceActivity& activity)
{
    return activity.kind == DeviceActivity::Kind::kernel &&
           (activity.name.starts_with("ncclDevKernel_") ||
            activity.name.starts_with("ncclKernel_"));
}

}  // namespace

TimelineCommunication::TimelineCommunication(const DeviceTimeline& timeline,
                                             const TimelineNodes& nodes)
{
    std::unordered_map<std::uint64_t, const std::string*> groups;
    for (const RecordNote& note : timeline.notes) {
        groups.emplace(note.record, &note.group);
    }
    for (const TimelineNodes::Asynchronous& work : nodes.asynchronous) {
        const HostEvent& event = *work.event;
        const bool has_ended = event.end_ns >= event.start_ns;
        if (event.collective.empty() || (!has_ended && !event.runs_as_kernel)) {
            continue;
        }
        const auto group = groups.find(event.record);
        Issued issued{{k_no_region, std::string(event.collective),
                       group == groups.end() ? "" : *group->second, event.start_ns, 0},
                      work.place,
                      event.thread,
                      event.start_ns,
                      work.root,
                      event.runs_as_kernel,
                      {}};
        if (!event.runs_as_kernel) {
            issued.intervals.push_back({event.start_ns, event.end_ns});
        }
        issued_.push_back(std::move(issued));
    }
    std::ranges::stable_sort(issued_, {}, &Issued::start_ns);
}

TimelineCommunication::Issued* TimelineCommunication::find(const DeviceLaunch& launch,
                                                           std::int32_t root)
{
    Issued* last = nullptr;
    for (Issued& issued : issued_) {
        if (issued.runs_as_kernel && issued.thread == launch.thread && issued.root == root &&
            (root != k_no_node || issued.start_ns <= launch.start_ns)) {
            if (last != nullptr && issued.start_ns > launch.start_ns) {
                break;
            }
            last = &issued;
        }
    }
    return last;
}

void TimelineCommunication::add(const DeviceActivity& activity, const DeviceLaunch& launch,
                                std::int32_t node, const TimelineNodes& nodes)
{
    if (!is_collective_kernel(activity)) {
        return;
    }
    const bool is_inside = node != k_no_node;
    Issued* issued = find(launch, is_inside ? nodes.root(node) : k_no_node);
    if (issued == nullptr) {
        // Called past torch.distributed: it has no other name than its kernel's.
        issued_.push_back({{k_no_region, std::string(activity.name), "", launch.start_ns, 0},
                           is_inside ? nodes[node].place : 0,
                           launch.thread,
                           launch.start_ns,
                           k_no_node,
                           false,
                           {}});
        issued = &issued_.back();
    }
    issued->intervals.push_back({activity.start_ns, activity.end_ns});
}

void TimelineCommunication::fill(OperatorTable& table, const TimelineNodes& nodes)
{
    std::map<RegionId, std::vector<Interval>> by_region;
    std::map<RegionId, std::vector<Interval>> by_outermost;
    std::vector<Interval> outside;
    std::ranges::stable_sort(issued_, {}, &Issued::start_ns);
    for (Issued& issued : issued_) {
        RegionId outermost = k_no_region;
        nodes.tree.for_each_region(issued.place, false, [&](RegionId region) {
            auto& intervals = by_region[region];
            intervals.insert(intervals.end(), issued.intervals.begin(), issued.intervals.end());
            outermost = region;
        });
        auto& intervals = outermost == k_no_region ? outside : by_outermost[outermost];
        intervals.insert(intervals.end(), issued.intervals.begin(), issued.intervals.end());
        issued.collective.region = nodes.tree.region(issued.place);
        issued.collective.duration_ns = covered_ns(issued.intervals);
        table.collectives.push_back(std::move(issued.collective));
    }
    for (const RegionId region : nodes.entered) {
        table.regions.push_back({region, 0, covered_ns(by_region[region])});
    }
    for (auto& [region, intervals] : by_outermost) {
        table.communication_inside_ns += covered_ns(intervals);
    }
    table.communication_outside_ns = covered_ns(outside);
}

}  // namespace iterscope
