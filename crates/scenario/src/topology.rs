//! Ways through named nodes.

/// Why there is no single way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoRoute {
    /// The links do not lead there.
    Unreachable,
    /// Two different ways have the same, smallest number of links.
    Tie(Vec<usize>, Vec<usize>),
}

/// The way from `from` to `to` over the fewest links; `links[i]` is the pair of nodes of link `i`.
pub(crate) fn shortest(
    links: &[Option<(&str, &str)>],
    from: &str,
    to: &str,
) -> Result<Vec<usize>, NoRoute> {
    use std::collections::HashMap;
    // every link by which a node is reached first, in breadth-first order
    let mut reached: HashMap<&str, (usize, Vec<usize>)> = HashMap::from([(from, (0, Vec::new()))]);
    let mut frontier = vec![from];
    let mut depth = 0;
    while !frontier.is_empty() && !reached.contains_key(to) {
        depth += 1;
        let mut next = Vec::new();
        for (link, (start, end)) in links
            .iter()
            .enumerate()
            .filter_map(|(link, ends)| ends.map(|ends| (link, ends)))
        {
            if !frontier.contains(&start) {
                continue;
            }
            let (reached_at, by) = reached.entry(end).or_insert_with(|| {
                next.push(end);
                (depth, Vec::new())
            });
            if *reached_at == depth {
                by.push(link);
            }
        }
        frontier = next;
    }
    if !reached.contains_key(to) {
        return Err(NoRoute::Unreachable);
    }
    // walk back from the end; at the first node with a choice, `other` takes the second one
    let walk = |mut deviate: bool| {
        let (mut way, mut node) = (Vec::new(), to);
        while let Some((_, by)) = reached.get(node)
            && !by.is_empty()
        {
            let link = match by[..] {
                [_, second, ..] if deviate => {
                    deviate = false;
                    second
                }
                _ => by[0],
            };
            way.push(link);
            let Some((start, _)) = links[link] else { break };
            node = start;
        }
        way.reverse();
        way
    };
    let (way, other) = (walk(false), walk(true));
    if way == other {
        Ok(way)
    } else {
        Err(NoRoute::Tie(way, other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewest_links() {
        let links = [
            Some(("a", "b")),
            Some(("b", "c")),
            Some(("a", "c")),
            None,
            Some(("c", "a")),
        ];
        assert_eq!(shortest(&links, "a", "c"), Ok(vec![2]));
        assert_eq!(shortest(&links, "b", "a"), Ok(vec![1, 4]));
        assert_eq!(shortest(&links, "a", "d"), Err(NoRoute::Unreachable));
    }

    #[test]
    fn ties_are_named() {
        let links = [
            Some(("a", "b")),
            Some(("b", "d")),
            Some(("a", "c")),
            Some(("c", "d")),
        ];
        assert_eq!(
            shortest(&links, "a", "d"),
            Err(NoRoute::Tie(vec![0, 1], vec![2, 3]))
        );
        let parallel = [Some(("a", "b")), Some(("a", "b")), Some(("b", "c"))];
        assert_eq!(
            shortest(&parallel, "a", "c"),
            Err(NoRoute::Tie(vec![0, 2], vec![1, 2]))
        );
    }
}
