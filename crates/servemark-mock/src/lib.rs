//! The ground-truth server: exact schedules, faults on demand, and a log of what was really sent.
