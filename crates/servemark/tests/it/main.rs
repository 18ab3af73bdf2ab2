//! Whole runs against the bundled simulator.

mod runs;
