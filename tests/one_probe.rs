//! Can every probe be asked by its name alone, whatever the preset says of it?

mod rig;

use rig::rigel;

#[test]
fn every_offered_probe_is_a_plan_by_itself() {
    let unknown = rigel().args(["list", "no-such-probe"]).output().unwrap();
    let said = String::from_utf8(unknown.stderr).unwrap();
    let known = said.split("known: ").nth(1).and_then(|rest| rest.split(';').next()).unwrap();
    let probes: Vec<&str> = known.split(", ").collect();
    assert!(probes.contains(&"throughput") && probes.contains(&"power"), "{said}");
    for probe in probes {
        for device in ["cpu", "sim:plain"] {
            let output = rigel().args(["list", probe, "--device", device]).output().unwrap();
            let code = output.status.code().unwrap();
            // 4: the device offers nothing for it, which is an answer.
            assert!(code == 0 || code == 4, "{probe} {device}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
