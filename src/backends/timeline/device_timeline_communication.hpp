#pragma once

#include <vector>

#include "device_timeline.hpp"
#include "device_timeline_nodes.hpp"
#include "intervals.hpp"

namespace iterscope {

/// The collectives of a timeline. One that a kernel of NCCL carries out takes that kernel's time;
/// any other takes the time of the asynchronous event that its backend emits.
class TimelineCommunication {
public:
    TimelineCommunication(const DeviceTimeline& timeline, const TimelineNodes& nodes);

    /// Looks at a device activity launched by `launch` in `node` (k_no_node for nowhere).
    void add(const DeviceActivity& activity, const DeviceLaunch& launch, std::int32_t node,
             const TimelineNodes& nodes);
    /// Fills in the regions' communication and the list of collectives.
    void fill(OperatorTable& table, const TimelineNodes& nodes);

private:
    struct Issued {
        Collective collective;
        PlaceId place;
        std::int64_t thread;
        std::int64_t start_ns;
        std::int32_t root;
        bool runs_as_kernel;
        std::vector<Interval> intervals;
    };

    Issued* find(const DeviceLaunch& launch, std::int32_t root);

    std::vector<Issued> issued_;
};

}  // namespace iterscope
