//! A number that may be none.

use serde::Serialize;

// JSON has neither NaN nor infinity.
/// A number; null where it could not be computed.
#[derive(Serialize, Clone, Copy)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(inline))]
#[serde(transparent)]
pub(crate) struct Amount(#[cfg_attr(test, schemars(with = "Option<f64>"))] f64);

impl From<f64> for Amount {
    fn from(value: f64) -> Self {
        Self(value)
    }
}

impl Amount {
    /// Each of these.
    pub(crate) fn all(values: &[f64]) -> Vec<Self> {
        values.iter().copied().map(Self).collect()
    }

    /// The two ends of a range.
    pub(crate) fn range((low, high): (f64, f64)) -> [Self; 2] {
        [Self(low), Self(high)]
    }
}
