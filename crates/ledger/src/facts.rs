//! Which facts follow from the cells and samples of a run?
//!
//! | name | subject | value, unit, interval |
//! | --- | --- | --- |
//! | `rung.advertised` `rung.compiles` `rung.loads` `rung.runs` `rung.right` `rung.faster` | path, triple | `yes`, `no` or `not tried`; the reason in words |
//! | `ceiling` | path, triple | rate of the accepted ceiling loop, `op/s` |
//! | `ceiling.per_clock` | path, triple | the same per core-clock cycle over all cores, `op/cycle` |
//! | `ceiling.plateau` | path, triple | `yes` or `no`: whether neighbours in parallelism agree |
//! | `ceiling.of_stated` | path, triple | measured ÷ stated limit |
//! | `rate` | path, triple, shape, recipe, cache | operations per second of the best launch tile, `op/s` |
//! | `rate.per_clock` | the same | `op/cycle` |
//! | `rate.of_ceiling` | the same | share of the path's own ceiling |
//! | `modes` | the same | `1`, `2`, … or `tail K of N`; the modes in words |
//! | `ratio.match_path` | the same | rate ÷ match on the same path, interval over processes |
//! | `ratio.match_device` | the same | rate ÷ match on the device's fastest path |
//! | `ratio.baseline_b` `ratio.baseline_c` `ratio.baseline_d` | the same | rate ÷ baseline |
//! | `ratio.ceiling_match` | path, triple | ceiling ÷ the match's ceiling |
//! | `verdict.acceleration` | path, triple | `accelerated`, `same rate`, `slower`, `faster`, `not accelerated`, `emulated`, `undecided`, `undecided: clock states`, … |
//! | `verdict.win` | path, triple | `win over B, C`, `no win`, `undecided` |
//! | `signal.ceiling` `signal.shootout` `signal.energy` | path | what each of the three signals says, and what it could not see |
//! | `verdict.where` | path | `shader cores`, `dedicated unit`, `undetermined`, with `k of 3 signals` |
