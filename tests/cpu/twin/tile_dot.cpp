// One product of tiles, compiled for the machine's tiles and for their twin.
#include "cpu/tiers/tiles.hpp"

namespace rapt::cpu::RAPT_TIER {

void add_product(const float* a, const float* b, float* c) {
  const TileScope tiles(true);
  tile_load<0>(c, kTileWords);
  tile_load<1>(a, kTileWords);
  tile_load<2>(b, kTileWords);
  tile_dot<0, 1, 2>();
  tile_store<0>(c, kTileWords);
}

}  // namespace rapt::cpu::RAPT_TIER
