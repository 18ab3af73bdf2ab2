//! Which cores a thread keeps to. Threads that it starts keep to the same.

/// The cores that this thread may use; none where the system does not say.
pub(crate) fn cores() -> Vec<usize> {
    machine::cores()
}

/// Does some work on certain cores and goes back to where this thread was. A system that cannot
/// be told does the work all the same, wherever it likes.
pub(crate) fn on<T>(cores: &[usize], work: impl FnOnce() -> T) -> T {
    let before = machine::cores();
    machine::keep_to(cores);
    let done = work();
    machine::keep_to(&before);
    done
}

#[cfg(target_os = "linux")]
mod machine {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    pub(super) fn cores() -> Vec<usize> {
        let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
        (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
    }

    pub(super) fn keep_to(cores: &[usize]) {
        let mut set = CpuSet::new();
        cores.iter().filter(|core| **core < CpuSet::MAX_CPU).for_each(|core| set.set(*core));
        // An empty set is refused, which leaves the thread where it is.
        let _ = sched_setaffinity(None, &set);
    }
}

#[cfg(not(target_os = "linux"))]
mod machine {
    pub(super) fn cores() -> Vec<usize> {
        Vec::new()
    }

    pub(super) fn keep_to(_cores: &[usize]) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_comes_back_to_where_it_was() {
        let before = cores();
        let last = *before.last().unwrap();
        let within = on(&[last], || std::thread::spawn(cores).join().unwrap());
        assert_eq!(within, [last]);
        assert_eq!(cores(), before);
        assert_eq!(on(&[], cores), before);
    }
}
