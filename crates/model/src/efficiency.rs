//! How well a program uses its cores, as a product of factors.

/// One efficiency of the hierarchy.
#[derive(Clone, Debug)]
pub struct Efficiency {
    /// Its name.
    pub name: String,
    /// Its value, mostly from 0 to 1; above 1 where more threads need less of something.
    pub value: f64,
    /// What it is the product of; empty for a leaf.
    pub factors: Vec<Efficiency>,
}
