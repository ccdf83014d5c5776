#pragma once

#include <algorithm>
#include <string_view>

#include "backends/timeline/device_timeline.hpp"

namespace iterscope::test {

/// Makes timelines by hand. Thread 1 opens the regions; times are plain numbers of nanoseconds.
struct TimelineBuilder {
    static constexpr std::int64_t k_recording = 1;
    static constexpr std::int64_t k_worker = 2;

    DeviceTimeline timeline;
    std::uint64_t next = 1;

    TimelineBuilder()
    {
        timeline.recording_thread = k_recording;
        mark(k_no_region, 0, 1'000'000);
    }

    MarkId mark(RegionId region, std::int64_t start, std::int64_t end)
    {
        const auto id = static_cast<MarkId>(timeline.marks.size());
        timeline.marks.push_back(region);
        HostEvent& event = add(HostEvent::Kind::mark, "mark", start, end, k_recording);
        event.mark = id;
        return id;
    }
    /// The number by which launches name the operator.
    std::uint64_t op(std::string_view name, std::int64_t start, std::int64_t end,
                     std::int64_t thread = k_recording)
    {
        HostEvent& event = add(HostEvent::Kind::operation, name, start, end, thread);
        event.correlation = next++;
        return event.correlation;
    }
    /// An operator of another thread that works for an opened region.
    std::uint64_t worker_op(std::string_view name, std::int64_t start, std::int64_t end,
                            MarkId mark, std::int64_t thread = k_worker)
    {
        const std::uint64_t correlation = op(name, start, end, thread);
        note(mark);
        return correlation;
    }
    void label(std::string_view name, std::int64_t start, std::int64_t end)
    {
        add(HostEvent::Kind::annotation, name, start, end, k_recording);
    }
    void collective(std::string_view title, std::string_view name, std::int64_t start,
                    std::int64_t end, bool runs_as_kernel, std::int64_t thread = k_recording)
    {
        HostEvent& event = add(HostEvent::Kind::asynchronous, title, start, end, thread);
        event.collective = name;
        event.runs_as_kernel = runs_as_kernel;
    }
    /// Ties the event that was added last to an opened region and a process group.
    void note(MarkId mark, std::string_view group = "")
    {
        timeline.host.back().record = next;
        timeline.notes.push_back({next++, mark, std::string(group)});
    }
    void memory(std::int64_t bytes, std::int64_t time, std::int64_t thread = k_recording)
    {
        add(HostEvent::Kind::allocation, "[memory]", time, time, thread).bytes = bytes;
    }
    /// Work of the device from `start` to `end`, launched at `launched` by the operator of that
    /// number (0: by none).
    void work(std::int64_t launched, std::uint64_t caller, std::int64_t start, std::int64_t end,
              std::string_view name = "kernel",
              DeviceActivity::Kind kind = DeviceActivity::Kind::kernel,
              std::int64_t thread = k_recording)
    {
        timeline.launches.push_back({thread, launched, next, caller});
        timeline.device.push_back({kind, name, start, end, next++, caller});
    }

    struct Outcome {
        OperatorTable table;
        TimelineLosses losses;

        OperatorStats direct(RegionId region, std::string_view name) const
        {
            return find(table.direct, region, name);
        }
        OperatorStats full(RegionId region, std::string_view name) const
        {
            return find(table.full, region, name);
        }
        std::int64_t direct_device_ns(RegionId region) const
        {
            std::int64_t sum = 0;
            for (const OperatorRow& row : table.direct) {
                sum += row.region == region ? row.stats.device_ns : 0;
            }
            return sum;
        }
        std::int64_t self_device_ns() const
        {
            std::int64_t sum = 0;
            for (const OperatorRow& row : table.full) {
                sum += row.stats.self_device_ns;
            }
            return sum;
        }
        RegionActivity region(RegionId region) const
        {
            return *std::ranges::find(table.regions, region, &RegionActivity::region);
        }

    private:
        static OperatorStats find(const std::vector<OperatorRow>& rows, RegionId region,
                                  std::string_view name)
        {
            for (const OperatorRow& row : rows) {
                if (row.region == region && row.name == name) {
                    return row.stats;
                }
            }
            return {};
        }
    };

    Outcome fill() const
    {
        Outcome outcome;
        outcome.losses = fill_table(timeline, outcome.table);
        return outcome;
    }

private:
    HostEvent& add(HostEvent::Kind kind, std::string_view name, std::int64_t start,
                   std::int64_t end, std::int64_t thread)
    {
        HostEvent event;
        event.kind = kind;
        event.name = name;
        event.thread = thread;
        event.start_ns = start;
        event.end_ns = end;
        timeline.host.push_back(event);
        return timeline.host.back();
    }
};

}  // namespace iterscope::test
