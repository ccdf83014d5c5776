#include "cycle_collector.hpp"

namespace iterscope {

CycleCollector::CycleCollector(c10::Device device, RecordingWindow window,
                               std::shared_ptr<TraceFile> trace)
    : kineto_(device, true), window_(window), trace_(std::move(trace))
{
}

void CycleCollector::add_region(RegionId /*region*/, const std::string& name)
{
    region_names_.push_back(name);
}

void CycleCollector::begin_iteration(std::int64_t iteration)
{
    if (is_in_cycle_ && iteration == iteration_ + 1) {
        kineto_.next_iteration(iteration);
    } else {
        kineto_.begin_iteration(iteration);
    }
    is_in_cycle_ = true;
    iteration_ = iteration;
}

void CycleCollector::end_iteration(OperatorTable& table)
{
    table.clear();
    if (window_.ends_cycle(iteration_)) {
        end_cycle(table);
    }
}

void CycleCollector::end_cycle(OperatorTable& table)
{
    is_in_cycle_ = false;
    kineto_.end_iteration(table);
    if (const auto result = kineto_.take_result()) {
        trace_->write(*result, region_names_);
    }
}

void CycleCollector::close() noexcept
{
    is_in_cycle_ = false;
    kineto_.close();
}

void CycleCollector::finish(OperatorTable& rest) noexcept
{
    rest.clear();
    if (is_in_cycle_) {
        try {
            end_cycle(rest);
        } catch (const std::exception&) {  // out of memory: the cycles before are on disk
        }
    }
    close();
}

}  // namespace iterscope
