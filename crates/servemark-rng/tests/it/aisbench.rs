//! Draws from NumPy's legacy generator that only AISBench makes.

use servemark_rng::NumpyRandom;

#[test]
fn zipf_values() {
    let mut numpy = NumpyRandom::seeded(7);
    let mut draw = |exponent, count| (0..count).map(|_| numpy.zipf(exponent)).collect::<Vec<_>>();
    assert_eq!(draw(1.7, 8), [1, 2, 233, 2, 1, 1, 1, 1]);
    assert_eq!(draw(10.0, 6), [1; 6]);
    assert_eq!(draw(1.05, 3), [97, 11_120, 5_182_225_507_532]);
    assert_eq!(numpy.random_sample(), 0.572625332643954);
}
