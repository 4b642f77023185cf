//! Which key of two resolved plans differs first?

/// The first key whose value differs, with both values, as a plan spells them; both texts are of the one spelling that a run writes.
pub fn first_difference(there: &str, here: &str) -> Option<String> {
    let mut section = "";
    for (there, here) in there.lines().zip(here.lines()) {
        if there == here {
            if let Some(name) = there.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = name;
            }
            continue;
        }
        let (key, was) = there.split_once(" = ")?;
        let (same, is) = here.split_once(" = ")?;
        let dot = if section.is_empty() { "" } else { "." };
        return (key == same).then(|| format!("{section}{dot}{key} is {was} there and {is} here"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_key_is_named_with_its_section() {
        let plan = "name = \"a\"\nseed = 1\n\n[limits]\ntimeout_s = 3.0\n";
        let told = |here: &str| first_difference(plan, here);
        assert_eq!(told(plan), None);
        assert_eq!(told(&plan.replace("= 1", "= 2")).unwrap(), "seed is 1 there and 2 here");
        assert_eq!(told(&plan.replace("3.0", "120.0")).unwrap(), "limits.timeout_s is 3.0 there and 120.0 here");
        assert_eq!(told(&plan.replace("seed", "sed")), None);
    }
}
