//! CPU affinity of the current thread. Threads started by it inherit its affinity.

/// Returns the cores that this thread may use; empty if the system does not report them.
pub(crate) fn cores() -> Vec<usize> {
    machine::cores()
}

/// Runs `work` on the given cores and then restores the thread's previous affinity. If the system
/// cannot set the affinity, `work` runs on any core.
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
        // The kernel refuses an empty set, which leaves the affinity unchanged.
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
