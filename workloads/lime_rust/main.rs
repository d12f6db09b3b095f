//! Orders that are priced by a match in a closure; the last threads have more of those that take long. Threads are
//! started and joined for each round: the sections end where they are joined.

use std::env;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

const ORDERS: usize = 16384;
const ROUNDS: usize = 3;

enum Order {
    Cash(u64),
    Credit { amount: u64, months: u32 },
    Gift,
}

/// An amount with interest, month by month.
fn with_interest(amount: u64, months: u32) -> u64 {
    (0..months).fold(amount, |sum, month| sum + sum / 200 + u64::from(month & 1))
}

fn price(orders: &[Order], mine: impl Iterator<Item = usize>) -> u64 {
    mine.map(|index| match &orders[index] { // PLANTED: kinds of orders are not spread evenly
        Order::Cash(amount) => *amount,
        Order::Credit { amount, months } => with_interest(*amount, *months),
        Order::Gift => 1,
    })
    .fold(0, u64::wrapping_add)
}

/// The orders of a thread.
#[cfg(not(fixed))]
fn share(me: usize, threads: usize) -> impl Iterator<Item = usize> {
    me * ORDERS / threads..(me + 1) * ORDERS / threads
}

/// FIX: orders are dealt out like cards.
#[cfg(fixed)]
fn share(me: usize, threads: usize) -> impl Iterator<Item = usize> {
    (me..ORDERS).step_by(threads)
}

/// A number without a pattern (splitmix64).
fn scattered(index: usize) -> u64 {
    let mut x = (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

fn order(index: usize) -> Order {
    let random = scattered(index);
    match random % ORDERS as u64 {
        limit if limit < index as u64 => Order::Credit { amount: random >> 44, months: 48 },
        limit if limit % 2 == 0 => Order::Cash(random >> 40),
        _ => Order::Gift,
    }
}

fn main() -> ExitCode {
    let number = |index| env::args().nth(index).and_then(|text| text.parse::<usize>().ok());
    let threads = number(1).unwrap_or(8);
    let rounds = ROUNDS * number(2).unwrap_or(1);
    let orders: Arc<Vec<Order>> = Arc::new((0..ORDERS).map(order).collect());
    let wanted = price(&orders, 0..ORDERS);
    let mut right = true;
    for _ in 0..rounds {
        let start = |me| {
            let orders = Arc::clone(&orders);
            thread::spawn(move || price(&orders, share(me, threads)))
        };
        let team: Vec<_> = (0..threads).map(start).collect();
        let got = team.into_iter().fold(0, |sum: u64, member| {
            sum.wrapping_add(member.join().expect("a thread that does not panic"))
        });
        right &= got == wanted;
    }
    if !right {
        eprintln!("lime_rust: wrong result");
        return ExitCode::from(97);
    }
    println!("lime_rust checksum {wanted:016x}");
    ExitCode::SUCCESS
}
