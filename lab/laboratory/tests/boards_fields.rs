//! The arithmetic of the boards' cores, executed instruction by instruction on the stopwatch:
//! what comes out is what two other libraries say, and each operation takes one time.
//!
//! `docs/research/curve-arithmetic.md` says what runs where. `MOTEMIX_SEED` repeats a run.

#[path = "fields/board.rs"]
mod board;
#[path = "fields/mutations.rs"]
mod mutations;
#[path = "fields/operands.rs"]
mod operands;
#[path = "fields/operation.rs"]
mod operation;
mod program;
#[path = "fields/reference.rs"]
mod reference;

use board::Board;
use motemix_mcu::Core;
use mutations::Mutation;
use operands::{Random, near_zero, near_zero_by_small, points, roots, seed, special};
use operation::Operation;
use reference::{CryptoBigint, Library, NumBigint, expected};

/// Eight words, the least first, as the cores have elements.
type Element = [u32; 8];

fn bytes(element: &Element) -> [u8; 32] {
    let mut bytes = [0; 32];
    let (chunks, _) = bytes.as_chunks_mut::<4>();
    chunks.iter_mut().zip(element).for_each(|(chunk, word)| *chunk = word.to_le_bytes());
    bytes
}

fn words(bytes: &[u8]) -> Element {
    let (chunks, _) = bytes.as_chunks::<4>();
    std::array::from_fn(|at| u32::from_le_bytes(chunks[at]))
}

/// What is wrong with the outcome, if something is: by one library, or because an operand that is
/// only read has changed.
fn wrong_by<L: Library, const N: usize>(
    operation: Operation,
    before: &[Element; N],
    after: &[Element; N],
) -> Option<String> {
    let results = operation.results();
    let right = expected::<L>(operation, before);
    let found: Vec<_> = after[results.clone()]
        .iter()
        .map(|element| if operation.is_exact() { *element } else { L::of(element).value() })
        .collect();
    let kept = (0..N).all(|at| results.contains(&at) || before[at] == after[at]);
    (found != right || !kept)
        .then(|| format!("{operation:?} of {before:08x?} is {after:08x?}, and by {} {right:08x?}", L::NAME))
}

/// Runs an operation on all of these, and compares with both libraries.
fn check<const N: usize>(
    board: &mut Board,
    operation: Operation,
    operands: &[[Element; N]],
) -> Result<(), String> {
    let mut after = operands.to_vec();
    board.run(operation.name(), &mut after)?;
    compare(operation, operands, &after).map_err(|wrong| format!("{}: {wrong}", board.core))
}

/// The same of public numbers, which may take any time.
fn check_public<const N: usize>(board: &mut Board, operation: Operation, operands: &[[Element; N]]) {
    let mut after = operands.to_vec();
    board.run_anyhow(operation.name(), &mut after).unwrap();
    compare(operation, operands, &after).unwrap();
}

fn compare<const N: usize>(
    operation: Operation,
    before: &[[Element; N]],
    after: &[[Element; N]],
) -> Result<(), String> {
    for (before, after) in before.iter().zip(after) {
        let wrong = wrong_by::<NumBigint, N>(operation, before, after)
            .or_else(|| wrong_by::<CryptoBigint, N>(operation, before, after));
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
    }
    Ok(())
}

/// All pairs of special operands.
fn special_pairs() -> Vec<[Element; 2]> {
    let special = special();
    special.iter().flat_map(|a| special.iter().map(|b| [*a, *b])).collect()
}

/// The same, each second one with a number below 2³¹.
fn with_small(pairs: &[[Element; 2]]) -> Vec<[Element; 2]> {
    let small = |[a, b]: &[Element; 2]| [*a, [b[0] >> 1, b[1], b[2], b[3], b[4], b[5], b[6], b[7]]];
    pairs.iter().map(small).collect()
}

/// What coordinates of the ladder may be: below 2²⁵⁵, or products. Of all products of special
/// operands, and of factors whose product is nearly zero, these are the least and the greatest.
fn coordinates(board: &mut Board, random: &mut Random) -> Vec<Element> {
    let mut products = [special_pairs(), near_zero(random)].concat();
    board.run(Operation::Multiply.name(), &mut products).unwrap();
    let mut products: Vec<_> = products.into_iter().map(|[product, _]| product).collect();
    products.sort_by(|a, b| a.iter().rev().cmp(b.iter().rev()));
    products.dedup();
    let below = special().into_iter().map(|mut element| {
        element[7] &= u32::MAX >> 1;
        element
    });
    let mut found: Vec<_> = below.collect();
    let many = found.len().min(products.len() / 2);
    found.extend(&products[..many / 4]);
    found.extend(&products[products.len() - many..]);
    found
}

/// Steps of the ladder with such coordinates in two of five places, and any in the others.
fn special_steps(board: &mut Board, random: &mut Random) -> Vec<[Element; 5]> {
    let coordinates = coordinates(board, random);
    let any = |random: &mut Random| coordinates[random.element()[7] as usize % coordinates.len()];
    let places = (0..5).flat_map(|first| (0..5).map(move |second| (first, second)));
    // Each pair in one place, all places after another.
    coordinates
        .iter()
        .flat_map(|a| coordinates.iter().map(move |b| (a, b)))
        .zip(places.cycle())
        .step_by(97)
        .map(|((a, b), (first, second))| {
            let mut step = std::array::from_fn(|_| any(random));
            (step[first], step[second]) = (*a, *b);
            // The point has been read from bytes.
            step[0][7] &= u32::MAX >> 1;
            step
        })
        .collect()
}

/// Steps whose coordinates are random, below 2²⁵⁵.
fn random_steps(random: &mut Random, count: usize) -> Vec<[Element; 5]> {
    let mut coordinate = || {
        let mut element = random.element();
        element[7] &= u32::MAX >> 1;
        element
    };
    (0..count).map(|_| std::array::from_fn(|_| coordinate())).collect()
}

/// Each point of a table, of special and of random elements.
fn choices(random: &mut Random) -> Vec<[Element; 26]> {
    let special = special();
    let choice = |at: usize| {
        let mut table = std::array::from_fn(|place| match place % 2 {
            0 => random.element(),
            _ => special[(at * 13 + place) % special.len()],
        });
        table[1] = [at as u32 % 8, u32::MAX, 0, 0, 0, 0, 0, 0];
        table
    };
    (0..200).map(choice).collect()
}

/// What has two operands, and what has one: of the first ones, if there are repetitions.
fn agrees_on(board: &mut Board, pairs: &[[Element; 2]], ones: &[[Element; 2]]) {
    for operation in [Operation::Add, Operation::Subtract, Operation::SumAndDifference, Operation::Multiply] {
        check(board, operation, pairs).unwrap();
    }
    check(board, Operation::MultiplyBySmall, &with_small(pairs)).unwrap();
    for operation in [Operation::Square, Operation::Square5Times, Operation::ToBytes] {
        check(board, operation, ones).unwrap();
    }
}

fn agrees_on_special_operands(board: &mut Board, random: &mut Random) {
    let (special, pairs) = (special(), special_pairs());
    println!("{}: {} special operands, {} pairs of them", board.core, special.len(), pairs.len());
    let ones: Vec<_> = special.iter().map(|a| [*a, [0; 8]]).collect();
    agrees_on(board, &pairs, &ones);
    check(board, Operation::Invert, &ones).unwrap();
    check(board, Operation::Multiply, &near_zero(random)).unwrap();
    check(board, Operation::MultiplyBySmall, &near_zero_by_small(random)).unwrap();
    let roots: Vec<_> = roots().into_iter().map(|a| [a, [0; 8]]).collect();
    check(board, Operation::Square, &roots).unwrap();
    // The constants that curves have.
    let constants = [121_665, 121_666, 0x7fff_ffff, 38, 19];
    let with_constant = |a: &Element| constants.map(|by| [*a, [by, 0, 0, 0, 0, 0, 0, 0]]);
    let products: Vec<_> = special.iter().flat_map(with_constant).collect();
    check(board, Operation::MultiplyBySmall, &products).unwrap();
    check(board, Operation::Choose, &choices(random)).unwrap();
    let steps = special_steps(board, random);
    check(board, Operation::LadderStep, &steps).unwrap();
}

fn agrees_on_random_operands(board: &mut Board, random: &mut Random, count: usize) {
    println!("{}: {count} random pairs", board.core);
    // In pieces, so that many need no more memory than few.
    let mut left = count;
    while left > 0 {
        let now = left.min(50_000);
        left -= now;
        let pairs: Vec<_> = (0..now).map(|_| [random.element(), random.element()]).collect();
        agrees_on(board, &pairs, &pairs[..now.div_ceil(5)]);
        check(board, Operation::LadderStep, &random_steps(random, now.div_ceil(10))).unwrap();
        check(board, Operation::Invert, &pairs[..now.div_ceil(500)]).unwrap();
    }
}

/// One operation in a call, so that no two can make up for each other: the cycles are always the
/// same, and are printed.
fn takes_one_time(board: &mut Board, random: &mut Random) {
    let special = special();
    let mut pairs: Vec<_> = special.iter().map(|a| [*a, random.element()]).collect();
    pairs.extend(special.iter().map(|b| [random.element(), *b]));
    pairs.extend((0..200).map(|_| [random.element(), random.element()]));
    let pairs = with_small(&pairs);
    let steps: Vec<_> = special_steps(board, random).into_iter().step_by(5).collect();
    board.run_singly("nothing", &mut pairs.clone()).unwrap();
    for operation in [
        Operation::Add,
        Operation::Subtract,
        Operation::SumAndDifference,
        Operation::Multiply,
        Operation::Square,
        Operation::Square5Times,
        Operation::MultiplyBySmall,
        Operation::ToBytes,
    ] {
        board.run_singly(operation.name(), &mut pairs.clone()).unwrap();
    }
    board.run_singly(Operation::LadderStep.name(), &mut steps.clone()).unwrap();
    board.run_singly(Operation::Choose.name(), &mut choices(random)).unwrap();
    board.run_singly(Operation::Invert.name(), &mut pairs[..20].to_vec()).unwrap();
    assert!(board.has_no_time_of_operands());
    board.print_cycles();
}

fn agrees(board: &mut Board, count: usize) {
    let mut random = Random::new(seed());
    agrees_on_special_operands(board, &mut random);
    agrees_on_random_operands(board, &mut random, count);
    takes_one_time(board, &mut random);
}

/// Products and squares of public numbers.
fn agrees_on_public_numbers(board: &mut Board, count: usize) {
    let mut random = Random::new(seed());
    let any = (0..count).map(|_| [random.element(), random.element()]).collect();
    let pairs = [special_pairs(), near_zero(&mut random), any].concat();
    check_public(board, Operation::MultiplyPublic, &pairs);
    let ones: Vec<_> = roots().into_iter().map(|a| [a, [0; 8]]).chain(pairs).collect();
    check_public(board, Operation::SquarePublic, &ones);
    check_public(board, Operation::SquarePublic5Times, &ones);
}

/// X25519 with these scalars and points, and the public keys of the scalars.
fn multiplies_points(board: &mut Board, pairs: &[[Element; 2]]) {
    for operation in [Operation::X25519, Operation::PublicKey] {
        let mut after = pairs.to_vec();
        board.run_singly(operation.name(), &mut after).unwrap();
        for (at, ([scalar, point], [product, kept])) in pairs.iter().zip(&after).enumerate() {
            let by = match operation {
                Operation::PublicKey => point9(),
                _ => *point,
            };
            assert_eq!(kept, point);
            assert_eq!(
                *product,
                dalek(scalar, &by),
                "{} {operation:?} {scalar:08x?} {point:08x?}",
                board.core
            );
            if let Some(theirs) = graviola(scalar, &by) {
                assert_eq!(*product, theirs, "{} {operation:?} {scalar:08x?} {point:08x?}", board.core);
            }
            // As the standard is written, on integers: slow.
            if at % 8 == 0 {
                compare(operation, &pairs[at..=at], &after[at..=at]).unwrap();
            }
        }
    }
}

const fn point9() -> Element {
    [9, 0, 0, 0, 0, 0, 0, 0]
}

fn dalek(scalar: &Element, point: &Element) -> Element {
    words(&curve25519_dalek::MontgomeryPoint(bytes(point)).mul_clamped(bytes(scalar)).to_bytes())
}

/// None on a processor for which it has no code.
#[cfg(target_arch = "x86_64")]
fn graviola(scalar: &Element, point: &Element) -> Option<Element> {
    use graviola::key_agreement::x25519::{PublicKey, StaticPrivateKey};
    use std::arch::is_x86_feature_detected as has;
    let has_code =
        has!("aes") && has!("pclmulqdq") && has!("bmi1") && has!("bmi2") && has!("adx") && has!("avx2");
    has_code.then(|| {
        let secret = StaticPrivateKey::from_array(&bytes(scalar));
        let product = secret.diffie_hellman(&PublicKey::from_array(&bytes(point)));
        product.map_or([0; 8], |product| words(&product.0))
    })
}

/// Not looked for elsewhere.
#[cfg(not(target_arch = "x86_64"))]
fn graviola(_: &Element, _: &Element) -> Option<Element> {
    None
}

fn random_scalars(random: &mut Random, points: impl Iterator<Item = Element>) -> Vec<[Element; 2]> {
    points.map(|point| [random.element(), point]).collect()
}

fn x25519(board: &mut Board, every: usize, count: usize) {
    let mut random = Random::new(seed());
    let mut pairs = random_scalars(&mut random, points().into_iter().rev().step_by(every));
    pairs.extend(special().into_iter().step_by(every).map(|scalar| [scalar, random.element()]));
    pairs.extend((0..count).map(|_| [random.element(), random.element()]));
    // Whether a product is zero is disclosed: whoever gave the point knows it.
    let is_zero = |[scalar, point]: &[Element; 2]| dalek(scalar, point) == [0; 8];
    let (refused, pairs): (Vec<_>, Vec<_>) = pairs.into_iter().partition(is_zero);
    println!("{}: {} products of points, {} are refused", board.core, pairs.len(), refused.len());
    assert!(!refused.is_empty());
    multiplies_points(&mut board.another(), &refused);
    multiplies_points(board, &pairs);
    assert!(board.has_no_time_of_operands());
    board.print_cycles();
}

/// Points plus each point of small order: what a clamped scalar makes of both is the same.
fn with_parts_of_small_order(random: &mut Random) -> Vec<Element> {
    use curve25519_dalek::{EdwardsPoint, constants::EIGHT_TORSION};
    let large = EdwardsPoint::mul_base_clamped(bytes(&random.element()));
    EIGHT_TORSION.iter().map(|small| words(&(large + small).to_montgomery().to_bytes())).collect()
}

/// Products of points that are public: of every kind, and each with scalars that all take one time.
fn combed(board: &Board, every: usize, count: usize) {
    let mut random = Random::new(seed());
    let mut found: Vec<_> = points().into_iter().step_by(every).collect();
    found.extend(with_parts_of_small_order(&mut random));
    found.extend((0..count).map(|_| random.element()));
    for point in found {
        let scalars = [random.element(), random.element(), special()[random.element()[7] as usize % 90]];
        let pairs = scalars.map(|scalar| [scalar, point]);
        let mut after = pairs;
        let mut board = board.another();
        board.run_singly(Operation::Combed.name(), &mut after).unwrap();
        for ([scalar, point], [product, kept]) in pairs.iter().zip(&after) {
            assert_eq!(kept, point);
            assert_eq!(*product, dalek(scalar, point), "{} {scalar:08x?} {point:08x?}", board.core);
        }
    }
}

const SAMR21: (&str, &str, Core) = ("fields", "samr21-xpro", Core::M0Plus);
/// As the C library has it: less code, and slower.
const SAMR21_SMALL: (&str, &str, Core) = ("fields-small", "samr21-xpro", Core::M0Plus);
const IOTLAB_M3: (&str, &str, Core) = ("fields", "iotlab-m3", Core::M3);
const NRF52840: (&str, &str, Core) = ("fields", "nrf52840dk", Core::M4);

/// Random pairs in each run, and in the run that takes long.
const FEW: usize = 10_000;
const MILLIONS: usize = 2_000_000;

#[test]
fn a_cortex_m0_plus_computes_as_other_libraries_do() {
    agrees(&mut Board::new(SAMR21), FEW);
}

#[test]
fn a_cortex_m0_plus_with_little_code_computes_as_other_libraries_do() {
    agrees(&mut Board::new(SAMR21_SMALL), FEW);
}

#[test]
fn a_cortex_m3_computes_as_other_libraries_do() {
    agrees(&mut Board::new(IOTLAB_M3), FEW);
}

#[test]
fn a_cortex_m4_computes_as_other_libraries_do() {
    agrees(&mut Board::new(NRF52840), FEW);
}

#[test]
fn a_cortex_m3_computes_with_public_numbers_as_other_libraries_do() {
    agrees_on_public_numbers(&mut Board::new(IOTLAB_M3), FEW);
}

#[test]
fn boards_multiply_public_points_as_other_libraries_do() {
    for board in [SAMR21, SAMR21_SMALL, IOTLAB_M3, NRF52840] {
        combed(&Board::new(board), 37, 4);
    }
}

#[test]
fn boards_multiply_points_as_other_libraries_do() {
    for board in [SAMR21, SAMR21_SMALL, IOTLAB_M3, NRF52840] {
        x25519(&mut Board::new(board), 29, 4);
    }
}

#[test]
#[ignore = "takes minutes: two million pairs for each operation, on each core"]
fn boards_compute_millions_of_times_as_other_libraries_do() {
    std::thread::scope(|scope| {
        scope.spawn(|| agrees_on_public_numbers(&mut Board::new(IOTLAB_M3), MILLIONS / 10));
        for board in [SAMR21, SAMR21_SMALL, IOTLAB_M3, NRF52840] {
            scope.spawn(move || {
                agrees(&mut Board::new(board), MILLIONS);
                x25519(&mut Board::new(board), 1, 500);
                combed(&Board::new(board), 1, 200);
            });
        }
    });
}

/// What is wrong on purpose, as the right operation that it stands for.
const WRONG: [(&str, Operation); 5] = [
    ("wrong_sum", Operation::Add),
    ("wrong_carry", Operation::Add),
    ("wrong_difference", Operation::Subtract),
    ("wrong_product", Operation::Multiply),
    ("wrong_bytes", Operation::ToBytes),
];

/// Otherwise the tests above would show nothing.
#[test]
fn special_operands_find_each_carry_that_is_left_out() {
    for board in [SAMR21, SAMR21_SMALL, IOTLAB_M3, NRF52840] {
        let mut board = Board::new(board);
        let pairs = special_pairs();
        for (function, operation) in WRONG {
            let mut after = pairs.clone();
            board.run_anyhow(function, &mut after).unwrap();
            let wrong = pairs.iter().zip(&after).filter(|(before, after)| {
                wrong_by::<NumBigint, 2>(operation, before, after).is_some()
                    && wrong_by::<CryptoBigint, 2>(operation, before, after).is_some()
            });
            let wrong = wrong.count();
            println!("{}: {function} is wrong for {wrong} of {} pairs", board.core, pairs.len());
            assert!(wrong > 0, "{}: {function} is not noticed", board.core);
        }
    }
}

/// Some carries of a square come once in 2¹⁵ times, and not with special operands.
const RANDOM_FOR_MUTATIONS: usize = 200_000;

/// Mutations of an operation that need not be found: `docs/research/curve-arithmetic.md` names
/// them.
const FEW_MUTATIONS: usize = 3;

/// Of each instruction that adds or subtracts with a carry: the same without it. What no pair finds
/// is printed; it is a carry that never comes, or one that nobody looked for.
fn mutations_are_found(board: &Board, operation: Operation, operands: &[[Element; 2]]) -> (usize, usize) {
    let mut runs = board.another();
    runs.run_anyhow(operation.name(), &mut operands[..1].to_vec()).unwrap();
    let mutations = Mutation::all(&runs);
    let is_found = |mutation: &Mutation| {
        let mut mutated = board.another();
        mutation.apply(&mut mutated);
        // Little at a time: most are found at once.
        operands.chunks(64).any(|operands| {
            let mut after = operands.to_vec();
            let wrong = |(before, after)| wrong_by::<NumBigint, 2>(operation, before, after).is_some();
            mutated.run_anyhow(operation.name(), &mut after).is_err()
                || operands.iter().zip(&after).any(wrong)
        })
    };
    let missed: Vec<_> = mutations.iter().filter(|mutation| !is_found(mutation)).collect();
    for Mutation { address, what, .. } in &missed {
        println!("{}: {operation:?}: without the carry of {what} at {address:#x} it is the same", board.core);
    }
    (mutations.len(), missed.len())
}

#[test]
#[ignore = "takes a minute: each carry of each operation, on each core"]
fn mutations_of_the_machine_code_are_found() {
    let mut random = Random::new(seed());
    let all = special_pairs();
    // Neighbours in the list have much in common: they are looked at far from each other.
    let pairs: Vec<_> = (0..all.len()).map(|at| all[at * 7919 % all.len()]).collect();
    let any: Vec<_> = (0..RANDOM_FOR_MUTATIONS).map(|_| [random.element(), random.element()]).collect();
    let products = [near_zero(&mut random), pairs.clone(), any.clone()].concat();
    let small = [near_zero_by_small(&mut random), with_small(&pairs)].concat();
    let ones = roots().into_iter().chain(special()).map(|a| [a, [0; 8]]);
    let roots = ones.chain(any).collect();
    let operations = [
        (Operation::Add, pairs.clone()),
        (Operation::Subtract, pairs.clone()),
        (Operation::SumAndDifference, pairs.clone()),
        (Operation::ToBytes, pairs),
        (Operation::Multiply, products.clone()),
        (Operation::MultiplyBySmall, small),
        (Operation::Square, roots),
    ];
    // Only a Cortex-M3 has others for public numbers.
    let public = [(Operation::MultiplyPublic, products), (Operation::SquarePublic, operations[6].1.clone())];
    for board in [SAMR21, SAMR21_SMALL, IOTLAB_M3, NRF52840] {
        let is_m3 = board == IOTLAB_M3;
        let board = Board::new(board);
        for (operation, pairs) in operations.iter().chain(public.iter().filter(|_| is_m3)) {
            let (all, missed) = mutations_are_found(&board, *operation, pairs);
            println!("{}: {operation:?}: {all} mutations, {missed} not found", board.core);
            assert!(all > 0, "{}: {operation:?} has no carries", board.core);
            // What is left to the compiler has carries that never come.
            let is_compiled = matches!(operation, Operation::ToBytes | Operation::MultiplyBySmall);
            assert!(is_compiled || missed <= FEW_MUTATIONS, "{}: {operation:?}", board.core);
        }
    }
}

#[test]
fn operations_that_leak_are_noticed() {
    let special = special();
    let pairs: Vec<_> = special.iter().map(|a| [*a, special[0]]).collect();
    for board in [SAMR21, SAMR21_SMALL, IOTLAB_M3, NRF52840] {
        let mut board = Board::new(board);
        let leaks =
            |board: &mut Board, function: &str| board.run_singly(function, &mut pairs.clone()).is_err();
        assert!(leaks(&mut board, "leaking_comparison"), "{}", board.core);
        // UMULL and UMLAL of a Cortex-M3 end early.
        assert_eq!(leaks(&mut board, "leaking_product"), board.core == Core::M3, "{}", board.core);
    }
}
