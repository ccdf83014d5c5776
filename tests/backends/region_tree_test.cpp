#include "backends/timeline/region_tree.hpp"

#include <gtest/gtest.h>

namespace iterscope {
namespace {

using Regions = std::vector<RegionId>;

Regions around(const RegionTree& tree, PlaceId place, bool called_only)
{
    Regions regions;
    tree.for_each_region(place, called_only, [&](RegionId region) { regions.push_back(region); });
    return regions;
}

TEST(RegionTree, TheIterationIsOutsideEveryRegion)
{
    const RegionTree tree;
    EXPECT_EQ(tree.region(0), k_no_region);
    EXPECT_EQ(around(tree, 0, false), Regions{});
}

TEST(RegionTree, TheSameNestingIsTheSamePlace)
{
    RegionTree tree;
    const PlaceId outer = tree.enter(0, 7, false);
    const PlaceId inner = tree.enter(outer, 8, false);
    EXPECT_EQ(tree.enter(0, 7, false), outer);
    EXPECT_EQ(tree.enter(outer, 8, false), inner);
    EXPECT_NE(tree.enter(0, 8, false), inner);
    EXPECT_EQ(tree.region(inner), 8U);
    EXPECT_EQ(tree.parent(inner), outer);
    EXPECT_EQ(tree.parent(outer), 0U);
}

TEST(RegionTree, PlacesStayAfterManyMore)
{
    RegionTree tree;
    const PlaceId first = tree.enter(0, 0, false);
    for (RegionId region = 1; region < 1000; ++region) {
        tree.enter(first, region, false);
    }
    EXPECT_EQ(tree.enter(0, 0, false), first);
    EXPECT_EQ(tree.region(tree.enter(first, 500, false)), 500U);
}

TEST(RegionTree, VisitsInnermostFirst)
{
    RegionTree tree;
    const PlaceId a = tree.enter(0, 1, false);
    const PlaceId b = tree.enter(a, 2, false);
    const PlaceId c = tree.enter(b, 3, false);
    EXPECT_EQ(around(tree, c, false), (Regions{3, 2, 1}));
    EXPECT_EQ(around(tree, c, true), (Regions{3, 2, 1}));
    EXPECT_EQ(around(tree, a, true), (Regions{1}));
}

TEST(RegionTree, RecursionIsVisitedOnce)
{
    RegionTree tree;
    const PlaceId a = tree.enter(0, 1, false);
    const PlaceId b = tree.enter(a, 2, false);
    const PlaceId again = tree.enter(b, 1, false);
    EXPECT_NE(again, a);
    EXPECT_EQ(around(tree, again, false), (Regions{1, 2}));
    EXPECT_EQ(around(tree, tree.enter(a, 1, false), true), (Regions{1}));
}

TEST(RegionTree, AnOperatorInBetweenHidesTheRegionsAround)
{
    RegionTree tree;
    const PlaceId a = tree.enter(0, 1, false);
    const PlaceId inside_operator = tree.enter(a, 2, true);
    const PlaceId deeper = tree.enter(inside_operator, 3, false);
    EXPECT_NE(tree.enter(a, 2, false), inside_operator);
    EXPECT_EQ(around(tree, deeper, true), (Regions{3, 2}));
    EXPECT_EQ(around(tree, deeper, false), (Regions{3, 2, 1}));
}

}  // namespace
}  // namespace iterscope
