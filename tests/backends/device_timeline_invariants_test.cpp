#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "support/timeline_builder.hpp"

namespace iterscope {
namespace {

using test::TimelineBuilder;

/// Operators, labels and regions nested at random on the recording thread, workers for some of the
/// regions, and device work launched everywhere, by the innermost operator or by none.
class RandomTimeline {
public:
    explicit RandomTimeline(unsigned seed) : random_(seed) { nest(10, 900'000, 0, 0); }

    void expect_invariants() const
    {
        const auto out = built_.fill();
        std::int64_t inside = 0;
        for (const auto& [region, launched] : launched_) {
            EXPECT_EQ(out.direct_device_ns(region), launched) << "region " << region;
            EXPECT_LE(out.region(region).device_ns, launched);
            EXPECT_GT(out.region(region).device_ns, 0);
        }
        for (const std::int64_t duration : launched_inside_) {
            inside += duration;
        }
        EXPECT_EQ(out.self_device_ns(), inside);
        EXPECT_EQ(out.losses.unplaced, 0);
    }

private:
    std::int64_t pick(std::int64_t low, std::int64_t high)
    {
        return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
    }

    void launch(std::int64_t time, std::uint64_t caller, std::int64_t thread)
    {
        const std::int64_t start = pick(0, 2'000'000);
        const std::int64_t duration = pick(1, 5000);
        built_.work(time, pick(0, 3) == 0 ? 0 : caller, start, start + duration, "kernel",
                    DeviceActivity::Kind::kernel, thread);
        for (const RegionId region : regions_) {
            launched_[region] += duration;
        }
        if (!regions_.empty()) {
            launched_inside_.push_back(duration);
        }
    }

    /// Fills [start, end] with up to four things.
    void nest(std::int64_t start, std::int64_t end, std::uint64_t caller, int depth)
    {
        const std::int64_t slots = pick(1, 4);
        const std::int64_t width = (end - start) / slots;
        for (std::int64_t slot = 0; slot < slots && width > 100 && depth < 7; ++slot) {
            const std::int64_t from = start + slot * width + 10;
            const std::int64_t to = from + width - 20;
            launch(from - 5, caller, TimelineBuilder::k_recording);
            switch (pick(0, 3)) {
                case 0: {
                    const auto region = static_cast<RegionId>(pick(0, 3));
                    const MarkId mark = built_.mark(region, from, to);
                    const bool is_new = regions_.insert(region).second;
                    if (pick(0, 1) == 0) {
                        const std::int64_t thread = 100 + pick(0, 1'000'000'000);
                        const auto op = built_.worker_op("worker", from + 1, to, mark, thread);
                        launch(from + 2, op, thread);
                    }
                    nest(from, to, caller, depth + 1);
                    if (is_new) {
                        regions_.erase(region);
                    }
                    break;
                }
                case 1:
                    built_.label("label", from, to);
                    nest(from, to, caller, depth + 1);
                    break;
                default:
                    nest(from, to, built_.op(pick(0, 1) == 0 ? "op" : "other", from, to),
                         depth + 1);
            }
        }
    }

    std::mt19937 random_;
    TimelineBuilder built_;
    std::set<RegionId> regions_;
    std::map<RegionId, std::int64_t> launched_;
    std::vector<std::int64_t> launched_inside_;
};

TEST(DeviceTimeline, DirectRowsSumUpToWhatARegionLaunchedHoweverItIsNested)
{
    for (unsigned seed = 0; seed < 300; ++seed) {
        SCOPED_TRACE(seed);
        RandomTimeline(seed).expect_invariants();
        if (HasFailure()) {
            break;
        }
    }
}

}  // namespace
}  // namespace iterscope
