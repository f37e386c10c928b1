//! The same step of many headers: their multiplications side by side.

use core::array;

use motemix_crypto::{Curve, Pair, PublicKey, Secret, SharedSecret};

use super::{HeaderBuilder, PathError, SeedBytes};
use crate::profile::Profile;

/// So many multiplications are handed to the curve at once. The widest has eight lanes; several
/// groups share an inversion.
const AT_ONCE: usize = 32;

impl<P: Profile> HeaderBuilder<P> {
    /// [`step`](Self::step) of each builder. The multiplications of one header depend on each
    /// other, those of several headers do not: they are done side by side where the curve has
    /// lanes. The builders may have any lengths, shapes and numbers of steps, and the headers are
    /// those that they would have become alone.
    ///
    /// `outcome` learns what `step` would have returned of each builder by its number, in any
    /// order. A path with a broken key stops its own builder and no other. Returns how many of them
    /// have steps left:
    ///
    /// ```
    /// # use motemix_crypto::{Curve as _, Portable, Secret};
    /// # use motemix_sphinx::{HeaderBuilder, Mote, NodeId, PathError, PathHop, Shape};
    /// # let mix_key = Portable::public_key(&Secret::new([7; 32]));
    /// # let path = [PathHop { id: NodeId::new(1).unwrap(), mix_key }; 3];
    /// let seeds = [Secret::new([1; 32]), Secret::new([2; 32]), Secret::new([3; 32])];
    /// let mut builders = Vec::new();
    /// for seed in seeds {
    ///     builders.push(HeaderBuilder::<Mote>::new(&path, Shape::Drop, seed)?);
    /// }
    /// while HeaderBuilder::step_batch(&mut builders, |_, _| {}) > 0 {}
    /// let headers: Vec<_> = builders.into_iter().flat_map(HeaderBuilder::finish).collect();
    /// assert_eq!(headers.len(), 3);
    /// # Ok::<(), PathError>(())
    /// ```
    pub fn step_batch<'b>(
        builders: impl IntoIterator<Item = &'b mut Self>,
        mut outcome: impl FnMut(usize, Result<bool, PathError>),
    ) -> usize
    where
        P: 'b,
    {
        let mut unfinished = 0;
        let mut outcome = |number, result| {
            unfinished += usize::from(result == Ok(false));
            outcome(number, result);
        };
        // The base point has functions of its own, so what is multiplied with it is collected by
        // itself.
        let (mut first, mut later) = (Waiting::none(), Waiting::none());
        for (number, builder) in builders.into_iter().enumerate() {
            if builder.is_finished() {
                outcome(number, Ok(true));
            } else if builder.steps == 0 {
                first.push(number, builder);
            } else {
                later.push(number, builder);
            }
            if first.is_full() {
                first.begin(&mut outcome);
            }
            if later.is_full() {
                later.follow(&mut outcome);
            }
        }
        first.begin(&mut outcome);
        later.follow(&mut outcome);
        unfinished
    }
}

/// Builders whose next multiplications are of one kind.
struct Waiting<'b, P: Profile> {
    builders: [Option<(usize, &'b mut HeaderBuilder<P>)>; AT_ONCE],
    len: usize,
}

impl<'b, P: Profile> Waiting<'b, P> {
    fn none() -> Self {
        Self { builders: array::from_fn(|_| None), len: 0 }
    }

    fn is_full(&self) -> bool {
        self.len == AT_ONCE
    }

    fn push(&mut self, number: usize, builder: &'b mut HeaderBuilder<P>) {
        self.builders[self.len] = Some((number, builder));
        self.len += 1;
    }

    /// The first multiplication of each, with the base point.
    fn begin(&mut self, outcome: &mut impl FnMut(usize, Result<bool, PathError>)) {
        let len = core::mem::take(&mut self.len);
        if len == 0 {
            return;
        }
        let mut secrets: [Secret<32>; AT_ONCE] = array::from_fn(|_| Secret::zero());
        for (secret, (_, builder)) in secrets.iter_mut().zip(self.builders[..len].iter().flatten()) {
            *secret = SeedBytes::expand(&builder.seed).first_scalar();
        }
        let secrets: [&Secret<32>; AT_ONCE] = secrets.each_ref();
        let mut keys = [PublicKey([0; 32]); AT_ONCE];
        P::Curve::public_keys(&secrets[..len], &mut keys[..len]);
        for (place, key) in self.builders[..len].iter_mut().zip(keys) {
            let Some((number, builder)) = place.take() else { continue };
            builder.group_element = key;
            builder.steps = 1;
            outcome(number, Ok(false));
        }
    }

    /// The next multiplication of each, with a node's mix key.
    fn follow(&mut self, outcome: &mut impl FnMut(usize, Result<bool, PathError>)) {
        let len = core::mem::take(&mut self.len);
        if len == 0 {
            return;
        }
        let mut secrets: [Secret<32>; AT_ONCE] = array::from_fn(|_| Secret::zero());
        for (secret, (_, builder)) in secrets.iter_mut().zip(self.builders[..len].iter().flatten()) {
            *secret = builder.scalar.to_clamped();
        }
        let pairs: [Pair<'_>; AT_ONCE] = array::from_fn(|place| {
            let point = match &self.builders[place] {
                Some((_, builder)) => builder.hop_keys.as_ref()[builder.steps - 1].mix_key_in_place(),
                None => PublicKey([0; 32]),
            };
            Pair { secret: &secrets[place], point }
        });
        let mut shared: [Option<SharedSecret>; AT_ONCE] = array::from_fn(|_| None);
        P::Curve::diffie_hellman_batch(&pairs[..len], &mut shared[..len]);
        for (place, shared) in self.builders[..len].iter_mut().zip(&shared) {
            let Some((number, builder)) = place.take() else { continue };
            let hop = builder.steps - 1;
            let Some(shared) = shared else {
                outcome(number, Err(PathError::SmallOrderKey(builder.path.as_ref()[hop])));
                continue;
            };
            builder.follow(hop, shared);
            builder.steps += 1;
            outcome(number, Ok(builder.is_finished()));
        }
    }
}
