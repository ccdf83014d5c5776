#include <iterscope/operator_table.hpp>

#include <map>

namespace iterscope {

namespace {

void add_rows(std::vector<OperatorRow>& rows, const std::vector<OperatorRow>& added)
{
    std::map<std::pair<RegionId, std::string_view>, std::size_t> places;
    const std::size_t known = rows.size();
    for (std::size_t i = 0; i < known; ++i) {
        places.emplace(std::pair{rows[i].region, std::string_view(rows[i].name)}, i);
    }
    for (const OperatorRow& row : added) {
        const auto place = places.find({row.region, row.name});
        if (place != places.end()) {
            rows[place->second].stats += row.stats;
        }
    }
    std::vector<OperatorRow> fresh;
    for (const OperatorRow& row : added) {
        if (!places.contains({row.region, row.name})) {
            fresh.push_back(row);
        }
    }
    rows.insert(rows.end(), fresh.begin(), fresh.end());
}

}  // namespace

void OperatorTable::add_operators(const OperatorTable& other)
{
    add_rows(direct, other.direct);
    add_rows(full, other.full);
    is_partial = is_partial || other.is_partial;
}

}  // namespace iterscope
