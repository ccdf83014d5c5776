#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <iterscope/operator_table.hpp>

namespace iterscope {

/// Number of one opening of a region in a recorded stretch. 0 is the stretch itself.
using MarkId = std::uint32_t;

inline constexpr MarkId k_no_mark = std::numeric_limits<MarkId>::max();

/// Something that the host did. Names are owned by whoever recorded the events.
struct HostEvent {
    enum class Kind : std::uint8_t {
        operation,
        /// A label of the user's (`record_function`): no caller of operators.
        annotation,
        /// Work that ends on its own, on any thread: a collective of Gloo or NCCL.
        asynchronous,
        /// A region was open.
        mark,
        allocation,
    };

    Kind kind = Kind::operation;
    std::string_view name;
    /// Any number that is a thread's own.
    std::int64_t thread = 0;
    std::int64_t start_ns = 0;
    /// Before `start_ns`: it had not ended when the recording did.
    std::int64_t end_ns = 0;
    /// By which launches name the operator that made them; 0 for none.
    std::uint64_t correlation = 0;
    /// By which a RecordNote names the event; 0 for none.
    std::uint64_t record = 0;
    /// Of a mark.
    MarkId mark = 0;
    /// Of an allocation; negative when memory is freed.
    std::int64_t bytes = 0;
    /// What a backend of torch.distributed calls the collective that this is ("all_reduce"); empty
    /// for anything else.
    std::string_view collective = {};
    /// The collective is carried out by a kernel, whose time is its time.
    bool runs_as_kernel = false;
};

/// The call of the host that put work on a device.
struct DeviceLaunch {
    std::int64_t thread = 0;
    std::int64_t start_ns = 0;
    /// Shared with the work.
    std::uint64_t correlation = 0;
    /// `HostEvent::correlation` of the operator that called; 0 if none did.
    std::uint64_t operator_correlation = 0;
};

/// Something that a device did. Its clock need not agree with the host's.
struct DeviceActivity {
    enum class Kind : std::uint8_t {
        kernel,
        copy,
        fill,
        /// The device-side copy of a region or label: the time of its kernels once more.
        annotation,
    };

    Kind kind = Kind::kernel;
    std::string_view name;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::uint64_t correlation = 0;
    std::uint64_t operator_correlation = 0;
};

/// What was written down beside an event while it happened, because the event does not say it.
struct RecordNote {
    std::uint64_t record = 0;
    /// For which opening of a region another thread worked.
    MarkId mark = 0;
    /// Process group of a collective.
    std::string group = {};
};

/// Everything that happened in one recorded stretch, in any order.
struct DeviceTimeline {
    /// The thread that opened the regions.
    std::int64_t recording_thread = 0;
    /// Region of each mark; k_no_region for the stretch itself and for iterations.
    std::vector<RegionId> marks;
    std::vector<HostEvent> host;
    std::vector<DeviceLaunch> launches;
    std::vector<DeviceActivity> device;
    std::vector<RecordNote> notes;
};

/// What the table cannot hold.
struct TimelineLosses {
    /// Host events that had not ended.
    std::int64_t unfinished = 0;
    /// Device activities of which nothing says who launched them.
    std::int64_t unplaced = 0;
};

/// The operator table of a recorded stretch; `table` is overwritten. A pure function.
///
/// Device work belongs to the innermost operator open on the launching thread when it was
/// launched, however late and on whichever stream it ran; work that no operator launched is listed
/// as `(no operator)`. What other threads did belongs to the region that their notes name.
TimelineLosses fill_table(const DeviceTimeline& timeline, OperatorTable& table);

}  // namespace iterscope
