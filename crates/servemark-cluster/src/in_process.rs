//! Ranks in one process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use servemark::rng::NumpyRandom;
use tokio::sync::{mpsc, oneshot};

use crate::coordinator::{
    Coordinator, CoordinatorError, CoordinatorFuture, MOST_WAITING, Message, Reply, Subscription,
};
use crate::pause::pause;

/// Carries messages between ranks that are threads of one process. Clones carry messages to each
/// other.
#[derive(Clone, Debug, Default)]
pub struct InProcess {
    bus: Arc<Bus>,
}

/// What can happen to a message on its way.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// Share of the messages that are lost, from 0 to 1.
    pub loss: f64,
    /// Longest delay of a message. Delays are random, so messages overtake each other.
    pub delay: Duration,
    /// Seed of the random decisions.
    pub seed: u32,
}

#[derive(Debug, Default)]
struct Bus {
    subjects: Mutex<HashMap<String, Vec<mpsc::Sender<Message>>>>,
    faults: Option<(Faults, Mutex<NumpyRandom>)>,
}

impl InProcess {
    /// Creates a carrier that loses and delays messages.
    pub fn with_faults(faults: Faults) -> Self {
        let random = Mutex::new(NumpyRandom::seeded(faults.seed));
        Self { bus: Arc::new(Bus { faults: Some((faults, random)), ..Bus::default() }) }
    }
}

impl Bus {
    /// Returns the delay of the next message; `None` if it is lost.
    fn fate(&self) -> Option<Duration> {
        let Some((faults, random)) = &self.faults else { return Some(Duration::ZERO) };
        let mut random = random.lock().unwrap_or_else(PoisonError::into_inner);
        let (is_lost, share) = (random.random_sample() < faults.loss, random.random_sample());
        (!is_lost).then(|| faults.delay.mul_f64(share))
    }

    /// Returns the subscribers of a subject.
    fn subscribers(&self, subject: &str) -> Vec<mpsc::Sender<Message>> {
        let mut subjects = self.subjects.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(subscribers) = subjects.get_mut(subject) else { return Vec::new() };
        subscribers.retain(|subscriber| !subscriber.is_closed());
        subscribers.clone()
    }

    /// Waits for a message's delay; returns whether the message arrives at all.
    async fn carry(&self) -> bool {
        let Some(delay) = self.fate() else { return false };
        if !delay.is_zero() {
            pause(delay).await;
        }
        true
    }
}

impl Coordinator for InProcess {
    fn publish(&self, subject: String, payload: Bytes) -> CoordinatorFuture<'_, ()> {
        let bus = Arc::clone(&self.bus);
        Box::pin(async move {
            for subscriber in bus.subscribers(&subject) {
                let (bus, payload) = (Arc::clone(&bus), payload.clone());
                // A task of its own, so that one delayed message does not delay the next.
                tokio::spawn(async move {
                    if bus.carry().await {
                        // The subscriber may be gone meanwhile.
                        let _ = subscriber.send(Message::new(payload, None)).await;
                    }
                });
            }
            Ok(())
        })
    }

    fn request(
        &self,
        subject: String,
        payload: Bytes,
        patience: Duration,
    ) -> CoordinatorFuture<'_, Bytes> {
        let bus = Arc::clone(&self.bus);
        Box::pin(async move {
            let Some(subscriber) = bus.subscribers(&subject).into_iter().next() else {
                return Err(CoordinatorError::NoResponder { subject });
            };
            let (sender, receiver) = oneshot::channel();
            let way_back = Arc::clone(&bus);
            let reply = Reply::new(move |payload: Bytes| {
                Box::pin(async move {
                    if way_back.carry().await {
                        // The asking rank may have given up.
                        let _ = sender.send(payload);
                    }
                    Ok(())
                })
            });
            let exchange = async {
                if bus.carry().await {
                    let _ = subscriber.send(Message::new(payload, Some(reply))).await;
                }
                receiver.await.ok()
            };
            match tokio::time::timeout(patience, exchange).await {
                Ok(Some(reply)) => Ok(reply),
                Ok(None) => {
                    pause(patience).await;
                    Err(CoordinatorError::TimedOut(patience))
                }
                Err(_) => Err(CoordinatorError::TimedOut(patience)),
            }
        })
    }

    fn subscribe(&self, subject: String) -> CoordinatorFuture<'_, Subscription> {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        let mut subjects = self.bus.subjects.lock().unwrap_or_else(PoisonError::into_inner);
        subjects.entry(subject).or_default().push(sender);
        Box::pin(async { Ok(Subscription::new(receiver)) })
    }
}
