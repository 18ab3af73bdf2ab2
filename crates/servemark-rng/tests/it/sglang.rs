//! Draws of SGLang's client (0.5.23), all after seeding with 42.

use servemark_rng::{NumpyRandom, Pcg64, PythonRandom, RandomState};

const SEED: u32 = 42;

fn python() -> PythonRandom {
    PythonRandom::seeded(SEED.into())
}

fn numpy() -> NumpyRandom {
    NumpyRandom::seeded(SEED)
}

/// Returns the weights of the skewed distribution over three adapters.
fn adapter_weights() -> Vec<f64> {
    (0..3).map(|i| 1.5_f64.powi(-i)).collect()
}

#[test]
fn python_words_and_floats() {
    let (mut words, mut floats) = (python(), python());
    let expected = [2746317213, 478163327, 107420369];
    assert_eq!(expected.map(|_| words.getrandbits(32)), expected);
    let expected = [0.6394267984578837, 0.025010755222666936, 0.27502931836911926];
    assert_eq!(expected.map(|_| floats.random()), expected);
}

#[test]
fn python_choices_then_shuffle_on_one_stream() {
    let mut random = python();
    assert_eq!(random.choices_indices(1000, 6).unwrap(), [639, 25, 275, 223, 736, 676]);
    let mut items: Vec<u8> = (0..10).collect();
    random.shuffle(&mut items);
    assert_eq!(items, [3, 2, 4, 9, 5, 7, 0, 6, 1, 8]);
}

#[test]
fn python_choice_of_letters() {
    let mut random = python();
    let letters: String = (0..8).map(|_| *random.choice(&['a', 'b', 'c']).unwrap()).collect();
    assert_eq!(letters, "caacbaaa");
}

#[test]
fn python_sample_of_a_large_population() {
    let population: Vec<u32> = (0..540).collect();
    assert_eq!(python().sample(&population, 5).unwrap(), [&114, &25, &281, &250, &228]);
}

#[test]
fn numpy_lengths_ids_gaps_and_adapters_on_one_stream() {
    let mut numpy = numpy();
    let lengths = numpy.randint_vec(1, 1025, 8).unwrap();
    assert_eq!(lengths, [103, 436, 861, 271, 107, 72, 701, 21]);
    assert_eq!(numpy.randint_vec(512, 513, 3).unwrap(), [512; 3]);
    let ids = numpy.randint_vec(0, 128256, 5).unwrap();
    assert_eq!(ids, [54886, 6265, 82386, 128214, 37194]);
    let gaps =
        [0.06147961650819368, 0.040602818331379076, 0.015416196746656105, 0.1052363846077553];
    assert_eq!(gaps.map(|_| numpy.exponential(0.1)), gaps);
    let adapters = numpy.choice_weighted_vec(&adapter_weights(), 6).unwrap();
    assert_eq!(adapters, [0, 1, 2, 0, 2, 1]);
    let floats = [0.6116531604882809, 0.007066305219717406, 0.023062425041415757];
    assert_eq!(floats.map(|_| numpy.random_sample()), floats);
}

#[test]
fn numpy_adapters_on_a_fresh_stream() {
    let adapters = numpy().choice_weighted_vec(&adapter_weights(), 8).unwrap();
    assert_eq!(adapters, [0, 2, 1, 1, 0, 0, 0, 2]);
}

#[test]
fn numpy_lengths_of_range_ratio_one_half() {
    assert_eq!(numpy().randint_vec(512, 1025, 5).unwrap(), [614, 947, 782, 618, 583]);
}

#[test]
#[expect(clippy::cast_sign_loss, reason = "pixels are not negative")]
fn numpy_image_sizes_then_pixels() {
    let mut numpy = numpy();
    assert_eq!([numpy.randint(256, 1025), numpy.randint(256, 1025)], [Some(358), Some(691)]);
    let pixels = [242, 186, 152, 39, 39, 14];
    assert_eq!(pixels.map(|_| (numpy.random_sample() * 255.0) as u8), pixels);
}

#[test]
fn generator_floats() {
    let mut generator = Pcg64::seeded(SEED.into());
    let expected = [0.7739560485559633, 0.4388784397520523, 0.8585979199113825, 0.6973680290593639];
    assert_eq!(expected.map(|_| generator.random()), expected);
}

#[test]
fn zipf_groups() {
    let weights =
        [0.5284517432896202, 0.2300219813977988, 0.14140339257440876, 0.10012288273817219];
    let groups = Pcg64::seeded(SEED.into()).choice_weighted_vec(&weights, 12).unwrap();
    assert_eq!(groups, [2, 0, 2, 1, 0, 3, 2, 2, 0, 0, 0, 3]);
}

/// The data set `random-ids` with three prompts of up to 16 input and 8 output tokens from 1000
/// ids, then the first arrivals at ten a second.
#[test]
fn random_ids_then_arrivals() {
    let mut numpy = RandomState::seeded(SEED.into()).numpy;
    assert_eq!(numpy.randint_vec(1, 17, 3).unwrap(), [7, 4, 13]);
    assert_eq!(numpy.randint_vec(1, 9, 3).unwrap(), [7, 3, 8]);
    assert_eq!(numpy.randint_vec(0, 1000, 3).unwrap(), [700, 20, 614]);
    let gaps = [0.05902887476385446, 0.010533264473289401, 0.06147961650819368];
    assert_eq!(gaps.map(|_| numpy.exponential(0.1)), gaps);
}
