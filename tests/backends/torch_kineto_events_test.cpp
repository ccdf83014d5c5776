#include <gtest/gtest.h>

#include <torch/csrc/profiler/collection.h>

#include "backends/torch/kineto_events.hpp"

namespace iterscope {
namespace {

namespace kineto = ::torch::profiler::impl;
using kineto::EventType;
using kineto::ExtraFields;
using libkineto::ActivityType;
using Event = std::shared_ptr<kineto::Result>;

constexpr std::int32_t k_thread = 77;

/// Events as PyTorch makes them where there is a device.
Event operation(const char* name, std::int64_t start, std::int64_t end, std::uint64_t correlation,
                at::RecordScope scope = at::RecordScope::FUNCTION, bool is_asynchronous = false,
                std::int64_t debug_handle = -1)
{
    kineto::TorchOpBasicFields fields;
    fields.scope_ = scope;
    fields.is_async_ = is_asynchronous;
    fields.record_function_id_ = 1000 + correlation;
    fields.debug_handle_ = debug_handle;
    fields.name_ = name;
    fields.end_tid_ = 1;
    return kineto::Result::create(
        start, std::uint64_t{1}, kineto::kineto::DeviceAndResource{1, k_thread},
        ExtraFields<EventType::TorchOp>(std::move(fields), correlation, end, {}, {}, {}, {}, {}, {},
                                        {}, {}, false, nullptr));
}

Event activity(const char* name, ActivityType type, std::int64_t start, std::int64_t duration,
               std::uint64_t correlation, const Event& caller, std::int32_t resource)
{
    ExtraFields<EventType::Kineto> fields;
    fields.name_ = name;
    fields.duration_ns_ = duration;
    fields.correlation_id_ = correlation;
    fields.activity_type_ = type;
    fields.linked_activity_ = caller;
    return kineto::Result::create(
        start, std::uint64_t{1}, kineto::kineto::DeviceAndResource{0, resource}, std::move(fields));
}

Event allocation(std::int64_t time, std::int64_t bytes, c10::DeviceType type,
                 c10::DeviceIndex index)
{
    kineto::RawAllocation raw{};
    raw.alloc_size_ = bytes;
    raw.device_type_ = type;
    raw.device_index_ = index;
    return kineto::Result::create(time, std::uint64_t{1},
                                  kineto::kineto::DeviceAndResource{1, k_thread},
                                  ExtraFields<EventType::Allocation>(raw));
}

::torch::autograd::profiler::ProfilerResult result(std::vector<Event> events)
{
    return {0, {}, nullptr, std::move(events)};
}

Event mark(MarkId number, std::int64_t start, std::int64_t end)
{
    static const std::string name = mark_prefix() + "r0";
    return operation(name.c_str(), start, end, 500 + number, at::RecordScope::USER_SCOPE, false,
                     k_first_mark_handle + number);
}

TEST(KinetoEvents, DeviceWorkComesWithItsLaunchAndItsOperator)
{
    const Event conv = operation("aten::conv2d", 20, 60, 5);
    const Event launch =
        activity("cudaLaunchKernel", ActivityType::CUDA_RUNTIME, 30, 5, 900, conv, k_thread);
    const Event kernel = activity("gemm", ActivityType::CONCURRENT_KERNEL, 2000, 40, 900, conv, 7);
    launch->children_.push_back(kernel);
    conv->children_ = {launch, allocation(32, 512, c10::kCUDA, 1),
                       allocation(33, 256, c10::kCUDA, 0), allocation(34, 128, c10::kCPU, -1)};
    const Event region = mark(1, 10, 100);
    region->children_ = {
        conv,
        activity("Memset", ActivityType::GPU_MEMSET, 2040, 1, 901, nullptr, 7),
        activity("Memcpy", ActivityType::GPU_MEMCPY, 2041, 2, 902, nullptr, 7),
        activity("cudaMemsetAsync", ActivityType::CUDA_RUNTIME, 70, 1, 901, nullptr, k_thread),
        activity("cuMemcpy", ActivityType::CUDA_DRIVER, 72, 1, 902, nullptr, k_thread),
        activity("cudaDeviceSynchronize", ActivityType::CUDA_RUNTIME, 90, 5, 903, nullptr,
                 k_thread),
        activity("region", ActivityType::GPU_USER_ANNOTATION, 2000, 43, 0, region, 7),
        activity("Activity Buffer Request", ActivityType::OVERHEAD, 2000, 50, 0, nullptr, 0)};
    const Event whole = mark(0, 0, 200);
    whole->children_ = {region};

    const auto events = result({whole});
    DeviceTimeline timeline = read_events(events, c10::Device(c10::kCUDA, 1));
    EXPECT_EQ(timeline.recording_thread, k_thread);
    EXPECT_EQ(count_marks(timeline), 2U);
    EXPECT_EQ(timeline.launches.size(), 4U);
    EXPECT_EQ(timeline.device.size(), 4U);
    timeline.marks = {k_no_region, 0};

    OperatorTable table;
    const TimelineLosses losses = fill_table(timeline, table);
    EXPECT_EQ(losses.unplaced, 0);
    ASSERT_EQ(table.direct.size(), 2U);
    EXPECT_EQ(table.direct[0].name, "(no operator)");
    EXPECT_EQ(table.direct[0].stats.device_ns, 3);
    EXPECT_EQ(table.direct[1].name, "aten::conv2d");
    EXPECT_EQ(table.direct[1].stats.device_ns, 40);
    EXPECT_EQ(table.direct[1].stats.memory_bytes, 512);
    EXPECT_EQ(table.regions.at(0).device_ns, 43);
}

TEST(KinetoEvents, CollectivesAreKnownByWhoEmitsThem)
{
    using Scope = at::RecordScope;
    const auto events = result({
        mark(0, 0, 1000),
        operation("nccl:all_reduce", 10, 20, 1, Scope::USER_SCOPE, true),
        operation("gloo:broadcast", 11, 21, 2, Scope::USER_SCOPE, true),
        operation("nccl:all_reduce", 30, 40, 3, Scope::USER_SCOPE),  // a label of the user's
        operation("nccl:all_reduce", 50, 60, 4),
        operation("anything", 70, 80, 5, Scope::USER_SCOPE, true),
    });
    const DeviceTimeline timeline = read_events(events, c10::kCPU);
    ASSERT_EQ(timeline.host.size(), 6U);
    EXPECT_EQ(timeline.host[1].collective, "all_reduce");
    EXPECT_TRUE(timeline.host[1].runs_as_kernel);
    EXPECT_EQ(timeline.host[1].record, 1001U);
    EXPECT_EQ(timeline.host[2].collective, "broadcast");
    EXPECT_FALSE(timeline.host[2].runs_as_kernel);
    for (const std::size_t i : {3U, 4U, 5U}) {
        EXPECT_EQ(timeline.host[i].collective, "");
    }
    EXPECT_EQ(timeline.host[3].kind, HostEvent::Kind::annotation);
    EXPECT_EQ(timeline.host[4].kind, HostEvent::Kind::operation);
    EXPECT_EQ(timeline.host[5].kind, HostEvent::Kind::asynchronous);
}

TEST(KinetoEvents, OnlyOurLabelsAreRegions)
{
    const std::string name = mark_prefix() + "r0";
    const auto events = result({
        operation(name.c_str(), 10, 20, 1, at::RecordScope::USER_SCOPE),
        operation("mine", 30, 40, 2, at::RecordScope::USER_SCOPE, false, k_first_mark_handle),
        operation(name.c_str(), 50, 60, 3, at::RecordScope::FUNCTION, false, k_first_mark_handle),
    });
    EXPECT_EQ(count_marks(read_events(events, c10::kCPU)), 0U);
}

}  // namespace
}  // namespace iterscope
