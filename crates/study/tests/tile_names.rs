//! Do the name of a launch tile and its extents say the same?
//!
//! A device knows its tiles; the ledger reads rows and columns from the name alone, for whoever checks a witness has no device.

use rigel_device::cuda::{path::Path, tile};
use rigel_device::{backends, sim};
use rigel_ledger::gate::places;
use rigel_numerics::{Format, Triple};

#[test]
fn a_tile_is_as_large_as_its_name_says() {
    let simulated = sim::BUILT_IN.iter().map(|(name, _)| format!("sim:{name}"));
    for selector in simulated.chain(["cpu".to_owned()]) {
        let device = backends::open(&selector).unwrap();
        let mut asked = 0;
        for offer in device.offers() {
            for tile in device.tiles(&offer.path, offer.triple) {
                let Some(extents) = device.tile_extents(&offer.path, offer.triple, &tile) else { continue };
                assert_eq!(places::tile_of(&tile), (extents.m, extents.n), "{selector} {} {tile}", offer.path);
                asked += 1;
            }
        }
        let truth = sim::BUILT_IN.iter().find(|(name, _)| selector.ends_with(name)).map_or("extents", |(_, text)| text);
        assert_eq!(asked > 0, truth.contains("extents"), "{selector}");
    }
}

#[test]
fn a_tile_of_a_gpu_is_as_large_as_its_name_says() {
    let mut asked = 0;
    for path in Path::ALL {
        for format in [Format::F64, Format::F16, Format::E4m3] {
            for tile in tile::tiles(path, Triple::new(format, format, Format::F32)) {
                assert_eq!(places::tile_of(&tile.to_string()), (tile.m, tile.n), "{tile}");
                asked += 1;
            }
        }
    }
    assert!(asked > 0);
}
