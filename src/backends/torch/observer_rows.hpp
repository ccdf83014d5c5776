#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <iterscope/operator_table.hpp>

namespace iterscope {

/// Rows of a table by (region, name). They stay from iteration to iteration, so that one of the
/// same operators as the one before allocates nothing.
class ObserverRows {
public:
    using RowId = std::uint32_t;

    /// The number of a row, to be kept by whoever adds to it often.
    RowId row(RegionId region, const std::string& name)
    {
        const auto [found, is_new] =
            ids_.try_emplace({region, name}, static_cast<RowId>(rows_.size()));
        if (is_new) {
            rows_.push_back({&found->first, {}, 0, false});
            is_ranked_ = false;
            is_new_ = true;
        }
        return found->second;
    }
    std::size_t size() const noexcept { return rows_.size(); }
    void add(RowId id, const OperatorStats& stats)
    {
        Row& row = rows_[id];
        if (!row.is_touched) {
            row.is_touched = true;
            touched_.push_back(id);
        }
        row.stats += stats;
    }
    /// Writes every touched row, ordered by region and name, and forgets its sums. What `rows` held
    /// is overwritten in place.
    void move_to(std::vector<OperatorRow>& rows)
    {
        sort_touched();
        rows.resize(touched_.size());
        auto target = rows.begin();
        for (const RowId id : touched_) {
            Row& row = rows_[id];
            target->region = row.key->first;
            target->name = row.key->second;
            target->stats = row.stats;
            ++target;
            row.stats = {};
            row.is_touched = false;
        }
        touched_.clear();
    }

private:
    using Key = std::pair<RegionId, std::string>;

    struct Row {
        const Key* key;
        OperatorStats stats;
        std::uint32_t rank;
        bool is_touched;
    };

    /// By rank once no new row comes: names are compared in the first iterations only.
    void sort_touched()
    {
        if (!is_ranked_ && !is_new_) {
            std::uint32_t rank = 0;
            for (const auto& [key, id] : ids_) {
                rows_[id].rank = rank++;
            }
            is_ranked_ = true;
        }
        is_new_ = false;
        if (is_ranked_) {
            std::ranges::sort(touched_, {}, [this](RowId id) { return rows_[id].rank; });
        } else {
            std::ranges::sort(touched_,
                              [this](RowId a, RowId b) { return *rows_[a].key < *rows_[b].key; });
        }
    }

    std::map<Key, RowId> ids_;
    std::vector<Row> rows_;
    std::vector<RowId> touched_;
    bool is_ranked_ = false;
    bool is_new_ = false;
};

}  // namespace iterscope
