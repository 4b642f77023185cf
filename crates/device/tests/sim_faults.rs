//! Does every planted refusal, fault, crash, hang and exhaustion happen, and only where it is planted?

mod planted;

use planted::*;
use rigel_device::sim::{SimDevice, Truth};
use rigel_device::{Cache, Device, Fault, Refusal, Rung};
use std::process::Command;
use std::time::Duration;

fn fault(effect: &str) -> String {
    format!("[[fault]]\neffect = {effect}")
}

#[test]
fn refusals_carry_their_rung_and_diagnostic() {
    let mut compile = device(&fault("{ refuse-compile = { diagnostic = \"error: line 3\" } }"));
    let refusal = |rung, diagnostic: &str| Refusal { rung, diagnostic: diagnostic.into() };
    assert_eq!(compile.compile(&half("8")).err(), Some(refusal(Rung::Compile, "error: line 3")));

    let mut load = device(&fault("{ refuse-load = { diagnostic = \"wrong version\" } }"));
    let mut gemm = load.compile(&half("8")).unwrap();
    assert_eq!(gemm.load(), Err(refusal(Rung::Load, "wrong version")));

    let mut absent = device("absent = \"needs another driver\"");
    assert_eq!(absent.offers()[0].absent, "needs another driver");
    assert_eq!(absent.compile(&half("8")).err(), Some(refusal(Rung::Compile, "needs another driver")));

    let unknown = device("").compile(&spec("f32,f32->f32", "8")).err().unwrap();
    assert!(unknown.diagnostic.contains("f32,f32->f32"), "{unknown}");
}

#[test]
fn faults_carry_their_text_and_a_lost_device_stays_lost() {
    let mut full = device(&fault("{ out-of-memory = { message = \"no room\" } }"));
    assert_eq!(bound(&mut full, &half("8")).err(), Some(Fault::OutOfMemory("no room".into())));

    let mut small = SimDevice::new(Truth { memory_bytes: 1000, ..truth("") }).unwrap();
    assert!(bound(&mut small, &half("8")).is_ok());
    assert!(matches!(bound(&mut small, &half("16")).err(), Some(Fault::OutOfMemory(_))));

    let mut failing = device("[[fault]]\nafter = 2\neffect = { failed = { message = \"trap\" } }");
    let mut gemm = bound(&mut failing, &half("8")).unwrap();
    assert!(gemm.run(2, Cache::Warm).is_ok());
    assert_eq!(gemm.run(1, Cache::Warm), Err(Fault::Failed("trap".into())));
    assert_eq!(failing.health(), Ok(()));

    let mut lost = device("[[fault]]\nshape = \"8x8x8\"\neffect = { device-lost = { message = \"gone\" } }");
    let mut other = bound(&mut lost, &half("9")).unwrap();
    assert!(other.run(1, Cache::Warm).is_ok());
    let gone = Err(Fault::DeviceLost("gone".into()));
    assert_eq!(bound(&mut lost, &half("8")).unwrap().run(1, Cache::Warm), gone);
    assert_eq!(other.run(1, Cache::Warm), gone);
    assert_eq!(lost.health(), Err("gone".into()));

    let mut ill = SimDevice::new(Truth { unhealthy: "fan stopped".into(), ..truth("") }).unwrap();
    assert_eq!(ill.health(), Err("fan stopped".into()));
}

#[test]
fn use_out_of_order_is_a_fault_not_a_panic() {
    let mut device = device("");
    let mut gemm = device.compile(&half("8")).unwrap();
    assert!(matches!(gemm.run(1, Cache::Warm), Err(Fault::Failed(_))));
    assert!(matches!(gemm.output(), Err(Fault::Failed(_))));
    assert!(matches!(gemm.poison(), Err(Fault::Failed(_))));
    let (a, b) = operands(half("9").triple, half("9").shape);
    assert!(matches!(gemm.bind(&a, &b), Err(Fault::Failed(_))));
}

#[test]
fn the_liar_refuses_what_it_advertises_and_runs_what_it_does_not() {
    let mut liar = SimDevice::new(Truth::select("sim:liar").unwrap()).unwrap();
    let advertised = |triple: &str, liar: &SimDevice| {
        let triple = triple.parse().unwrap();
        liar.offers().iter().any(|o| o.triple == triple && o.path == "matmul2d" && o.advertised.yes)
    };
    let tiled = |triple: &str| rigel_device::GemmSpec { tile: "32x32".into(), ..spec(triple, "8") };
    assert!(advertised("e2m1,e2m1->f32", &liar) && liar.compile(&tiled("e2m1,e2m1->f32")).is_err());
    assert!(advertised("bf16,bf16->f32", &liar));
    assert!(liar.compile(&tiled("bf16,bf16->f32")).unwrap().load().is_err());
    assert!(!advertised("i8,i8->i32", &liar));
    assert!(bound(&mut liar, &tiled("i8,i8->i32")).unwrap().run(1, Cache::Warm).is_ok());
}

/// Tells a test that it is the child which must meet its planted end.
const CHILD: &str = "RIGEL_TEST_SIM_CHILD";

/// The command that runs `test` of this binary again as a child.
fn child(test: &str, shell: &str) -> Command {
    let mut command = Command::new("sh");
    let this = std::env::current_exe().unwrap();
    command.args(["-c", &format!("{shell} exec \"$0\" \"$@\"")]).arg(this).args(["--exact", test, "--nocapture"]);
    command.env(CHILD, "1");
    command
}

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

#[cfg(unix)]
#[test]
fn a_crash_aborts_the_process() {
    use std::os::unix::process::ExitStatusExt;
    if is_child() {
        let mut device = device("[[fault]]\nafter = 2\neffect = \"crash\"");
        let mut gemm = bound(&mut device, &half("8")).unwrap();
        println!("{} good", gemm.run(2, Cache::Warm).unwrap().len());
        let _ = gemm.run(1, Cache::Warm);
        println!("survived");
        return;
    }
    let out = child("a_crash_aborts_the_process", "ulimit -c 0;").output().unwrap();
    assert_eq!(out.status.signal(), Some(6), "SIGABRT");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.contains("2 good") && !text.contains("survived"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_hang_never_ends() {
    use std::io::{BufRead, BufReader};
    if is_child() {
        let mut device = device(&fault("\"hang\""));
        let mut gemm = bound(&mut device, &half("8")).unwrap();
        println!("about to hang");
        let _ = gemm.run(1, Cache::Warm);
        println!("survived");
        return;
    }
    let mut running = child("a_hang_never_ends", "").stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
    assert!(lines.by_ref().any(|line| line.unwrap().contains("about to hang")));
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(running.try_wait().unwrap(), None, "still hanging");
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(!lines.any(|line| line.unwrap().contains("survived")));
}

#[cfg(target_os = "linux")]
#[test]
fn exhaustion_meets_the_memory_limit() {
    use std::os::unix::process::ExitStatusExt;
    if is_child() {
        let mut device = device(&fault("\"exhaust-memory\""));
        let end = bound(&mut device, &half("8")).err();
        println!("survived: {end:?}");
        return;
    }
    // 512 MiB of address space; the truth has 1 GiB.
    let out = child("exhaustion_meets_the_memory_limit", "ulimit -c 0; ulimit -v 524288;").output().unwrap();
    assert_eq!(out.status.signal(), Some(6), "{}", String::from_utf8_lossy(&out.stdout));
    assert!(!String::from_utf8_lossy(&out.stdout).contains("survived"));
}

#[test]
fn exhaustion_without_a_limit_ends_as_a_fault() {
    let truth = Truth { memory_bytes: 64 << 20, ..truth(&fault("\"exhaust-memory\"")) };
    let end = bound(&mut SimDevice::new(truth).unwrap(), &half("8")).err();
    assert_eq!(end, Some(Fault::OutOfMemory("took 67108864 bytes and no memory limit stopped it".into())));
}
