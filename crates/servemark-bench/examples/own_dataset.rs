//! A data set of the program: conversations whose later turns wait for a reader.

use std::time::Duration;

use servemark::backends::{ChatSpec, CommonSpec};
use servemark::core::{Dataset, DatasetError, DrawContext, FollowUp, JsonObject, Sample, Session};
use servemark::mock::{MockServer, MockSpec};
use servemark::runner::LoadSpec;
use servemark::schedule::ArrivalSpec;
use servemark::{Bench, Scores};

/// Users who ask a question, read the answer for a while, and ask for more.
#[derive(Clone, Debug)]
struct Readers {
    shortest: Duration,
}

impl Dataset for Readers {
    fn draw(
        &mut self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError> {
        let mut millis = || context.random.numpy.randint(0, 30).unwrap_or_default();
        let mut session = |number: usize| {
            let pause = self.shortest + Duration::from_millis(millis().unsigned_abs());
            let first = Sample::new(vec![user(&format!("What is {number} squared?"))], 5, 8);
            Session::from(first).followed_by(vec![
                FollowUp::new(Sample::new(vec![user("And cubed?")], 3, 8)).after(pause),
            ])
        };
        Ok((0..count).map(&mut session).collect())
    }
}

/// Returns a message of the user.
fn user(content: &str) -> JsonObject {
    let pairs = [("role", "user"), ("content", content)];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server =
        MockServer::start(MockSpec::new(Duration::from_millis(20), Duration::from_millis(1)))?;
    let target = server.base_url().parse()?;
    let chat = ChatSpec::new(CommonSpec::new("m"));
    let readers = Readers { shortest: Duration::from_millis(50) };
    let load = LoadSpec::new(ArrivalSpec::at_rate(50.0)?);
    let bench = Bench::at(target, ("chat", chat), ("readers", readers), 20, load);
    let run = bench.run()?;
    Scores::of(&run.log, &bench.plan.scoring).write_tables(&mut std::io::stdout())?;
    Ok(())
}
