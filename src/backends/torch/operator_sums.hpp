#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <iterscope/operator_table.hpp>
#include "../timeline/region_tree.hpp"

namespace iterscope {

/// Sums of operators by (place, name), for one thread. Memory is bounded by the number of
/// different operators: entries stay from iteration to iteration, only touched ones are read.
class OperatorSums {
public:
    struct Entry {
        PlaceId place;
        std::string name;
        OperatorStats full;
        OperatorStats direct;
        /// Where the two sums go, found by the first who drains; empty before.
        std::vector<std::uint32_t> rows = {};
        bool is_touched = false;
    };

    OperatorSums() : cache_(k_cache_size) {}

    /// The entry, and note that it has something to tell. `name` is compared by content: PyTorch
    /// reuses the addresses of names that come from strings.
    Entry& touch(PlaceId place, const char* name)
    {
        const auto bits = reinterpret_cast<std::uintptr_t>(name);
        const std::size_t slot =
            ((bits * 0x9E3779B97F4A7C15ULL) ^ (place * 0xD1B54A32D192ED03ULL)) >> 54U;
        Cached& cached = cache_[slot];
        if (cached.key != name || cached.entry->place != place || cached.entry->name != name) {
            cached = {name, &find(place, name)};
        }
        Entry& entry = *cached.entry;
        if (!entry.is_touched) {
            entry.is_touched = true;
            touched_.push_back(&entry);
        }
        return entry;
    }

    /// Hands every touched entry to `take` and forgets its sums. `take` may keep numbers in the
    /// entry's `rows`, if it is always the same one that drains.
    template <class Take>
    void drain(Take take)
    {
        for (Entry* entry : touched_) {
            take(*entry);
            entry->full = {};
            entry->direct = {};
            entry->is_touched = false;
        }
        touched_.clear();
    }

private:
    static constexpr std::size_t k_cache_size = 1U << 10U;

    struct Cached {
        const char* key = nullptr;
        Entry* entry = nullptr;
    };

    Entry& find(PlaceId place, std::string_view name)
    {
        if (places_.size() <= place) {
            places_.resize(place + 1);
        }
        auto& names = places_[place];
        const auto known = names.find(name);
        if (known != names.end()) {
            return *known->second;
        }
        auto made = std::make_unique<Entry>(Entry{place, std::string(name), {}, {}});
        const std::string_view key = made->name;
        return *names.emplace(key, std::move(made)).first->second;
    }

    std::vector<Cached> cache_;
    std::vector<std::unordered_map<std::string_view, std::unique_ptr<Entry>>> places_;
    std::vector<Entry*> touched_;
};

}  // namespace iterscope
