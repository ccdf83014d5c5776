#include "backends/torch/operator_sums.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

namespace iterscope {
namespace {

using Counts = std::map<std::pair<PlaceId, std::string>, std::int64_t>;

Counts drain(OperatorSums& sums)
{
    Counts counts;
    sums.drain([&](const OperatorSums::Entry& entry) {
        counts[{entry.place, entry.name}] += entry.full.count;
    });
    return counts;
}

void count(OperatorSums& sums, PlaceId place, const char* name, std::int64_t times = 1)
{
    sums.touch(place, name).full.count += times;
}

TEST(OperatorSums, AddsByPlaceAndName)
{
    OperatorSums sums;
    count(sums, 1, "a");
    count(sums, 2, "a", 10);
    count(sums, 1, "b", 100);
    count(sums, 1, "a", 1000);
    EXPECT_EQ(drain(sums), (Counts{{{1, "a"}, 1001}, {{2, "a"}, 10}, {{1, "b"}, 100}}));
}

TEST(OperatorSums, EachEntryIsHandedOutOnceWithBothSums)
{
    OperatorSums sums;
    for (int i = 0; i < 3; ++i) {
        OperatorSums::Entry& entry = sums.touch(4, "a");
        entry.full += {.count = 1, .cpu_ns = 10, .self_cpu_ns = 7, .memory_bytes = -5};
        entry.direct += {.count = 1, .cpu_ns = 10};
    }
    int visits = 0;
    sums.drain([&](const OperatorSums::Entry& entry) {
        ++visits;
        EXPECT_EQ(
            entry.full,
            (OperatorStats{.count = 3, .cpu_ns = 30, .self_cpu_ns = 21, .memory_bytes = -15}));
        EXPECT_EQ(entry.direct, (OperatorStats{.count = 3, .cpu_ns = 30}));
    });
    EXPECT_EQ(visits, 1);
}

TEST(OperatorSums, WhatWasDrainedIsForgotten)
{
    OperatorSums sums;
    count(sums, 1, "a", 5);
    count(sums, 1, "b", 6);
    drain(sums);
    EXPECT_EQ(drain(sums), Counts{});
    count(sums, 1, "b");
    EXPECT_EQ(drain(sums), (Counts{{{1, "b"}, 1}}));
}

TEST(OperatorSums, ComparesNamesByContent)
{
    OperatorSums sums;
    std::array<char, 16> buffer{};
    for (int i = 0; i < 100; ++i) {
        std::snprintf(buffer.data(), buffer.size(), "op %d", i % 10);
        count(sums, 1, buffer.data());
    }
    const std::string elsewhere = "op 3";
    count(sums, 1, elsewhere.c_str());
    const Counts counts = drain(sums);
    ASSERT_EQ(counts.size(), 10U);
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(counts.at({1, "op " + std::to_string(i)}), i == 3 ? 11 : 10) << i;
    }
}

TEST(OperatorSums, APrefixIsAnotherName)
{
    OperatorSums sums;
    std::array<char, 16> buffer{'a', 'b', 'c', '\0'};
    count(sums, 1, buffer.data());
    buffer[2] = '\0';
    count(sums, 1, buffer.data(), 10);
    buffer[2] = 'c';
    count(sums, 1, buffer.data(), 100);
    EXPECT_EQ(drain(sums), (Counts{{{1, "abc"}, 101}, {{1, "ab"}, 10}}));
}

TEST(OperatorSums, MoreNamesThanTheCacheHolds)
{
    OperatorSums sums;
    std::vector<std::string> names;
    for (int i = 0; i < 5000; ++i) {
        names.push_back("operator " + std::to_string(i));
    }
    for (int round = 0; round < 3; ++round) {
        for (PlaceId place = 1; place < 4; ++place) {
            for (const std::string& name : names) {
                count(sums, place, name.c_str(), place);
            }
        }
        const Counts counts = drain(sums);
        ASSERT_EQ(counts.size(), 15'000U);
        for (const auto& [key, value] : counts) {
            EXPECT_EQ(value, key.first) << key.second;
        }
    }
}

}  // namespace
}  // namespace iterscope
