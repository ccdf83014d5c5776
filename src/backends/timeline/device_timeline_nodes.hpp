#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "device_timeline.hpp"
#include "region_tree.hpp"

namespace iterscope {

inline constexpr std::int32_t k_no_node = -1;

/// An operator, a label or an opened region, with what encloses it and what it sums up.
struct TimelineNode {
    const HostEvent* event;
    PlaceId place;
    /// Innermost node around it. For the outermost one of another thread: the opened region that
    /// it works for.
    std::int32_t enclosing;
    /// An operator is open below, above the innermost region.
    bool under_operator;
    bool has_ended;

    std::uint32_t children = 0;
    std::int64_t child_ns = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t child_memory_bytes = 0;
    /// Launched in the node, in nested ones too.
    std::int64_t device_ns = 0;
    std::int64_t self_device_ns = 0;
    /// A child of the same name.
    std::int32_t twin = k_no_node;
    /// With what a child that counts as the same call did itself.
    OperatorStats whole = {};

    bool is(HostEvent::Kind kind) const { return event->kind == kind; }
};

/// Host events by what contains what: on each thread an event is inside the last one that began
/// before it and has not ended.
class TimelineNodes {
public:
    struct Asynchronous {
        const HostEvent* event;
        PlaceId place;
        /// Outermost operator around it.
        std::int32_t root;
    };
    struct Allocation {
        PlaceId place;
        std::int64_t bytes;
    };

    explicit TimelineNodes(const DeviceTimeline& timeline);

    /// The innermost node open on `thread` at `time_ns`; between operators of another thread, the
    /// opened region that it worked for last.
    std::int32_t find(std::int64_t thread, std::int64_t time_ns) const;
    /// The outermost node around `node` on its thread, inside the innermost region.
    std::int32_t root(std::int32_t node) const;
    TimelineNode& operator[](std::int32_t index) { return all[static_cast<std::size_t>(index)]; }
    const TimelineNode& operator[](std::int32_t index) const
    {
        return all[static_cast<std::size_t>(index)];
    }

    /// Every node comes after the one that encloses it.
    std::vector<TimelineNode> all;
    std::vector<Asynchronous> asynchronous;
    /// Outside every operator and label.
    std::vector<Allocation> loose_allocations;
    RegionTree tree;
    /// Regions that were opened, each once, in order.
    std::vector<RegionId> entered;
    std::int64_t unfinished = 0;

private:
    struct Range {
        std::size_t begin;
        std::size_t end;
    };
    struct Origin {
        std::int32_t node;
        PlaceId place;
    };

    void add_thread(const std::vector<const HostEvent*>& events);
    void add_node(const HostEvent& event, std::vector<std::int32_t>& open, Origin& origin);
    void enter(const HostEvent& event, TimelineNode& node);
    std::int32_t innermost(const std::vector<std::int32_t>& open, const HostEvent& event) const;
    Origin noted_origin(const HostEvent& event) const;

    const DeviceTimeline& timeline_;
    std::unordered_map<std::uint64_t, MarkId> notes_;
    /// By MarkId.
    std::vector<Origin> marks_;
    std::unordered_map<std::int64_t, Range> threads_;
};

}  // namespace iterscope
