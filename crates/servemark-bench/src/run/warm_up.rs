//! Sends what comes before the measured requests: the connection test, the first request and the
//! warm-up.

use std::sync::Arc;
use std::time::Duration;

use servemark_core::{RequestError, Session, Transport};
use servemark_runner::{Runner, WarmupSpec};

use super::greeting;
use super::server::{Server, WireTransport};
use super::system::Job;
use crate::ExecuteError;
use crate::observer::RunEvent;

/// Warms a server up as the plan says, empties its prefix cache, and waits for it to settle.
pub(super) async fn warm_up(
    server: &Server,
    job: &Job<'_>,
    runner: &Runner,
    transport: &Arc<WireTransport>,
) -> Result<(), ExecuteError> {
    test_connection(job, transport).await?;
    job.context.emit(&RunEvent::Prepared);
    send_requests(job, runner, transport).await?;
    flush_cache(server, job).await?;
    runner.wait(job.plan.control.settle).await;
    Ok(())
}

/// Sends the requests of the load that come before the measured ones.
pub(super) async fn send_requests<T: Transport>(
    job: &Job<'_>,
    runner: &Runner,
    transport: &Arc<T>,
) -> Result<(), ExecuteError> {
    try_first(job, runner, transport).await?;
    send_warm_up(job, runner, transport).await?;
    lead_in(job, runner, transport).await;
    Ok(())
}

/// Sends the connection test, if the plan asks for it.
async fn test_connection(
    job: &Job<'_>,
    transport: &Arc<WireTransport>,
) -> Result<(), ExecuteError> {
    let Some(patience) = job.plan.control.greeting else { return Ok(()) };
    let sample = match &job.load().greeting {
        Some(sample) => sample.clone(),
        None => greeting::like(&job.load().sessions[0].first),
    };
    greeting::exchange(&sample, patience, transport, job.context, job.clock.clock).await
}

/// Sends the first request until it succeeds, if the plan asks for it.
async fn try_first<T: Transport>(
    job: &Job<'_>,
    runner: &Runner,
    transport: &Arc<T>,
) -> Result<(), ExecuteError> {
    let Some(patience) = job.plan.control.first_request else { return Ok(()) };
    job.context.emit(&RunEvent::TryingFirst { patience });
    let (sample, deadline) = (job.load().warm_up(job.plan), runner.now() + patience);
    loop {
        let outcome = runner.warm_up(transport, &sample, WarmupSpec::alike(1)).await.pop();
        let Some(Err(error)) = outcome else { break };
        let left = deadline.since(runner.now());
        if left.is_zero() || error.is_permanent {
            return Err(ExecuteError::FirstRequest(error));
        }
        job.context.emit(&RunEvent::NotReadyYet { error: &error });
        runner.wait(left.min(RETRY)).await;
    }
    job.context.emit(&RunEvent::FirstAnswered);
    Ok(())
}

/// Sends the warm-up requests of the load, if there are any, and fails if all of them failed.
async fn send_warm_up<T: Transport>(
    job: &Job<'_>,
    runner: &Runner,
    transport: &Arc<T>,
) -> Result<(), ExecuteError> {
    let (load, warmup) = (job.load(), job.plan.load.warmup);
    if warmup.requests == 0 {
        return Ok(());
    }
    job.context.emit(&RunEvent::WarmingUp { requests: warmup.requests });
    let outcomes = match load.warm_up_sessions(job.plan) {
        Some(sessions) => runner.warm_up_with(transport, &sessions).await,
        None => runner.warm_up(transport, &load.warm_up(job.plan), warmup).await,
    };
    warmed_up(job, outcomes)
}

/// Reports the end of a warm-up; fails if all of its requests failed.
pub(super) fn warmed_up<T>(
    job: &Job<'_>,
    outcomes: Vec<Result<T, RequestError>>,
) -> Result<(), ExecuteError> {
    let requests = outcomes.len();
    let mut errors: Vec<RequestError> = outcomes.into_iter().filter_map(Result::err).collect();
    let failed = errors.len();
    match errors.pop() {
        Some(error) if failed == requests => Err(ExecuteError::Warmup(error)),
        _ => {
            job.context.emit(&RunEvent::WarmedUp { requests, failed });
            Ok(())
        }
    }
}

/// Sends the lead-in sessions by their own schedule and waits for their end.
async fn lead_in<T: Transport>(job: &Job<'_>, runner: &Runner, transport: &Arc<T>) {
    let Some((sessions, schedule)) = &job.load().lead_in else { return };
    let requests = sessions.iter().map(Session::turns).sum();
    job.context.emit(&RunEvent::WarmingUp { requests });
    let outcomes = runner.lead_in(transport, sessions, schedule).await;
    let failed = outcomes.iter().filter(|outcome| outcome.is_err()).count();
    job.context.emit(&RunEvent::WarmedUp { requests, failed });
}

/// Empties the server's prefix cache, if the plan asks for it.
async fn flush_cache(server: &Server, job: &Job<'_>) -> Result<(), ExecuteError> {
    let Some(timeout) = job.plan.control.flush_cache else { return Ok(()) };
    let route = job.plan.server_kind().flush_path(timeout);
    server.control.flush_cache(&route).await.map_err(ExecuteError::Flush)?;
    job.context.emit(&RunEvent::CacheFlushed);
    Ok(())
}

/// Time that vLLM's client waits between two attempts of the first request.
const RETRY: Duration = Duration::from_secs(5);
