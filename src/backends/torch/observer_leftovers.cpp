#include "observer_leftovers.hpp"

#include <algorithm>
#include <iterator>

namespace iterscope {

namespace {

/// A state that never comes back would keep its leftovers for ever.
constexpr std::size_t k_most = 256;

template <class T>
void drop_oldest(std::vector<T>& items)
{
    if (items.size() > k_most) {
        items.erase(items.begin(), items.end() - k_most);
    }
}

bool is_registered(at::CallbackHandle callback)
{
    return std::ranges::any_of(
        at::get_record_function_tls_().sorted_tls_callbacks_,
        [callback](const auto& registered) { return registered.handle_ == callback; });
}

}  // namespace

DebugEntry DebugEntry::push(c10::DebugInfoKind kind, std::shared_ptr<c10::DebugInfoBase> what)
{
    c10::ThreadLocalDebugInfo::_push(kind, std::move(what));
    return {kind, c10::ThreadLocalDebugInfo::current()};
}

bool DebugEntry::pop() const noexcept
{
    if (c10::ThreadLocalDebugInfo::current() != info) {
        return false;
    }
    c10::ThreadLocalDebugInfo::_pop(kind);
    return true;
}

ObserverLeftovers& ObserverLeftovers::of_this_thread()
{
    static thread_local ObserverLeftovers leftovers;
    return leftovers;
}

void ObserverLeftovers::add(std::vector<DebugEntry> entries)
{
    std::ranges::move(entries, std::back_inserter(entries_));
    drop_oldest(entries_);
}

void ObserverLeftovers::remove_callback(at::CallbackHandle callback) noexcept
{
    if (is_registered(callback)) {
        at::removeCallback(callback);
    } else {
        callbacks_.push_back(callback);
        drop_oldest(callbacks_);
    }
}

void ObserverLeftovers::sweep() noexcept
{
    std::erase_if(callbacks_, [](at::CallbackHandle callback) {
        const bool is_here = is_registered(callback);
        if (is_here) {
            at::removeCallback(callback);
        }
        return is_here;
    });
    const auto pop = [](const DebugEntry& entry) { return entry.pop(); };
    while (std::erase_if(entries_, pop) > 0) {
    }
}

}  // namespace iterscope
