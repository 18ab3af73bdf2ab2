//! Writes the study as a Markdown table.

use std::io::{self, Write};

use super::{Figures, Row, Study};

/// Writes a line per case, with the peer's columns only if the peer was measured.
pub fn write_report(study: &Study, out: &mut dyn Write) -> io::Result<()> {
    let has_peer = study.rows.iter().any(|row| row.peer.is_some());
    write!(out, "| case | requests | draw, s | bodies, s | peak, MiB |")?;
    writeln!(out, "{}", if has_peer { " SGLang: draw, s | peak, MiB |" } else { "" })?;
    writeln!(out, "|---|{}", "---|".repeat(if has_peer { 6 } else { 4 }))?;
    study.rows.iter().try_for_each(|row| write_row(row, out))
}

fn write_row(row: &Row, out: &mut dyn Write) -> io::Result<()> {
    let Figures { requests, draw_s, bodies_s, peak_mib } = row.ours;
    let bodies = bodies_s.map_or_else(String::new, |seconds| format!("{seconds:.2}"));
    write!(out, "| {} | {requests} | {draw_s:.2} | {bodies} | {peak_mib:.0} |", row.name)?;
    if let Some(Figures { draw_s, peak_mib, .. }) = row.peer {
        write!(out, " {draw_s:.2} | {peak_mib:.0} |")?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_stands_beside_us() {
        let figures = Figures { requests: 7, draw_s: 0.25, bodies_s: None, peak_mib: 10.4 };
        let ours = Figures { bodies_s: Some(1.0), ..figures };
        let rows = vec![Row { name: "seven", ours, peer: Some(figures) }];
        let mut out = Vec::new();
        write_report(&Study { rows }, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "| case | requests | draw, s | bodies, s | peak, MiB | SGLang: draw, s | peak, MiB |\n\
             |---|---|---|---|---|---|---|\n\
             | seven | 7 | 0.25 | 1.00 | 10 | 0.25 | 10 |\n"
        );
    }
}
