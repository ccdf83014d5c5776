#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include <c10/core/Device.h>

#include "../timeline/region_tree.hpp"
#include "observer_leftovers.hpp"
#include "observer_rows.hpp"
#include "observer_session.hpp"
#include "operator_collector.hpp"

namespace iterscope {

class ObserverMemory;

/// Aggregates operators in place, in callbacks of at::RecordFunction: no event is stored. For
/// devices whose work is done when an operator returns.
class ObserverCollector final : public OperatorCollector {
public:
    /// Memory is counted on `device`.
    explicit ObserverCollector(c10::Device device);
    ~ObserverCollector() override;
    ObserverCollector(const ObserverCollector&) = delete;
    ObserverCollector& operator=(const ObserverCollector&) = delete;

    void open() override;
    void begin_iteration(std::int64_t iteration) override;
    void enter(RegionId region) override;
    void leave(RegionId region) noexcept override;
    void end_iteration(OperatorTable& table) override;
    void close() noexcept override;
    std::int64_t late_events() const noexcept override { return session_->late(); }

private:
    void push_place(PlaceId place);
    bool pop_place() noexcept;
    void stop() noexcept;
    void wait_for_collectives();
    void add_to_rows(OperatorSums::Entry& entry);
    void forget_names();
    void collect_communication(OperatorTable& table);

    c10::Device device_;
    std::shared_ptr<ObserverSession> session_;
    OperatorSums sums_;
    RegionTree tree_;
    ObserverRows direct_rows_;
    ObserverRows full_rows_;
    std::int64_t iteration_ = 0;
    std::chrono::microseconds patience_{20'000};

    bool is_on_ = false;
    bool is_partial_ = false;
    std::uint64_t callback_ = 0;
    std::shared_ptr<ObserverMemory> memory_;
    /// What stands on the thread's stack of debug information: memory_, then one for each place.
    std::vector<DebugEntry> entries_;
    /// The iteration and the open regions, outermost first.
    std::vector<PlaceId> places_;
    /// Regions entered in this iteration, each once.
    std::vector<RegionId> entered_;
};

}  // namespace iterscope
