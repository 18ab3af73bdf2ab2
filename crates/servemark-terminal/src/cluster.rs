//! Runs that several machines share: this process is one of the ranks.

use std::sync::{Arc, Mutex, PoisonError};

use servemark::{ExitCode, RankGroup};
use servemark_cli::{ClusterArgs, Invocation};

/// The ranks to which this process belongs, for the contexts of its runs.
static RANKS: Mutex<Option<Arc<dyn RankGroup>>> = Mutex::new(None);

/// Returns the ranks to which this process belongs; `None` if it is alone.
pub(crate) fn ranks() -> Option<Arc<dyn RankGroup>> {
    RANKS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Runs a command as rank 0, or the runs of rank 0 as another rank.
#[cfg(feature = "cluster")]
pub(crate) fn run(
    args: &ClusterArgs,
    invocation: Invocation,
    dispatch: impl FnOnce(Invocation) -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    let settings = invocation.rank_settings()?;
    if invocation.only_prints() {
        return dispatch(invocation);
    }
    let coordinator = member::connected(args)?;
    if args.rank > 0 {
        return member::serve(args, settings, coordinator);
    }
    let group = Arc::new(member::opened(args, coordinator)?);
    *RANKS.lock().unwrap_or_else(PoisonError::into_inner) = Some(group.clone());
    let code = dispatch(invocation);
    *RANKS.lock().unwrap_or_else(PoisonError::into_inner) = None;
    group.close();
    Ok(match code? {
        ExitCode::Ok | ExitCode::Undecided if args.requires_all && group.lost_any() => {
            crate::screen::eprint_line("error: --require-all-ranks: a rank was lost");
            ExitCode::GateFailed
        }
        code => code,
    })
}

#[cfg(not(feature = "cluster"))]
pub(crate) fn run(
    _args: &ClusterArgs,
    _invocation: Invocation,
    _dispatch: impl FnOnce(Invocation) -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    let what = "--coordinator in this program (the program servemark has it)".to_owned();
    Err(servemark_cli::CliError::NotBuilt { what }.into())
}

#[cfg(feature = "cluster")]
mod member {
    use std::sync::Arc;

    use servemark::core::RankMachine;
    use servemark::{
        ExecuteError, ExitCode, RankError, RankGroup, Run, RunContext, RunEvent, RunObserver,
        execute, stop_on_signals,
    };
    use servemark_cli::{ClusterArgs, GatherWhat, RankSettings};
    use servemark_cluster::{
        Concurrency, Coordinator, Gather, LeadGroup, LeadSpec, MemberGroup, MemberSpec, Nats,
        NatsAccess, RankEvent,
    };

    use crate::context::with_settings;
    use crate::screen;

    /// Connects to the coordinator.
    pub(super) fn connected(args: &ClusterArgs) -> Result<Arc<dyn Coordinator>, RankError> {
        let access = NatsAccess {
            credentials: args.credentials.clone(),
            token: args.token.clone(),
            user: args.user.clone(),
            root_certificates: args.authorities.clone(),
            certificate: args.certificate.clone(),
        };
        Ok(Arc::new(Nats::connect(&args.url, &access, args.patience)?))
    }

    /// Becomes rank 0 and waits for the other ranks.
    pub(super) fn opened(
        args: &ClusterArgs,
        coordinator: Arc<dyn Coordinator>,
    ) -> Result<LeadGroup, RankError> {
        let ranks = args.world;
        if ranks.get() > 1 {
            screen::eprint_line(&format!(
                "Waiting for {} more {} at {}/{} ...",
                ranks.get() - 1,
                if ranks.get() == 2 { "rank" } else { "ranks" },
                args.url,
                args.name
            ));
        }
        let spec = LeadSpec {
            name: args.name.clone(),
            ranks,
            machine: servemark::rank_machine(),
            gather: match args.gather {
                GatherWhat::Records => Gather::Records,
                GatherWhat::Logs => Gather::Logs,
            },
            concurrency: if args.shares_concurrency {
                Concurrency::Shared
            } else {
                Concurrency::Split
            },
            patience: args.patience,
            on_event: Box::new(move |event| screen::eprint_line(&words(&event, ranks.get()))),
        };
        LeadGroup::open(coordinator, spec)
    }

    fn words(event: &RankEvent, ranks: usize) -> String {
        match event {
            RankEvent::Joined { rank, machine, joined } => {
                format!("Rank {rank} ({}) has joined: {joined} of {ranks}", described(machine))
            }
            RankEvent::Refused { reason } => format!("warning: {reason}"),
            RankEvent::Lost { rank, reason } => format!("warning: rank {rank} is lost: {reason}"),
            RankEvent::Returned { rank } => format!("Rank {rank} is there again"),
            RankEvent::Gathering { ranks } => format!("Gathering the results of {ranks} ranks ..."),
            _ => String::new(),
        }
    }

    /// Describes a machine by what limits its share of the load.
    fn described(machine: &RankMachine) -> String {
        let RankMachine { host, cores, open_files } = machine;
        let noun = if *cores == 1 { "core" } else { "cores" };
        let files = open_files.map(|files| format!(", {files} files"));
        format!("{host}, {cores} {noun}{}", files.unwrap_or_default())
    }

    /// Executes every run of rank 0, with a line for each.
    pub(super) fn serve(
        args: &ClusterArgs,
        settings: RankSettings<'_>,
        coordinator: Arc<dyn Coordinator>,
    ) -> anyhow::Result<ExitCode> {
        let spec = MemberSpec {
            name: args.name.clone(),
            rank: args.rank,
            ranks: args.world,
            machine: servemark::rank_machine(),
            patience: args.patience,
        };
        let group = Arc::new(MemberGroup::join(coordinator, spec)?);
        let mut context = RunContext::new(Arc::new(Quiet { rank: args.rank }));
        context.ranks = Some(Arc::clone(&group) as Arc<dyn RankGroup>);
        match settings {
            RankSettings::Run(parsed) => context = with_settings(&context, parsed),
            RankSettings::Explore(credentials) => context.credentials.clone_from(credentials),
            RankSettings::Faulty => {}
        }
        stop_on_signals(context.clone())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut code = ExitCode::Ok;
        while let Some(run) = runtime.block_on(group.next_run())? {
            if let Some(folder) = run.plan.output.run_log.as_deref().and_then(|path| path.parent())
            {
                std::fs::create_dir_all(folder)?;
            }
            code = code.max(report(args, execute(&run.plan, &context)));
        }
        Ok(code)
    }

    /// Prints the line of a run.
    fn report(args: &ClusterArgs, run: Result<Run, ExecuteError>) -> ExitCode {
        let ClusterArgs { rank, world, .. } = args;
        match run {
            Ok(run) => {
                let sent = run.log.measured().count();
                let failed = run.log.measured().filter(|record| !record.is_success()).count();
                let log = run.run_log.map(|path| format!(", run log {}", path.display()));
                screen::eprint_line(&format!(
                    "Rank {rank} of {world}: {sent} requests, {failed} failed{}",
                    log.unwrap_or_default()
                ));
                ExitCode::Ok
            }
            Err(error) => {
                screen::eprint_line(&format!("error: rank {rank} of {world}: {error}"));
                error.exit_code()
            }
        }
    }

    /// Prints only what the user of this machine has to know; the screen is that of rank 0.
    struct Quiet {
        rank: usize,
    }

    impl servemark::core::Progress for Quiet {
        fn begin(&self, _work: &str, _total: u64) {}
        fn advance(&self, _steps: u64) {}
        fn end(&self) {}
    }

    impl RunObserver for Quiet {
        fn on_event(&self, event: &RunEvent<'_>) {
            if let RunEvent::Missed { .. } | RunEvent::Strained { .. } | RunEvent::Stopping { .. } =
                event
            {
                screen::eprint_line(&format!("rank {}: {event}", self.rank));
            }
        }
    }
}
