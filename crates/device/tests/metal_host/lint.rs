//! Does a text use anything that the Metal Shading Language has not, though a C++ compiler takes it?

/// What a text may not hold, and the rule.
const WORDS: &[(&str, &str)] = &[
    ("double", "the language has no double"),
    ("long double", "the language has no long double"),
    ("try", "the language has no exceptions"),
    ("catch", "the language has no exceptions"),
    ("throw", "the language has no exceptions"),
    ("virtual", "the language has no virtual functions"),
    ("dynamic_cast", "the language has no run-time type information"),
    ("typeid", "the language has no run-time type information"),
    ("new", "the language has no allocation"),
    ("delete", "the language has no allocation"),
    ("goto", "the language has no goto"),
    ("thread_local", "the language has no thread_local"),
    ("std", "the language has no standard C++ library: metal:: stands for std::"),
    ("asm", "the language has no inline assembly"),
    ("main", "a kernel text has no main"),
];

/// Functions that the language has and that have the name of an operator-like word.
fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    code.split(move |c| !is_word(c))
        .filter(|w| !w.is_empty())
        .map(move |w| (w.as_ptr() as usize - code.as_ptr() as usize, w))
}

/// The first thing in a text that breaks a rule: line and rule.
pub fn lint(text: &str) -> Result<(), String> {
    let code = without_comments(text);
    let line = |at: usize| 1 + code[..at].matches('\n').count();
    for (at, word) in words(&code) {
        if let Some((_, rule)) = WORDS.iter().find(|(w, _)| *w == word) {
            return Err(format!("line {}: `{word}`: {rule}", line(at)));
        }
    }
    for (at, _) in code.match_indices("(*") {
        // `(*name)(` declares or calls through a pointer; `(*name)` alone is a plain reading of a pointer.
        let rest = &code[at + 2..];
        let name = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        if name > 0 && rest[name..].trim_start().strip_prefix(')').is_some_and(|r| r.trim_start().starts_with('(')) {
            return Err(format!("line {}: `(*{})(`: the language has no function pointers", line(at), &rest[..name]));
        }
    }
    for (at, _) in code.match_indices("decltype(") {
        let before = code[..at].trim_end();
        if before.ends_with('<') || before.ends_with(',') {
            let wrapped = before.ends_with("remove_addrspace_t<");
            if !wrapped {
                let rule = "decltype of a local keeps the address space; write remove_addrspace_t<decltype(..)>";
                return Err(format!("line {}: {rule}", line(at)));
            }
        }
    }
    recursion(&code).map_or(Ok(()), |(at, name)| {
        Err(format!("line {}: `{name}` comes back to itself: the language has no recursion", line(at)))
    })
}

fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        code.push_str(&rest[..at]);
        let (end, keep) = if rest[at..].starts_with("//") { ("\n", 0) } else { ("*/", 2) };
        let length = rest[at..].find(end).map_or(rest.len() - at, |e| e + keep);
        // Lines stay where they are.
        code.extend(rest[at..at + length].chars().filter(|c| *c == '\n'));
        rest = &rest[at + length..];
    }
    code + rest
}

/// A function that calls itself, directly or through others, and where it is defined.
fn recursion(code: &str) -> Option<(usize, &str)> {
    let bodies = functions(code);
    let calls = |body: &str| -> Vec<usize> {
        let called =
            |name: &str| words(body).any(|(at, w)| w == name && body[at + w.len()..].trim_start().starts_with('('));
        (0..bodies.len()).filter(|&i| called(bodies[i].1)).collect()
    };
    let edges: Vec<Vec<usize>> = bodies.iter().map(|(_, _, body)| calls(body)).collect();
    let reaches = |from: usize| {
        let (mut seen, mut open) = (vec![false; bodies.len()], edges[from].clone());
        while let Some(next) = open.pop() {
            if !std::mem::replace(&mut seen[next], true) {
                open.extend(&edges[next]);
            }
        }
        seen[from]
    };
    (0..bodies.len()).find(|&i| reaches(i)).map(|i| (bodies[i].0, bodies[i].1))
}

/// Functions outside any other: where, name, body.
fn functions(code: &str) -> Vec<(usize, &str, &str)> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (at, c) in code.char_indices() {
        match c {
            '{' => {
                if depth == 0 {
                    start = at;
                }
                depth += 1;
            }
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    let head = code[..start].trim_end();
                    let head = &head[head.rfind([';', '}']).map_or(0, |i| i + 1)..];
                    if let Some(open) = head.find('(')
                        && let Some((_, name)) = words(&head[..open]).last()
                        && !name.starts_with("struct")
                    {
                        found.push((start, name, &code[start..=at]));
                    }
                }
            }
            _ => {}
        }
    }
    found
}
