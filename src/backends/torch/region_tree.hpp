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
    /// `called_only` just for those that an operator at `place` is called by directly.
    template <class Visit>
    void for_each_region(PlaceId place, bool called_only, Visit visit) const
    {
        std::vector<RegionId> seen;
        for (; place != 0; place = places_[place].parent) {
            const RegionId region = places_[place].region;
            if (std::ranges::find(seen, region) == seen.end()) {
                seen.push_back(region);
                visit(region);
            }
            if (called_only && places_[place].through_operator) {
                return;
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

    std::vector<Place> places_;
};

}  // namespace iterscope
