//! Did every ceiling loop of the device `cpu` do the work that it claims?

use rigel_device::{CeilingSpec, Device, Rung, cpu::Cpu};

#[test]
fn every_variant_runs_and_its_accumulators_hold_the_predicted_integers() {
    let mut cpu = Cpu::new();
    for offer in cpu.offers().into_iter().filter(|o| o.absent.is_empty() && o.has_ceiling) {
        let variants = cpu.ceiling_variants(&offer.path, offer.triple);
        assert!(variants.len() >= 3, "a plateau needs neighbours: {} {}", offer.path, offer.triple);
        // Triples that are converted to f32 share the loop of f32.
        let variants = if offer.triple.a == offer.triple.c || offer.path.starts_with("avx512-") {
            variants
        } else {
            vec![variants[0].clone()]
        };
        for variant in variants {
            let spec = CeilingSpec { path: offer.path.clone(), triple: offer.triple, variant };
            let mut ceiling = cpu.ceiling(&spec).unwrap();
            assert!(ceiling.check().is_err(), "nothing has run yet");
            let samples = ceiling.run(1).unwrap();
            assert!(samples.len() == 1 && samples[0].time.0 > 0);
            assert!(ceiling.operations() > 0);
            assert_eq!(ceiling.check(), Ok(()), "{spec:?}");
        }
    }
}

#[test]
fn an_unknown_variant_is_refused_with_those_that_exist() {
    let mut cpu = Cpu::new();
    let triple = "f32,f32->f32".parse().unwrap();
    let spec = CeilingSpec { path: "scalar".into(), triple, variant: "ilp99x1".into() };
    let refusal = cpu.ceiling(&spec).err().unwrap();
    assert_eq!(refusal.rung, Rung::Compile);
    assert!(refusal.diagnostic.contains("no variant `ilp99x1`") && refusal.diagnostic.contains("ilp2x"));
}

#[test]
fn a_path_that_is_absent_has_no_variants_and_says_why() {
    let mut cpu = Cpu::new();
    for offer in cpu.offers().into_iter().filter(|o| !o.absent.is_empty()) {
        assert!(cpu.ceiling_variants(&offer.path, offer.triple).is_empty());
        let spec = CeilingSpec { path: offer.path, triple: offer.triple, variant: "ilp8x1".into() };
        assert_eq!(cpu.ceiling(&spec).err().unwrap().diagnostic, offer.absent);
    }
}
