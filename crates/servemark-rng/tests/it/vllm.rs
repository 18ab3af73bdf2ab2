//! Draws of vLLM's client, all after seeding with 0.

use servemark_rng::{NumpyRandom, Pcg64, PythonRandom, SeedSequence};

#[track_caller]
fn check_gamma(shape: f64, scale: f64, expected: &[f64]) {
    let mut numpy = NumpyRandom::seeded(0);
    let drawn: Vec<f64> = expected.iter().map(|_| numpy.gamma(shape, scale)).collect();
    assert_eq!(drawn, expected);
}

#[test]
fn seed_sequence() {
    let words = SeedSequence::from_seed(0).generate_u64::<4>().map(|word| format!("{word:x}"));
    let expected = "db2cd7e7b0f478be abf4641a2c71ba49 20c6ed6d9d7b8d41 2c4099de223c39d4";
    assert_eq!(words.join(" "), expected);
}

#[test]
fn random_data_set_offsets() {
    let offsets = Pcg64::seeded(0).integers_vec(0, 32000, 8).unwrap();
    assert_eq!(offsets, [27219, 20382, 16356, 8633, 9850, 1311, 2407, 528]);
}

#[test]
fn random_data_set_lengths() {
    let lengths = Pcg64::seeded(0).integers_vec(716, 1333, 6).unwrap();
    assert_eq!(lengths, [1240, 1109, 1031, 882, 905, 741]);
}

#[test]
fn poisson_gaps() {
    check_gamma(1.0, 0.1, &[0.07958745081631101, 0.12559307629658378, 0.09232231458040689]);
}

#[test]
fn bursty_gaps() {
    check_gamma(0.5, 0.2, &[0.06080037795214088, 0.07565434401356312]);
}

#[test]
fn steady_gaps() {
    check_gamma(2.5, 0.04, &[0.2375480281298032, 0.1124267856673884]);
}

#[test]
fn legacy_ids() {
    let ids = NumpyRandom::seeded(0).randint_vec(0, 32000, 6).unwrap();
    assert_eq!(ids, [2732, 10799, 9845, 19648, 13123, 21243]);
}

#[test]
fn python_shuffle() {
    let mut items: Vec<u8> = (0..10).collect();
    PythonRandom::seeded(0).shuffle(&mut items);
    assert_eq!(items, [7, 8, 1, 5, 3, 4, 2, 0, 9, 6]);
}
