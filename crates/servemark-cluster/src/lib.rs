//! One run on many machines.
//!
//! Several processes (ranks) execute one plan together. Each draws the whole load and sends its
//! part: session `i` belongs to rank `i mod n`. They agree on the plan, on the load, on a common
//! start and on the end; nothing is agreed on per request. Rank 0 has the plan and gathers the
//! results, so its report is that of all requests: the records of all ranks are merged, and no
//! percentile is computed from percentiles.
//!
//! [`LeadGroup`] is rank 0 and [`MemberGroup`] any other rank; both are
//! [`RankGroup`](servemark::RankGroup)s of a [`RunContext`](servemark::RunContext). Their messages
//! go through a [`Coordinator`]: [`InProcess`] within one program, [`Nats`] between machines.

mod beat;
mod blocks;
mod clock;
mod coordinator;
mod error;
mod gather;
mod in_process;
mod lead;
mod lead_spec;
mod member;
mod message;
#[cfg(feature = "nats")]
mod nats;
mod pause;
mod places;
mod rank_state;
mod run_handles;
mod stops;
mod subject;
mod thread;

pub use coordinator::{
    Coordinator, CoordinatorError, CoordinatorFuture, Message, Reply, Subscription,
};
pub use in_process::{Faults, InProcess};
pub use lead::LeadGroup;
pub use lead_spec::{Concurrency, Gather, LeadSpec, RankEvent};
pub use member::{AssignedRun, MemberGroup, MemberSpec};
#[cfg(feature = "nats")]
pub use nats::{Nats, NatsAccess};
