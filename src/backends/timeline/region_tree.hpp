#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <iterscope/operator_table.hpp>

namespace iterscope {

/// Number of a place in the nesting of regions. 0 is the iteration itself, outside every region.
using PlaceId = std::uint32_t;

/// The ways in which regions were nested, each kept once, however often it is entered.
class RegionTree {
public:
    RegionTree() : places_{{k_no_region, 0, false}} {}

    /// The place of `region` inside `parent`. `through_operator`: an operator runs between the two,
    /// so that what the region calls is not called by the regions around it.
    PlaceId enter(PlaceId parent, RegionId region, bool through_operator)
    {
        for (const PlaceId child : places_[parent].children) {
            const Place& place = places_[child];
            if (place.region == region && place.through_operator == through_operator) {
                return child;
            }
        }
        const auto made = static_cast<PlaceId>(places_.size());
        places_.push_back({region, parent, through_operator});
        places_[parent].children.push_back(made);
        return made;
    }

    RegionId region(PlaceId place) const { return places_[place].region; }
    PlaceId parent(PlaceId place) const { return places_[place].parent; }

    /// Calls `visit(region)` for each different region around `place`, innermost first; with
    /// `called_only` just for those that an operator at `place` is called by directly. A region
    /// that is open once more outside the operator that stands between has that operator already.
    template <class Visit>
    void for_each_region(PlaceId place, bool called_only, Visit visit) const
    {
        const PlaceId outside = called_only ? behind_operator(place) : 0;
        std::vector<RegionId> seen;
        for (; place != outside; place = places_[place].parent) {
            const RegionId region = places_[place].region;
            if (std::ranges::find(seen, region) == seen.end() && !is_open(region, outside)) {
                seen.push_back(region);
                visit(region);
            }
        }
    }

private:
    struct Place {
        RegionId region;
        PlaceId parent;
        bool through_operator;
        std::vector<PlaceId> children = {};
    };

    /// The first place around `place` with an operator between; 0 if there is none.
    PlaceId behind_operator(PlaceId place) const
    {
        while (place != 0 && !places_[place].through_operator) {
            place = places_[place].parent;
        }
        return place == 0 ? 0 : places_[place].parent;
    }
    bool is_open(RegionId region, PlaceId place) const
    {
        while (place != 0 && places_[place].region != region) {
            place = places_[place].parent;
        }
        return place != 0;
    }

    std::vector<Place> places_;
};

}  // namespace iterscope
