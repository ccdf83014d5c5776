#include "kineto_events.hpp"

#include <ATen/record_function.h>
#include <torch/csrc/profiler/collection.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "communication.hpp"

namespace iterscope {

namespace {

namespace kineto = ::torch::profiler::impl;
using kineto::EventType;
using kineto::ExtraFields;
using libkineto::ActivityType;

std::uint64_t correlation_of(const std::shared_ptr<kineto::Result>& event)
{
    const auto* operation =
        event == nullptr ? nullptr
                         : std::get_if<ExtraFields<EventType::TorchOp>>(&event->extra_fields_);
    return operation == nullptr ? 0 : operation->correlation_id_;
}

class EventReader {
public:
    EventReader(c10::Device device, DeviceTimeline& timeline) : device_(device), timeline_(timeline)
    {
    }

    void read(const kineto::Result& event)
    {
        if (const auto* operation =
                std::get_if<ExtraFields<EventType::TorchOp>>(&event.extra_fields_)) {
            add_operation(event, *operation);
        } else if (const auto* allocation =
                       std::get_if<ExtraFields<EventType::Allocation>>(&event.extra_fields_)) {
            add_allocation(event, *allocation);
        } else if (const auto* activity =
                       std::get_if<ExtraFields<EventType::Kineto>>(&event.extra_fields_)) {
            add_activity(event, *activity);
        }
        for (const std::shared_ptr<kineto::Result>& child : event.children_) {
            read(*child);
        }
    }

private:
    void add_operation(const kineto::Result& event,
                       const ExtraFields<EventType::TorchOp>& operation);
    void add_allocation(const kineto::Result& event,
                        const ExtraFields<EventType::Allocation>& allocation);
    void add_activity(const kineto::Result& event, const ExtraFields<EventType::Kineto>& activity);

    c10::Device device_;
    DeviceTimeline& timeline_;
};

void EventReader::add_operation(const kineto::Result& event,
                                const ExtraFields<EventType::TorchOp>& operation)
{
    HostEvent host;
    host.name = operation.name_;
    // The system's number: PyTorch's own is not known to the calls of the CUDA runtime.
    host.thread = event.kineto_info_.resource;
    host.start_ns = event.start_time_ns_;
    host.end_ns = operation.end_time_ns_;
    host.correlation = operation.correlation_id_;
    host.record = operation.record_function_id_;
    if (operation.scope_ == at::RecordScope::USER_SCOPE) {
        const bool is_mark =
            operation.debug_handle_ >= k_first_mark_handle && host.name.starts_with(mark_prefix());
        if (is_mark) {
            host.kind = HostEvent::Kind::mark;
            host.mark = static_cast<MarkId>(operation.debug_handle_ - k_first_mark_handle);
            if (host.mark == 0) {
                timeline_.recording_thread = host.thread;
            }
        } else if (operation.is_async_) {
            host.kind = HostEvent::Kind::asynchronous;
            if (const auto name = collective_name(operation.name_)) {
                host.collective = host.name.substr(host.name.size() - name->size());
                host.runs_as_kernel = host.name.starts_with("nccl:");
            }
        } else {
            host.kind = HostEvent::Kind::annotation;
            const bool has_ended = host.end_ns >= host.start_ns;
            if (has_ended && operation.end_tid_ != event.start_tid_) {
                return;  // closed by another thread: it encloses nothing
            }
        }
    }
    timeline_.host.push_back(host);
}

void EventReader::add_allocation(const kineto::Result& event,
                                 const ExtraFields<EventType::Allocation>& allocation)
{
    const bool is_ours = allocation.device_type_ == device_.type() &&
                         (!device_.has_index() || allocation.device_index_ == device_.index());
    if (!is_ours) {
        return;
    }
    HostEvent host;
    host.kind = HostEvent::Kind::allocation;
    host.thread = event.kineto_info_.resource;
    host.start_ns = event.start_time_ns_;
    host.end_ns = event.start_time_ns_;
    host.bytes = allocation.alloc_size_;
    timeline_.host.push_back(host);
}

void EventReader::add_activity(const kineto::Result& event,
                               const ExtraFields<EventType::Kineto>& activity)
{
    const std::uint64_t caller = correlation_of(activity.linked_activity_.lock());
    const std::int64_t start = event.start_time_ns_;
    const auto add_work = [&](DeviceActivity::Kind kind) {
        timeline_.device.push_back({kind, activity.name_, start, start + activity.duration_ns_,
                                    activity.correlation_id_, caller});
    };
    switch (activity.activity_type_) {
        case ActivityType::CONCURRENT_KERNEL:
            add_work(DeviceActivity::Kind::kernel);
            break;
        case ActivityType::GPU_MEMCPY:
            add_work(DeviceActivity::Kind::copy);
            break;
        case ActivityType::GPU_MEMSET:
            add_work(DeviceActivity::Kind::fill);
            break;
        case ActivityType::GPU_USER_ANNOTATION:
            add_work(DeviceActivity::Kind::annotation);
            break;
        case ActivityType::CUDA_RUNTIME:
        case ActivityType::CUDA_DRIVER:
        case ActivityType::XPU_RUNTIME:
        case ActivityType::XPU_DRIVER:
        case ActivityType::PRIVATEUSE1_RUNTIME:
        case ActivityType::PRIVATEUSE1_DRIVER:
            timeline_.launches.push_back(
                {event.kineto_info_.resource, start, activity.correlation_id_, caller});
            break;
        default:
            break;
    }
}

}  // namespace

const std::string& mark_prefix()
{
    static const std::string prefix = [] {
        std::random_device entropy;
        char text[40];
        std::snprintf(text, sizeof text, "iterscope-%08x%08x-", entropy(), entropy());
        return std::string(text);
    }();
    return prefix;
}

DeviceTimeline read_events(const ::torch::autograd::profiler::ProfilerResult& result,
                           c10::Device device)
{
    DeviceTimeline timeline;
    timeline.recording_thread = -1;
    EventReader reader(device, timeline);
    for (const std::shared_ptr<kineto::Result>& event : result.event_tree()) {
        reader.read(*event);
    }
    return timeline;
}

std::size_t count_marks(const DeviceTimeline& timeline)
{
    return static_cast<std::size_t>(
        std::ranges::count(timeline.host, HostEvent::Kind::mark, &HostEvent::kind));
}

}  // namespace iterscope
