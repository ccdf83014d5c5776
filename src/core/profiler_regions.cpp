#include <algorithm>

#include <iterscope/error.hpp>
#include <iterscope/profiler.hpp>

#include "region_name.hpp"

namespace iterscope {

RegionId Profiler::intern(std::string_view name)
{
    if (is_recording()) {
        check_thread("a region was named");
    }
    const auto known = region_ids_.find(name);
    if (known != region_ids_.end()) {
        return known->second;
    }
    const auto id = static_cast<RegionId>(regions_.size());
    const std::string& kept = region_names_.emplace_back(name);
    if (backend_ != nullptr) {
        backend_->add_region(id, kept, columns_);
    }
    regions_.push_back({&kept, region_name_problem(kept)});
    region_ids_.emplace(kept, id);
    return id;
}

void Profiler::check_name(RegionId region)
{
    if (checks_names()) {
        region_seen_ = true;
        require_legal(region);
    }
}

void Profiler::require_legal(RegionId region) const
{
    if (backend_ != nullptr && !regions_[region].problem.empty()) [[unlikely]] {
        throw ConfigError(regions_[region].problem);
    }
}

Region Profiler::region(std::string_view name)
{
    if (is_running()) {
        check_thread("a region was named");
    }
    const RegionId id = intern(name);
    require_legal(id);
    return {*this, id};
}

ScopedRegion Profiler::track_step(std::string_view name)
{
    // In the warm-up other threads are not checked, so they must not touch the names either.
    if (!checks_names() || (!is_recording() && std::this_thread::get_id() != owner())) {
        return {*this, 0};
    }
    const RegionId id = intern(name);
    check_name(id);
    return {*this, id};
}

void Profiler::enter(RegionId region)
{
    if (!is_recording()) {
        return;
    }
    if (std::this_thread::get_id() != owner()) [[unlikely]] {
        check_thread("a region was entered");
    }
    RegionEntry& entry = regions_[region];
    const RegionId parent = frames_.back().region;
    const bool is_outermost = entry.depth == 0;
    if (is_outermost && entry.last_parent != parent) {
        entry.last_parent = parent;
        note_parent(entry, parent);
    }
    frames_.push_back({.region = region, .outermost = is_outermost});
    ++entry.depth;
    Frame& frame = frames_.back();
    try {
        backend_->enter(frame, *(&frame - 1));
    } catch (...) {
        pop();
        throw;
    }
    ++summary_.region_count;
}

void Profiler::leave(RegionId region)
{
    if (!is_recording()) {
        return;
    }
    if (std::this_thread::get_id() != owner()) [[unlikely]] {
        check_thread("a region was left");
    }
    Frame& frame = frames_.back();
    if (frames_.size() == 1 || frame.region != region) [[unlikely]] {
        leave_out_of_order(region);
        return;
    }
    try {
        backend_->leave(frame, *(&frame - 1));
    } catch (...) {
        backend_->discard(frame, *(&frame - 1));
        pop();
        throw;
    }
    pop();
}

void Profiler::note_parent(RegionEntry& entry, RegionId parent)
{
    if (std::ranges::find(entry.parents, parent) == entry.parents.end()) {
        entry.parents.push_back(parent);
    }
}

void Profiler::pop() noexcept
{
    --regions_[frames_.back().region].depth;
    frames_.pop_back();
}

void Profiler::discard_abandoned() noexcept
{
    while (frames_.size() > 1 && frames_.back().abandoned) {
        Frame& frame = frames_.back();
        backend_->discard(frame, *(&frame - 1));
        pop();
    }
}

void Profiler::leave_out_of_order(RegionId region)
{
    const auto is_wanted = [&](const Frame& frame) {
        return frame.region == region && !frame.abandoned;
    };
    const auto open = std::find_if(frames_.rbegin(), frames_.rend() - 1, is_wanted);
    if (open == frames_.rend() - 1) {
        throw UsageError("the region " + quoted(region) +
                         " was left without being open (a stray exit); pair every exit with its "
                         "own enter");
    }
    const bool only_abandoned_above =
        std::all_of(frames_.rbegin(), open, [](const Frame& frame) { return frame.abandoned; });
    if (only_abandoned_above) {
        discard_abandoned();
        leave(region);
        return;
    }
    // The frame stays until those above it are closed; then it is dropped without a number,
    // unless its own exit comes again in order.
    open->abandoned = true;
    throw UsageError("the region " + quoted(region) + " was left while " +
                     quoted(frames_.back().region) +
                     " is open inside it (regions must nest); leave the inner one first. It has "
                     "no time in this iteration unless it is left again in order");
}

void Profiler::leave_scope(RegionId region) noexcept
{
    try {
        leave(region);
    } catch (const std::exception& error) {
        try {
            warn_once(error.what());
        } catch (...) {  // nothing is left to say it with
        }
    }
}

void Profiler::check_thread(const char* call) const
{
    if (std::this_thread::get_id() != owner()) {
        throw UsageError(std::string(call) +
                         " on another thread than start() (a profiler records one thread); use "
                         "one profiler a thread");
    }
}

void Profiler::check_nothing_open(const char* call)
{
    std::string open;
    for (auto frame = frames_.begin() + 1; frame != frames_.end(); ++frame) {
        if (!frame->abandoned) {
            open += (open.empty() ? "" : ", ") + quoted(frame->region);
        }
    }
    if (!open.empty()) {
        throw UsageError(std::string(call) + " while " + open +
                         " is still open (a region belongs to one iteration); leave it first");
    }
    discard_abandoned();
}

std::string Profiler::quoted(RegionId region) const { return "'" + region_name(region) + "'"; }

}  // namespace iterscope
