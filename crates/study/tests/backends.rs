//! Does the ledger know the kind of every backend's runs?

use rigel_device::backends::BACKENDS;
use rigel_device::contract::Kind;
use rigel_ledger::provenance::RunKind;
use rigel_ledger::verify::kind_of;

#[test]
fn every_backend_has_a_kind_of_run_and_software_is_simulated() {
    for backend in BACKENDS {
        let kind = kind_of(backend.name).unwrap_or_else(|| panic!("{} is no backend of the ledger", backend.name));
        for device in (backend.find)().unwrap_or_default() {
            let Ok(device) = (backend.open)(&device) else { continue };
            let said = device.describe().kind;
            assert_eq!(kind == RunKind::Simulated, said == Kind::Simulated, "{}", backend.name);
        }
    }
    assert_eq!(kind_of("other"), None);
}
