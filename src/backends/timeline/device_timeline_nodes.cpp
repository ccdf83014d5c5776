#include "device_timeline_nodes.hpp"

#include <algorithm>

namespace iterscope {

namespace {

using Kind = HostEvent::Kind;

std::int64_t end_of(const HostEvent& event)
{
    return event.end_ns < event.start_ns ? std::numeric_limits<std::int64_t>::max() : event.end_ns;
}

}  // namespace

TimelineNodes::TimelineNodes(const DeviceTimeline& timeline)
    : timeline_(timeline), marks_(timeline.marks.size(), Origin{k_no_node, 0})
{
    for (const RecordNote& note : timeline.notes) {
        notes_.emplace(note.record, note.mark);
    }
    std::unordered_map<std::int64_t, std::vector<const HostEvent*>> threads;
    for (const HostEvent& event : timeline.host) {
        threads[event.thread].push_back(&event);
    }
    // The others refer to the regions that the recording thread opened.
    const auto recording = threads.find(timeline.recording_thread);
    if (recording != threads.end()) {
        add_thread(recording->second);
        threads.erase(recording);
    }
    for (const auto& [thread, events] : threads) {
        add_thread(events);
    }
}

void TimelineNodes::add_thread(const std::vector<const HostEvent*>& events)
{
    std::vector<const HostEvent*> sorted = events;
    std::ranges::stable_sort(sorted, [](const HostEvent* a, const HostEvent* b) {
        return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : end_of(*a) > end_of(*b);
    });
    const std::size_t begin = all.size();
    std::vector<std::int32_t> open;
    Origin origin{k_no_node, 0};  // of work outside every node
    for (const HostEvent* event : sorted) {
        while (!open.empty() && end_of(*(*this)[open.back()].event) <= event->start_ns) {
            open.pop_back();
        }
        if (event->kind == Kind::allocation) {
            if (!open.empty() && !(*this)[open.back()].is(Kind::mark)) {
                (*this)[open.back()].memory_bytes += event->bytes;
            } else {
                const PlaceId place = open.empty() ? origin.place : (*this)[open.back()].place;
                loose_allocations.push_back({place, event->bytes});
            }
            continue;
        }
        add_node(*event, open, origin);
    }
    threads_[events.front()->thread] = {begin, all.size()};
}

void TimelineNodes::add_node(const HostEvent& event, std::vector<std::int32_t>& open,
                             Origin& origin)
{
    if (open.empty() && event.thread != timeline_.recording_thread) {
        origin = noted_origin(event);
    }
    if (event.kind == Kind::asynchronous) {
        const bool has_node = !open.empty();
        asynchronous.push_back({&event, has_node ? (*this)[open.back()].place : origin.place,
                                has_node ? root(open.back()) : k_no_node});
        unfinished += event.end_ns < event.start_ns ? 1 : 0;
        return;
    }
    TimelineNode node{&event, origin.place, origin.node, false, event.end_ns >= event.start_ns};
    if (!open.empty()) {
        node.enclosing = innermost(open, event);
        node.place = (*this)[open.back()].place;
        const TimelineNode* outer = &(*this)[open.back()];
        node.under_operator = outer->is(Kind::operation) || outer->under_operator;
    }
    if (event.kind == Kind::mark) {
        enter(event, node);
    } else {
        unfinished += node.has_ended ? 0 : 1;
    }
    open.push_back(static_cast<std::int32_t>(all.size()));
    all.push_back(node);
}

void TimelineNodes::enter(const HostEvent& event, TimelineNode& node)
{
    if (event.mark >= marks_.size()) {
        return;  // of nobody that is known here
    }
    const RegionId region = timeline_.marks[event.mark];
    if (region != k_no_region) {
        node.place = tree.enter(node.place, region, node.under_operator);
        node.under_operator = false;
        if (std::ranges::find(entered, region) == entered.end()) {
            entered.push_back(region);
        }
    }
    marks_[event.mark] = {static_cast<std::int32_t>(all.size()), node.place};
}

std::int32_t TimelineNodes::innermost(const std::vector<std::int32_t>& open,
                                      const HostEvent& event) const
{
    // Labels may close out of order: one that ends first does not contain the event.
    for (auto node = open.rbegin(); node != open.rend(); ++node) {
        const TimelineNode& outer = (*this)[*node];
        if (!outer.is(Kind::annotation) || end_of(*outer.event) >= end_of(event)) {
            return *node;
        }
    }
    return k_no_node;
}

TimelineNodes::Origin TimelineNodes::noted_origin(const HostEvent& event) const
{
    const auto note = notes_.find(event.record);
    const bool is_known = note != notes_.end() && note->second < marks_.size();
    return is_known ? marks_[note->second] : Origin{k_no_node, 0};
}

std::int32_t TimelineNodes::find(std::int64_t thread, std::int64_t time_ns) const
{
    const auto known = threads_.find(thread);
    if (known == threads_.end()) {
        return k_no_node;
    }
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(known->second.begin);
    const auto last = all.begin() + static_cast<std::ptrdiff_t>(known->second.end);
    const auto after = std::upper_bound(
        first, last, time_ns,
        [](std::int64_t time, const TimelineNode& node) { return time < node.event->start_ns; });
    if (after == first) {
        return k_no_node;
    }
    auto node = static_cast<std::int32_t>(after - all.begin()) - 1;
    while (node != k_no_node && (*this)[node].event->thread == thread &&
           end_of(*(*this)[node].event) <= time_ns) {
        node = (*this)[node].enclosing;
    }
    return node;
}

std::int32_t TimelineNodes::root(std::int32_t node) const
{
    std::int32_t outermost = k_no_node;
    while (node != k_no_node && !(*this)[node].is(Kind::mark)) {
        outermost = node;
        node = (*this)[node].enclosing;
    }
    return outermost;
}

}  // namespace iterscope
